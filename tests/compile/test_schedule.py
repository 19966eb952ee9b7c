"""Schedules: well formed, printed, and run step by step as they say. What compiled programs do is compared with that in test_python_source.py."""

import dataclasses

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.memory import memory_of
from fungrad.compile.schedule import (
    Assign,
    Call,
    Free,
    Into,
    Operand,
    Result,
    interpret,
    schedule,
)
from fungrad.core.errors import ExprError
from fungrad.primitives.elementwise import sin

X = np.linspace(0.5, 1.5, 4)


def steps_of(f, *args, donated=()):
    return schedule(fg.jit(f).lower(*args).simplified, donated).check()


def test_steps_are_printed_one_a_line():
    f = lambda x, y: (fnp.sum(fnp.cos(fnp.sin(x)) * y) - 2.0, x)
    assert str(steps_of(f, X, 3.0)) == (
        "{ schedule r0:float64[4] r1:float64[] .\n"
        "  r8:float64[] = 2.0\n"
        "  r2 = sin r0\n"
        "  r2 <- cos r2\n"
        "  r2 <- multiply r2 r1\n"
        "  r7 = reduce_sum[axes=(0,)] r2\n"
        "  free r2\n"
        "  r9 = subtract r7 r8\n"
        "  free r7\n"
        "  return (r9, copy of r0) }"
    )


def test_a_result_is_computed_into_an_operand_that_dies():
    steps = steps_of(lambda x: fnp.cos(fnp.sin(x)), X).steps
    assert [type(step) for step in steps] == [Call, Into]
    assert steps[1].register == steps[1].operands[0].register


def test_donated_arguments_are_computed_into():
    (step,) = steps_of(fnp.sin, X, donated=(0,)).steps
    assert isinstance(step, Into)
    x = X.copy()
    (result,) = interpret(steps_of(fnp.sin, X, donated=(0,)), [x])
    assert result is x
    np.testing.assert_array_equal(x, np.sin(X))


def test_rows_are_left_to_numpy():
    steps = steps_of(lambda x, y: fnp.sin(x)[:, None] * y, X, np.ones((4, 3))).steps
    product = steps[-2]
    assert product.operands == (Operand(product.operands[0].register, (4, 1)), Operand(1))
    assert isinstance(steps[-1], Free)


def test_an_update_is_an_assignment_where_its_array_dies():
    def f(x):
        y = fnp.sin(x)
        y[1:3] = 0.0
        return y

    steps = steps_of(f, X)
    assert [type(step) for step in steps.steps] == [Call, Assign]
    (result,) = interpret(steps, [X])
    expected = np.sin(X)
    expected[1:3] = 0
    np.testing.assert_array_equal(result, expected)


def test_steps_of_loops_stand_below_them():
    text = str(fg.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c), x)).lower(X).schedule)
    assert "body: { schedule" in text
    assert "sin r" in text


def test_memory_is_that_of_the_root():
    expr = fg.make_expr(lambda x: (x.reshape(2, 2).T[0], x + 1))(X)
    memory = memory_of(expr)
    view = expr.outputs[0]
    assert memory.root[view] == expr.inputs[0]
    assert memory.needed[expr.inputs[0]] == len(expr.equations)
    assert expr.outputs[1] in memory.owned
    assert view not in memory.owned


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: (Call(sin, (Operand(7),), (8,), None), *s), "reads registers that hold nothing"),
        (lambda s: (*s, *s), "fills registers that hold something"),
        (lambda s: (*s, Free((9,))), "frees registers that hold nothing"),
        (lambda s: (*s, Free((1,))), "results are read from registers that hold nothing"),
        (lambda s: (*s, Into(sin, (Operand(0),), 9, None)), "reads registers that hold nothing"),
        (lambda s: (), "results are read from registers that hold nothing"),
    ],
)
def test_what_is_not_well_formed(change, message):
    good = steps_of(fnp.sin, X)
    assert good.results == (Result(1, False),)
    with pytest.raises(ExprError, match=message):
        dataclasses.replace(good, steps=change(good.steps)).check()


def test_constants_are_not_freed():
    good = steps_of(lambda x: x * fnp.arange(4.0), X)
    (constant,) = good.constants
    with pytest.raises(ExprError, match="it frees constants"):
        dataclasses.replace(good, steps=(*good.steps, Free((constant,)))).check()
