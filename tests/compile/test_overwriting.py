"""Kernels that write their results over operands."""

import itertools
import os
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit import llvm_threads
from fungrad.compile.fallback import Rerun
from fungrad.compile.interpret import interpret
from fungrad.compile.kernels.kernel import Access, Kernel, Output
from fungrad.compile.kernels.operations import Node
from fungrad.compile.lower import Program
from fungrad.compile.native import schedule_with_kernels
from fungrad.compile.steps import Call, Schedule
from fungrad.compile.targets import host_kernels
from fungrad.core.errors import ExprError
from fungrad.core.types import ArrayType
from tests.compile import random_kernels as rk
from tests.compile.compiling import compare, needs_compiler

pytestmark = needs_compiler
F4 = np.dtype("f4")


def overwriting(kernel):
    """Return the kernel with as many outputs over operands as there is room for."""
    over = {}
    for k in range(len(kernel.outputs)):
        free = [j for j in kernel.places_for(k) if j not in over.values()]
        over |= {k: free[-1]} if free else {}
    return kernel.written(over)


def as_tuple(found):
    return found if type(found) is tuple else (found,)


def check(kernel, arguments):
    """Hold a kernel against the one that writes over nothing; return whether anything is overwritten."""
    changed = overwriting(kernel)
    plain, over = host_kernels.compile_kernels([kernel, changed])
    given = [np.array(x, order="C") if np.ndim(x) else x for x in arguments]
    try:
        expected = as_tuple(plain(*given))
    except Rerun:
        expected = None
    try:
        found = as_tuple(over(*given))
    except Rerun:
        found = None
    assert (found is None) == (expected is None)
    for x, y in zip(found or (), expected or (), strict=True):
        rk.assert_equal_bits(x, y)
    for j, (x, y) in enumerate(zip(given, arguments, strict=True)):
        if j not in changed.over.values():
            np.testing.assert_array_equal(x, y)
    for k, j in changed.over.items():
        assert found is None or found[k] is given[j]
    return bool(changed.over)


@pytest.mark.parametrize("seed", range(8))
def test_random_kernels(seed):
    rng = np.random.default_rng(seed)
    drawn = [rk.random_kernel(rng) for _ in range(12)]
    assert sum([check(kernel, arguments) for kernel, arguments in drawn]) > 1


def twice_and_sum(n, *rows):
    """Return a kernel that adds two operands, doubles the sum of that, and reduces it."""
    space = (*rows, n)
    type_, row = ArrayType(space, F4), ArrayType(rows, F4)
    axes = tuple(range(len(space)))
    nodes = (
        Node("load", F4, (), 0),
        Node("load", F4, (), 1),
        Node("add", F4, (0, 1)),
        Node("mul", F4, (2, 1)),
        Node("reduce_sum", F4, (3,)),
    )
    outputs = (Output(2, type_, True), Output(3, type_, True), Output(4, row, False))
    operands = (Access(type_, axes), Access(type_, axes))
    return Kernel(space, len(rows), operands, nodes, outputs).check()


LENGTHS = [*range(1, 36, 2), 16, 32, 64, 70, 127, 8191, 8192, 8193, 32_769]


@pytest.mark.parametrize("rows", [(), (3,)])
def test_every_length(rows):
    """The last vector of a row overlaps the one before, whose elements are overwritten by then."""
    for n in LENGTHS if not rows else LENGTHS[::4]:
        x, y = [np.arange(np.prod((*rows, n)), dtype="f4").reshape((*rows, n)) + k for k in (1, 2)]
        assert overwriting(twice_and_sum(n, *rows)).over == {0: 1, 1: 0}
        assert check(twice_and_sum(n, *rows), [x, y])


@pytest.mark.skipif(os.name != "posix", reason="no threads of POSIX")
@pytest.mark.parametrize("threads", ["2", "3"])
def test_on_threads(threads, monkeypatch):
    monkeypatch.setattr(llvm_threads, "PART", 1)
    monkeypatch.setenv("FUNGRAD_NUM_THREADS", threads)
    rng = np.random.default_rng(0)
    for space in [(40_000,), (40_001,), (200, 301), (7, 3, 11), (3, 20_001)]:
        for _ in range(6):
            check(*rk.random_kernel(rng, 12, space))


