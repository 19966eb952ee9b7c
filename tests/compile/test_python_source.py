"""The compiled function: right, aliasing nothing, using memory again only when it is free."""

import hypothesis
import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import schedule as module
from fungrad.compile.emit.python import python_source
from fungrad.compile.interpret import interpret
from fungrad.compile.lower import Program
from fungrad.compile.pipeline import scheduled
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Equation, Expr
from fungrad.core.types import array_type, type_of
from fungrad.primitives.elementwise import Cast, add, cos, mul, neg, real, sin, stop_gradient
from fungrad.primitives.shaping import Broadcast, ReduceSum, Reshape
from fungrad.primitives.slices import Slice
from tests.compile.random_programs import assert_same, programs, reference

MATRIX = array_type((3, 4), np.dtype(float))
VECTOR = array_type((4,), np.dtype(float))
SCALAR = array_type((), np.dtype(float))


@pytest.fixture(autouse=True)
def reuse_everything(monkeypatch):
    monkeypatch.setattr(module, "REUSE_FROM", 0)


def built(*steps, inputs, outputs, donated=(), constants=None):
    """Return the text of a program; a step is (primitive, *inputs) and defines the next variable."""
    constants = constants or {}
    types = [*inputs, *[type_of(c) for c in constants.values()]]
    equations = []
    for primitive, *ins in steps:
        results = primitive.infer(tuple(types[v] for v in ins))
        equations.append(Equation(primitive, tuple(ins), (len(types),)))
        types.extend(results)
    expr = Expr(tuple(range(len(inputs))), tuple(equations), outputs, tuple(types), constants)
    return python_source(scheduled(expr.check(), donated).check()).text


def run_compiled(expr, arguments, donated):
    """Return what the compiled program gives; check that running its schedule step by step gives the same."""
    program = Program(expr, donated)
    steps = program.schedule.check()
    interpreted = run_checked(lambda *xs: interpret(steps, xs), expr, arguments, donated)
    compiled = run_checked(program.compiled(), expr, arguments, donated)
    assert_same(interpreted, compiled, 1e-11)
    return compiled


def run_checked(function, expr, arguments, donated):
    """Return what a function made of a program gives; check that it changes and shares no memory of others."""
    given = [np.array(x)[()] for x in arguments]
    constants = {v: np.array(c) for v, c in expr.constants.items()}
    results = function(*given)
    for v, c in constants.items():
        np.testing.assert_array_equal(expr.constants[v], c, "a constant was modified")
    for i, (x, y) in enumerate(zip(given, arguments, strict=True)):
        if i not in donated:
            np.testing.assert_array_equal(x, y, f"argument {i} was modified")
    kept = [x for i, x in enumerate(given) if i not in donated] + [*expr.constants.values()]
    arrays = [x for x in results if isinstance(x, np.ndarray)]
    for k, x in enumerate(arrays):
        assert x.flags.writeable
        assert not any(np.shares_memory(x, y) for y in kept), "a result shares memory"
        assert not any(np.shares_memory(x, y) for y in arrays[:k]), "two results share memory"
    return results


@hypothesis.settings(max_examples=250)
@hypothesis.given(programs())
def test_random_programs(case):
    expr, arguments, donated = case
    with np.errstate(all="ignore"):
        expected = reference(expr, arguments)
        # NumPy's loops for other strides may round differently in the last bit.
        assert_same(run_compiled(expr, arguments, donated), expected, 1e-13)
        assert_same(run_compiled(expr, arguments, ()), expected, 1e-13)


@hypothesis.settings(max_examples=100)
@hypothesis.given(programs(length=60))
def test_long_random_programs(case):
    expr, arguments, donated = case
    with np.errstate(all="ignore"):
        assert_same(run_compiled(expr, arguments, donated), reference(expr, arguments), 1e-11)


