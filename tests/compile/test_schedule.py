"""Schedules: well formed, printed, and run step by step as they say. What compiled programs do is compared with that in test_python_source.py."""

import dataclasses

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.interpret import interpret
from fungrad.compile.memory import memory_of
from fungrad.compile.overwriting import overwriting_of
from fungrad.compile.pipeline import scheduled
from fungrad.compile.steps import (
    Assign,
    Branch,
    Call,
    Copy,
    Free,
    Into,
    Loop,
    Operand,
    Result,
    Rows,
    While,
)
from fungrad.core.errors import ExprError
from fungrad.primitives.elementwise import sin

X = np.linspace(0.5, 1.5, 4)


def steps_of(f, *args, donated=()):
    return scheduled(fg.jit(f).lower(*args).simplified, donated).check()


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


def test_a_branch_holds_the_steps_of_all():
    steps = steps_of(lambda x: lax.cond(x[0] > 1, fnp.sin, lambda x: x * 2.0, x), X)
    branch = next(step for step in steps.steps if isinstance(step, Branch))
    assert [step.primitive.name for step in branch.branches[0].steps] == ["sin"]
    assert [step.primitive.name for step in branch.branches[1].steps] == ["multiply"]
    assert "      branches[0]: { schedule " in str(steps)
    for x in (X, X + 1):
        np.testing.assert_array_equal(interpret(steps, [x])[0], np.sin(x) if x[0] > 1 else 2 * x)


def test_a_loop_overwrites_what_it_begins_with():
    of = lambda start: lambda x: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c), start(x))
    (copy, loop) = steps_of(of(lambda x: x), X).steps
    assert isinstance(copy, Copy)  # of an argument
    assert loop.carries == (copy.register,)
    steps = steps_of(of(fnp.cos), X)
    (start, loop) = steps.steps
    assert loop.carries == start.results
    assert loop.rows == Rows(0, 3)
    assert [type(step) for step in loop.body.steps] == [Into]
    assert "  r1 <- scan[length=3] 0:3\n      body: { schedule r0:float64[4] .\n" in str(steps)
    np.testing.assert_array_equal(interpret(steps, [X])[0], np.sin(np.sin(np.sin(np.cos(X)))))


def test_what_is_read_after_a_loop_is_copied_for_it():
    def f(x):
        y = fnp.cos(x)
        return lax.fori_loop(0, 3, lambda i, c: fnp.sin(c), y) + y

    steps = steps_of(f, X)
    assert [type(step) for step in steps.steps[:3]] == [Call, Copy, Loop]
    np.testing.assert_array_equal(fg.jit(f)(X), f(X))


def test_two_carries_begin_with_the_same():
    def f(x):
        y = fnp.cos(x)
        return lax.fori_loop(0, 3, lambda i, c: (fnp.sin(c[0]), c[1] * c[0]), (y, y))

    loop = next(step for step in steps_of(f, X).steps if isinstance(step, Loop))
    assert len(set(loop.carries)) == 2
    np.testing.assert_array_equal(fg.jit(f)(X), f(X))