def test_elements_of_tails_raise_no_flags_twice():
    """1 / 0 would come up in the vector that overlaps, if it read what is written."""
    space = (35,)
    type_ = ArrayType(space, F4)
    nodes = (
        Node("load", F4, (), 0),
        Node("constant", F4, (), np.float32(1)),
        Node("sub", F4, (0, 1)),
        Node("div", F4, (1, 0)),
        Node("mul", F4, (2, 3)),
    )
    kernel = Kernel(space, 0, (Access(type_, (0,)),), nodes, (Output(4, type_, True),)).check()
    (function,) = host_kernels.compile_kernels([kernel.written({0: 0})])
    x = np.ones(35, "f4")  # (x - 1) / x is 0
    assert function(x) is x
    np.testing.assert_array_equal(x, 0)


def test_operands_that_lie_otherwise_are_copied():
    kernel = twice_and_sum(5, 4)
    (function,) = host_kernels.compile_kernels([overwriting(kernel)])
    x, y = np.ones((5, 4), "f4").T, np.full((4, 10), 2, "f4")[:, ::2]
    found = function(x, y)
    for z, expected in zip(found, (3, 6, 30), strict=True):
        np.testing.assert_array_equal(z, expected)
        assert not np.shares_memory(z, x)
        assert not np.shares_memory(z, y)
    np.testing.assert_array_equal(x, 1)
    np.testing.assert_array_equal(y, 2)


def test_nothing_is_leaked():
    (function,) = host_kernels.compile_kernels([overwriting(twice_and_sum(40))])
    x, y = np.zeros(40, "f4"), np.zeros(40, "f4")
    before = sys.getrefcount(x), sys.getrefcount(y)
    for _ in range(10):
        function(x, y)
        function(np.zeros((40, 2), "f4")[:, 0], y)
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before


def test_what_a_later_pass_reads_is_not_overwritten():
    type_ = ArrayType((4, 30), F4)
    nodes = (
        Node("load", F4, (), 0),
        Node("mul", F4, (0, 0)),
        Node("reduce_sum", F4, (1,)),
        Node("div", F4, (0, 2)),
    )
    outputs = Output(1, type_, True), Output(3, type_, True)
    kernel = Kernel((4, 30), 1, (Access(type_, (0, 1)),), nodes, outputs).check()
    assert [kernel.places_for(k) for k in (0, 1)] == [[], [0]]
    with pytest.raises(ExprError, match="cannot be written over"):
        kernel.written({0: 0})
    assert check(kernel, [np.arange(120, dtype="f4").reshape(4, 30) + 1])


def test_other_elements_are_not_overwritten():
    """A row, another dtype, an array without axes."""
    type_, row, wide = ArrayType((4, 30), F4), ArrayType((30,), F4), ArrayType((4, 30), "f8")
    nodes = tuple([Node("load", np.dtype(t), (), k) for k, t in enumerate(["f4", "f8", "f4"])])
    nodes += (Node("add", F4, (0, 2)), Node("neg", np.dtype("f8"), (1,)))
    operands = Access(row, (1,)), Access(wide, (0, 1)), Access(type_, (0, 1))
    outputs = Output(3, type_, True), Output(4, wide, True)
    kernel = Kernel((4, 30), 0, operands, nodes, outputs).check()
    assert [kernel.places_for(k) for k in (0, 1)] == [[2], [1]]
    with pytest.raises(ExprError, match="cannot be written over"):
        kernel.written({0: 2, 1: 2})


# In programs


def steps_of(f, *args):
    return schedule_with_kernels(Program(fg.make_expr(f)(*args)).expr)[0]


def kernels_over(steps: Schedule):
    return [s.over for s in steps.steps if isinstance(s, Call) and s.over]


X = np.linspace(0.5, 2, 4000, dtype="f4").reshape(40, 100)


def shifted(x):
    """Return what is no kernel's: an array of its own."""
    return fnp.sort(x, axis=0)