@hypothesis.settings(max_examples=100)
@hypothesis.given(programs())
def test_random_programs_evaluated(case):
    """The first call of a program is not compiled; its results share no memory either."""
    expr, arguments, _ = case
    given = [np.array(x)[()] for x in arguments]
    with np.errstate(all="ignore"):
        results = Program(expr)(*given)
        assert_same(results, reference(expr, arguments), 1e-13)
    arrays = [x for x in results if isinstance(x, np.ndarray)]
    for k, x in enumerate(arrays):
        assert x.flags.writeable
        assert not any(np.shares_memory(x, y) for y in [*given, *expr.constants.values()])
        assert not any(np.shares_memory(x, y) for y in arrays[:k])


@hypothesis.settings(max_examples=100)
@hypothesis.given(programs())
def test_random_programs_recorded_again(case):
    expr, arguments, _ = case
    with np.errstate(all="ignore"):
        found = fg.jit(lambda *xs: evaluate(expr, xs))(*arguments)
        assert_same(found, reference(expr, arguments), 1e-13)


# Text


def test_straight_line():
    text = built((sin, 0), (mul, 1, 0), (add, 2, 1), inputs=[VECTOR], outputs=(3,))
    assert text == (
        "def program(a):\n"
        "    b = np.sin(a)\n"
        "    c = np.multiply(b, a)\n"
        "    c = np.add(c, b, c)\n"
        "    del b\n"
        "    return [c]\n"
    )
    namespace = {"np": np}
    exec(text, namespace)
    x = np.linspace(0, 1, 4)
    np.testing.assert_array_equal(namespace["program"](x)[0], np.sin(x) * x + np.sin(x))
    np.testing.assert_array_equal(x, np.linspace(0, 1, 4))


def test_memory_is_used_again_when_it_is_free():
    text = built((sin, 0), (neg, 1), (sin, 2), inputs=[VECTOR], outputs=(3,))
    assert text.count("b)") == 2  # all in the memory of the first


@pytest.mark.parametrize(
    ("name", "steps", "outputs"),
    [
        ("read later", [(sin, 0), (neg, 1), (add, 1, 2)], (3,)),
        ("an output", [(sin, 0), (neg, 1)], (1, 2)),
        ("an argument", [(neg, 0)], (1,)),
        ("a view of it is read later", [(sin, 0), (Reshape((4, 3)), 1), (neg, 1)], (2, 3)),
        ("a view of it is an output", [(sin, 0), (Reshape((12,)), 1), (neg, 1)], (3, 2)),
        (
            "a view of a view",
            [(sin, 0), (Reshape((12,)), 1), (Reshape((3, 4)), 2), (neg, 3)],
            (2, 4),
        ),
        ("it is a view of an argument", [(stop_gradient, 0), (neg, 1)], (2,)),
    ],
)
def test_memory_is_not_used_again_when_it_is_not_free(name, steps, outputs):
    text = built(*steps, inputs=[MATRIX], outputs=outputs)
    lines = [line for line in text.splitlines() if "np.negative" in line]
    assert len(lines) == 1
    assert "," not in lines[0], lines[0]


def test_memory_is_not_used_again_for_another_type():
    text = built((sin, 0), (Slice((0,), (3,), (1,)), 1), (neg, 2), inputs=[VECTOR], outputs=(3,))
    assert "np.negative(c)" in text
    z = array_type((4,), np.dtype(complex))
    text = built((neg, 0), (real, 1), (sin, 2), (real, 1), (cos, 4), inputs=[z], outputs=(3, 5))
    x = np.array([1 + 2j, 3 - 1j, 0.5j, 2])
    namespace = {"np": np}
    exec(text, namespace)
    a, b = namespace["program"](x)
    np.testing.assert_array_equal([a, b], [np.sin(-x.real), np.cos(-x.real)])


def test_small_arrays_may_be_exempt(monkeypatch):
    monkeypatch.setattr(module, "REUSE_FROM", 1000)
    steps = [(sin, 0), (neg, 1)]
    large = array_type((125,), np.dtype(float))
    assert ", b)" not in built(*steps, inputs=[VECTOR], outputs=(2,))
    assert ", b)" in built(*steps, inputs=[large], outputs=(2,))