def test_rows_of_a_loop():
    f = lambda x: lax.scan(lambda c, r: (c * r, c + r), 1.0, x, reverse=True)
    steps = steps_of(f, X)
    loop = next(step for step in steps.steps if isinstance(step, Loop))
    assert loop.rows == Rows(0, 4, None, True)
    assert "rows 0:4 reversed of r0" in str(steps)
    for a, b in zip(interpret(steps, [X]), f(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_chunks_are_loops_within_loops():
    xs = np.linspace(-1, 1, 75)
    f = lambda c: lax.scan(lambda c, r: (fnp.sin(c) * fnp.exp(r), fnp.cos(c) * r), c, xs)
    text = str(steps_of(f, 0.5))
    assert "by 75 of" in text  # what comes before and after the chain is computed for all at once
    assert "stepwise] rows 0:75 of" in text
    for a, b in zip(interpret(steps_of(f, 0.5), [0.5]), f(0.5), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_loop_with_a_condition():
    f = lambda x, a: lax.while_loop(lambda c: c[0] < 5, lambda c: c * fnp.exp(a), x)
    steps = steps_of(f, X, 0.5)
    loop = steps.steps[-1]
    assert isinstance(loop, While)
    assert [step.primitive.name for step in loop.before.steps] == ["exp"]
    for x in (X, X + 9):
        np.testing.assert_allclose(interpret(steps, [x, 0.5])[0], f(x, 0.5), rtol=1e-15)


def test_memory_is_that_of_the_root():
    expr = fg.make_expr(lambda x: (x.reshape(2, 2).T[0], x + 1))(X)
    memory = memory_of(expr)
    view = expr.outputs[0]
    assert memory.root[view] == expr.inputs[0]
    assert memory.needed[expr.inputs[0]] == len(expr.equations)
    assert expr.outputs[1] in memory.owned
    assert view not in memory.owned


def test_memory_is_printed_a_line_for_each_variable_that_has_some():
    f = lambda x: (x.reshape(2, 2).T[0], fnp.broadcast_to(fnp.sin(x), (3, 4)))
    assert str(memory_of(fg.make_expr(f)(X)).check()) == (
        "{ memory .\n"
        "  v0: shown by v1, v2, v3, needed until 5\n"
        "  v4: owned, shown by v5, needed until 5\n"
        "  repeated: v5\n"
        "}"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"root": (0, 0, 1, 3)}, "v2 shows that of v1, which has none of its own"),
        ({"root": (0, 0, 7, 3)}, "v2 shows that of v7, which has none of its own"),
        ({"needed": (0, 3, 3, 3)}, "v0 is needed for less long than v1, a view of it"),
        ({"needed": (3,)}, "variables differ in number from when they are needed"),
        ({"owned": {1, 3}}, "v1 is owned, and a view"),
        ({"copied": {2}}, "v2 is copied, and a view"),
        ({"repeated": {3}}, "v3 repeats elements, and is no view"),
    ],
)
def test_memory_that_is_not_well_formed(changes, message):
    memory = memory_of(fg.make_expr(lambda x: (x.reshape(2, 2).T, fnp.sin(x)))(X))
    assert (memory.root, memory.needed, memory.owned) == ((0, 0, 0, 3), (3, 1, 3, 3), {3})
    with pytest.raises(ExprError, match=message):
        dataclasses.replace(memory, **changes).check()


def test_what_lies_in_which_order_is_a_value_too():
    x, y = np.ones((2, 3)), np.ones((3, 2))
    f = lambda x, y: (fnp.sin(x) * 2.0, fnp.cos(y.T), fnp.sin(y.sum(axis=0)))
    expr = fg.make_expr(f)(x, y)
    order = overwriting_of(expr).check()
    sines, turned, _ = expr.outputs
    assert order.like[sines] == expr.inputs[0]
    assert order.given[turned] == {expr.inputs[1]}
    assert turned in order.turned
    assert f"  v{sines}: like v0, by v0, visible\n" in str(order)
    with pytest.raises(dataclasses.FrozenInstanceError):
        order.like = ()
    for changes, message in [
        (
            {"like": (*order.like[:-1], 99)},
            "is represented by v99, which is represented by another",
        ),
        (
            {"given": (frozenset([sines]), *order.given[1:])},
            "determined by a variable that is no input",
        ),
    ]:
        with pytest.raises(ExprError, match=message):
            dataclasses.replace(order, **changes).check()


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


def loop_of(**changes):
    """Return a loop that is well formed but for `changes`, and the schedule that it is in."""
    steps = steps_of(lambda x: lax.scan(lambda c, r: (c * r, c), 1.0, x), X)
    (number,) = [i for i, step in enumerate(steps.steps) if isinstance(step, Loop)]
    loop = steps.steps[number]._replace(**changes)
    return dataclasses.replace(
        steps, steps=(*steps.steps[:number], loop, *steps.steps[number + 1 :])
    ), loop


def test_loops_that_are_not_well_formed():
    good, loop = loop_of()
    good.check()
    for changes, message in [
        ({"carries": (99,)}, "reads registers that hold nothing"),
        ({"carries": loop.taken}, "overwrites a register that it also reads"),
        ({"filled": ()}, "its body gives"),
        ({"taken": ()}, "its body takes"),
        ({"rows": Rows(0, 4, 2)}, "its body takes"),
        ({"body": dataclasses.replace(loop.body, steps=())}, "results are read from registers"),
    ]:
        with pytest.raises(ExprError, match=message):
            loop_of(**changes)[0].check()


def test_branches_that_are_not_well_formed():
    steps = steps_of(lambda x: lax.cond(x[0] > 1, fnp.sin, lambda x: x * 2.0, x), X)
    (number,) = [i for i, step in enumerate(steps.steps) if isinstance(step, Branch)]
    branch = steps.steps[number]
    other = dataclasses.replace(branch.branches[1], results=())
    for changes, message in [
        ({"operands": ()}, "takes"),
        ({"branches": (branch.branches[0], other)}, r"its branches\[1\] gives"),
        ({"results": (branch.which,)}, "fills registers that hold something"),
    ]:
        changed = list(steps.steps)
        changed[number] = branch._replace(**changes)
        with pytest.raises(ExprError, match=message):
            dataclasses.replace(steps, steps=tuple(changed)).check()