def test_a_result_goes_over_an_operand_that_dies():
    def f(x):
        return fnp.exp(-shifted(x)) * 2

    steps = steps_of(f, X)
    assert len(kernels_over(steps)) == 1
    assert "<- kernel[" in str(steps)
    (expected,) = interpret(steps_of(shifted, X), [X])
    (found,) = interpret(steps, [X.copy()])
    np.testing.assert_allclose(found, np.exp(-expected) * 2, rtol=1e-6)
    compare(f, (X,), 4)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fnp.exp(-x) * 2,  # an argument
        lambda x: (y := shifted(x), fnp.exp(-y) * 2),  # returned too
        lambda x: (y := shifted(x), fnp.exp(-y) * 2 + fnp.sum(y @ y.T)),  # read later
        lambda x: fnp.exp(-shifted(x)[:, ::-1]) * 2 + shifted(x),
    ],
)
def test_what_somebody_else_reads_is_not_overwritten(f):
    before = X.copy()
    compare(f, (X,), 64)
    np.testing.assert_array_equal(X, before)


def test_views_of_what_is_overwritten_are_kept():
    def f(x):
        y = shifted(x)
        z = fnp.exp(-y) * 2
        return z, y[3:5] @ y[3:5].T

    compare(f, (X,), 8)


def test_two_results_over_two_operands():
    def f(x):
        y, z = shifted(x), shifted(x + 1)
        a = fnp.exp(-y) * z
        return a, fnp.tanh(a) * y

    assert [len(over) for over in kernels_over(steps_of(f, X))] == [2]
    compare(f, (X,), 16)


def test_in_loops_and_branches():
    def step(i, c):
        c = shifted(c)
        return lax.cond(i > 1, lambda c: fnp.exp(-shifted(c)) * 2, lambda c: fnp.tanh(c) + c, c)

    def f(x):
        return lax.fori_loop(0, 4, step, x)

    x = np.linspace(0.1, 1, 300 * 400, dtype="f4").reshape(300, 400)
    compare(f, (x,), 64)


def test_a_program_that_falls_back_computes_of_what_it_was_given(made):
    """The kernel has written before its flags are read."""

    def f(x):
        return 1 / (shifted(x) - 0.5) + 1

    x = np.zeros((40, 100), "f4")
    assert kernels_over(steps_of(f, x))
    x[0] = 0.5
    with np.errstate(all="ignore"):
        compare(f, (x,), 0)
    assert made[-1].failures
    np.testing.assert_array_equal(x[1:], 0)


def test_a_schedule_does_not_write_over_what_it_does_not_read():
    steps = steps_of(lambda x: fnp.exp(-shifted(x)) * 2, X)
    number, call = next((n, s) for n, s in enumerate(steps.steps) if isinstance(s, Call) and s.over)
    wrong = call._replace(operands=call.operands[:0])
    broken = Schedule(
        steps.inputs,
        steps.constants,
        (*steps.steps[:number], wrong, *steps.steps[number + 1 :]),
        steps.results,
        steps.types,
    )
    steps.check()
    with pytest.raises(ExprError, match="writes over registers that it does not read"):
        broken.check()


def test_lengths_in_programs():
    for n, m in itertools.product([1, 15, 33], [16, 31, 100]):
        compare(lambda x: fnp.exp(-shifted(x)) * 2, (X[:n, :m].copy(),), 4)


@pytest.mark.parametrize("mixed", [False, True])
def test_what_is_padded_is_overwritten_later(mixed):
    """Gradients of reads are padded with zeros in place, and what else is read is added over them."""

    def squares(w):
        fields = np.stack([*w, np.full((20, 20), 0.5)])
        for _ in range(2):
            x = fields[0]
            reversed_rows = fields[:, ::-1]
            fields[:] = (1 - x) * reversed_rows + x * x if mixed else reversed_rows * x
        return (fields[2] ** 2).sum()

    w = np.linspace(-1.0, 1.0, 800).reshape(2, 20, 20)
    assert "routine" in str(fg.jit(fg.grad(squares)).lower(w).kernels)
    compare(fg.grad(squares), (w,), ulps=4)