def test_donated_arguments():
    steps = [(neg, 0), (add, 2, 1)]
    assert "np.negative(a)" in built(*steps, inputs=[VECTOR] * 2, outputs=(3,))
    assert "np.negative(a, a)" in built(*steps, inputs=[VECTOR] * 2, outputs=(3,), donated=(0,))
    text = built((neg, 0), (add, 1, 0), inputs=[VECTOR], outputs=(2,), donated=(0,))
    assert "np.negative(a)" in text  # it is still read


def test_a_donated_argument_returned_as_it_is():
    expr = Expr((0,), (), (0, 0), (VECTOR,))
    x = np.ones(4)
    a, b = Program(expr, (0,)).compiled()(x)
    assert not np.shares_memory(a, b)


def test_broadcasts_are_left_to_numpy():
    row = built((Broadcast((3, 4), (0,)), 1), (add, 0, 2), inputs=[MATRIX, VECTOR], outputs=(3,))
    assert "np.add(a, b)" in row
    column = array_type((3,), np.dtype(float))
    text = built((Broadcast((3, 4), (1,)), 1), (add, 0, 2), inputs=[MATRIX, column], outputs=(3,))
    assert "np.add(a, b.reshape((3, 1)))" in text
    assert "broadcast_to" not in row + text
    # Both operands smaller than the result: one of them has to be made.
    text = built((Broadcast((3, 4), (0,)), 0), (add, 1, 1), inputs=[VECTOR], outputs=(2,))
    assert "broadcast_to" in text
    text = built((Broadcast((3, 4), (0,)), 0), inputs=[VECTOR], outputs=(1,))
    assert "broadcast_to" in text
    assert ".copy()" in text


def test_scalars_are_literals():
    constants = {1: np.float64(0.1), 2: np.float64(-0.0), 3: np.float64(np.inf), 4: np.float32(2)}
    steps = [(mul, 0, 1), (mul, 5, 2), (add, 6, 3)]
    text = built(*steps, inputs=[SCALAR], outputs=(7,), constants=constants)
    assert "a * 0.1" in text
    assert "-0.0" in text
    assert "inf" not in text  # NumPy has no literal for it


def test_literals_are_not_deleted():
    """A cast to the dtype that a constant has already is that constant."""
    steps = [(Cast(np.dtype(float)), 1), (add, 2, 2), (neg, 0)]
    constants = {1: np.float64(2.0)}
    text = built(*steps, inputs=[VECTOR], outputs=(4,), constants=constants)
    compile(text, "program", "exec")
    assert "del 2.0" not in text


def test_names_that_python_reserves():
    count = 26 * 27 + 20  # past `as`, `if`, `in`, `is`, `np`, `or`
    expr = fg.make_expr(lambda x: [x := fg.numpy.sin(x) for _ in range(count)])(np.ones(2))
    results = Program(expr).compiled()(np.ones(2))
    assert len(results) == count


def test_values_are_freed_at_their_last_use():
    text = built((sin, 0), (ReduceSum((0,)), 1), (neg, 2), inputs=[VECTOR], outputs=(3,))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("c = np.add.reduce(b, (0,), b.dtype)") + 1] == "del b"


def test_lines_know_where_they_come_from():
    def f(x):
        y = fg.numpy.sin(x)
        return y * y

    expr = fg.make_expr(f)(np.ones(3))
    source = python_source(scheduled(expr))
    lines = source.text.splitlines()
    (function,) = source.functions
    assert len(lines) == len(function.origins)
    assert [o[0].name for o in function.origins if o] == ["sin", "multiply"]
    origins = [o[1] for o in function.origins if o]
    assert {(code.co_name, code.co_filename) for code, _ in origins} == {("f", __file__)}
    lines = [list(code.co_positions())[offset // 2][0] for code, offset in origins]
    assert [n - f.__code__.co_firstlineno for n in lines] == [1, 2]


def test_what_is_chosen_of_arrays_without_axes_is_no_view_of_an_argument():
    choose = fg.jit(lambda p, x: fnp.where(p.reshape(()), x.reshape(()), 2.0).reshape((1, 1)))
    x = np.ones((1, 1))
    for p in (True, False):
        found = choose(np.array([p]), x)
        assert found == (1.0 if p else 2.0)
        assert not np.may_share_memory(found, x)
