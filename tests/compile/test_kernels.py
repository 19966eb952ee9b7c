"""Compiled kernels against the same kernels run by NumPy's functions."""

import itertools
import math
import os
import threading

import numpy as np
import pytest

from fungrad.compile.fallback import Rerun
from fungrad.compile.kernels.access import Access
from fungrad.compile.kernels.kernel import REDUCTIONS, Kernel, Output
from fungrad.compile.kernels.operations import BOOL, COMPARISONS, OPERATIONS, Node
from fungrad.compile.targets import host_kernels
from fungrad.core.types import ArrayType
from tests.compile import random_kernels as rk
from tests.compile.compiling import needs_compiler

pytestmark = needs_compiler

FLOATS, INTEGERS = [d for d in rk.ALL if d.kind == "f"], [d for d in rk.ALL if d.kind in "iu"]
ONE = ["neg", "abs", "sqrt", "floor", "ceil", "trunc", "rint"]
TWO = ["add", "sub", "mul", "div", "copysign", "max", "min"]


def compiled(kernel):
    (function,) = host_kernels.compile_kernels([kernel])
    return function


def check(kernel, function, arguments):
    expected, found = rk.outcomes(kernel, function, arguments)
    assert (found is None) == (expected is None)
    for output, x, y in zip(kernel.outputs, found or (), expected or (), strict=found is not None):
        try:
            rk.assert_equal_bits(x, y)
        except AssertionError as error:
            error.add_note(f"{kernel.nodes[output.node]} of {arguments}")
            raise
    return found is not None


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed):
    rng = np.random.default_rng(seed)
    drawn = [rk.random_kernel(rng) for _ in range(8)]
    functions = host_kernels.compile_kernels([kernel for kernel, _ in drawn])
    for (kernel, arguments), function in zip(drawn, functions, strict=True):
        before = [np.array(x) for x in arguments]
        assert check(kernel, function, arguments), "a floating-point error came up"
        for x, y in zip(arguments, before, strict=True):
            np.testing.assert_array_equal(x, y)  # nothing is written into arguments


@pytest.mark.parametrize("space", [(20_011,), (3, 9001), (2, 3, 4099), (16_384,), (70_000,)])
def test_random_kernels_of_many_places(space):
    """Rows longer than the blocks whose sums are added in pairs, and with rests of them."""
    rng = np.random.default_rng(math.prod(space))
    drawn = [rk.random_kernel(rng, 14, space) for _ in range(3)]
    functions = host_kernels.compile_kernels([kernel for kernel, _ in drawn])
    for (kernel, arguments), function in zip(drawn, functions, strict=True):
        assert check(kernel, function, arguments)


def test_random_kernels_have_every_operation():
    seen = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        for _ in range(8):
            kernel, _ = rk.random_kernel(rng)
            seen |= {(n.operation, n.dtype.kind) for n in kernel.nodes}
    operations = {
        *OPERATIONS,
        *REDUCTIONS,
        "load",
        "inside",
        "iota",
        "constant",
        "convert",
        "bitcast",
    }
    of_their_own = {"fma", "quot", "rem", "real", "imag", "complex"}  # tests
    assert {operation for operation, _ in seen} == operations - of_their_own
    assert {("max", k) for k in "iuf"} | {("shr", "i"), ("shr", "u"), ("abs", "i")} <= seen
    assert {(f"reduce_{r}", k) for r in ("sum", "prod", "max", "min") for k in "iuf"} <= seen


PLACES = [((67,), False), ((67,), True), ((), False)]
"""Index spaces, and whether operands have no axes: operations of vectors, of rows, of single numbers."""


def _operations_of(dtype):
    """Return the operations of a dtype: name, dtype of the result, and number of operands."""
    if dtype.kind == "f":
        names = [(n, 1) for n in ONE] + [(n, 2) for n in TWO]
    elif dtype.kind == "b":
        names = [("not", 1)] + [(n, 2) for n in ("and", "or", "xor", "mul")]
    else:
        names = [("not", 1)] + [(n, 1) for n in ("neg", "abs") if dtype.kind == "i"]
        names += [(n, 2) for n in ("add", "sub", "mul", "max", "min", "and", "or", "xor")]
    return [(n, dtype, count) for n, count in names] + [(n, BOOL, 2) for n in COMPARISONS]


@pytest.mark.parametrize("dtype", [*INTEGERS, BOOL], ids=str)
def test_operations_of_integers_at_their_limits(dtype):
    operations = _operations_of(dtype)
    kernels = [rk.of_operations(operations, [dtype] * 2, space, spread) for space, spread in PLACES]
    if dtype.kind == "b":
        numbers = np.array([False, True])
    else:
        limits = np.iinfo(dtype)
        numbers = np.array(
            [limits.min, limits.max, limits.max // 2 + 1, 0, 1, limits.max - 1], dtype
        )
    pairs = np.array(list(itertools.product(numbers, numbers)))
    for kernel, function in zip(kernels, host_kernels.compile_kernels(kernels), strict=True):
        for shift in range(0, len(pairs), 5):
            rows = np.roll(pairs, -shift, 0).T
            shapes = [a.type.shape for a in kernel.operands]
            given = [np.resize(x, s)[()] for x, s in zip(rows, shapes, strict=False)]
            assert check(kernel, function, given)


@pytest.mark.parametrize("space", [(), (37,)])
def test_kernels_of_one_assembly_give_their_own_dtypes(space):
    """With and without sign: what differs is what they are called with, not what they are compiled of."""
    dtypes = [*INTEGERS, BOOL]
    kernels = [rk.of_one_operation("and", d, [d, d], space) for d in dtypes]
    texts = {host_kernels.assembly(kernel)[0] for kernel in kernels}
    assert len(texts) <= len(dtypes) - 4
    functions = host_kernels.compile_kernels(kernels)
    for dtype, kernel, function in zip(dtypes, kernels, functions, strict=True):
        x, y = (np.full(space, n).astype(dtype)[()] for n in (1, 3))
        assert check(kernel, function, [x, y])


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts(dtype):
    kernels = [rk.of_one_operation(n, dtype, [dtype] * 2, (67,)) for n in ("shl", "shr")]
    rng = np.random.default_rng(0)
    for kernel, function in zip(kernels, host_kernels.compile_kernels(kernels), strict=True):
        x = rk.data(rng, (67,), dtype)
        assert check(kernel, function, [x, rng.integers(0, 8 * dtype.itemsize, 67, dtype)])


@pytest.mark.parametrize("source", rk.ALL, ids=str)
def test_conversions(source):
    targets = [d for d in rk.ALL if d != source]
    if source.kind == "f":
        targets = [d for d in targets if d.kind == "f"]  # NumPy does not say what the others give
        numbers = np.array(
            [0.0, -0.0, 1 / 3, 2.5, 1e30, -1e-30, 1e-42, np.inf, -np.inf, np.nan], source
        )
    elif source.kind == "b":
        numbers = np.array([True, False])
    else:
        limits = np.iinfo(source)
        odd = [2**24 + 1, 2**53 + 1, 2**63 + 2**10 + 1, -(2**24) - 1, limits.max - 64, -1, 3]
        kept = [n for n in odd if limits.min <= n <= limits.max]
        numbers = np.array([limits.min, limits.max, *kept], source)
    made = [("convert", d) for d in targets if d.kind != "b"]
    made += [("bitcast", d) for d in INTEGERS + FLOATS if d.itemsize == source.itemsize != 1]
    sizes = sorted({d.itemsize for _, d in made})  # which vectors are as long as
    groups = [[(n, d, 1) for n, d in made if d.itemsize == size] for size in sizes]
    kernels = [rk.of_operations(group, [source], s) for group in groups for s in ((), (37,))]
    for kernel, function in zip(kernels, host_kernels.compile_kernels(kernels), strict=True):
        for number in numbers:
            assert check(kernel, function, [np.full(kernel.space, number, source)[()]])
        if kernel.space:
            assert check(kernel, function, [np.resize(numbers, kernel.space)])


# Floating-point errors


def special(dtype):
    f = np.finfo(dtype)
    numbers = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, f.max, -f.max, f.tiny, -f.tiny, 0.5]
    return np.array([*numbers, f.smallest_subnormal, 2.5, -3.5, f.max / 3, 2.0**f.nmant + 1], dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_operations_of_special_numbers(dtype):
    """A division by zero, an invalid operation and an overflow are reported, an underflow is not."""
    for space in ((), (19,)):
        kernels = [
            rk.of_one_operation(name, result, [dtype] * count, space)
            for name, result, count in _operations_of(dtype)
        ]
        for kernel, function in zip(kernels, host_kernels.compile_kernels(kernels), strict=True):
            name = kernel.nodes[-1].operation
            for given in itertools.product(special(dtype), repeat=len(kernel.operands)):
                arguments = [np.full(a.type.shape, x)[()] for a, x in zip(kernel.operands, given)]
                expected, found = rk.outcomes(kernel, function, arguments)
                assert (found is None) == (expected is None), (name, given)
                if name in ("max", "min") and given[0] == given[1] == 0:
                    assert np.all(found[0] == 0)  # either zero will do
                elif found is not None:
                    rk.assert_equal_bits(found[0], expected[0])


def test_an_error_at_any_place_is_reported():
    """In blocks, in rounds, in single vectors and in the last one, which overlaps the one before."""
    n = 2 * 8192 + 100
    kernel = rk.of_one_operation("div", "f8", ["f8", "f8"], (n,))
    function = compiled(kernel)
    for place in (0, 5, 8191, 8192, 2 * 8192 + 3, n - 5, n - 1):
        y = np.ones(n)
        function(np.ones(n), y)
        y[place] = 0
        with pytest.raises(Rerun):
            function(np.ones(n), y)
        function(np.ones(n), np.ones(n))  # the flag does not stay


def test_other_peoples_flags_are_not_reported():
    function = compiled(rk.of_one_operation("mul", "f8", ["f8", "f8"], (3,)))
    x = np.array([1.0, 0.0, 2.0])
    with np.errstate(all="ignore"):
        for _ in range(3):
            1 / x, np.sqrt(-x), x * 1e308 * 1e308
            np.testing.assert_array_equal(function(x, x), x * x)


# Fused multiplications, sums and products of numbers that are rounded


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("space", [(), (37,)])
def test_fma_rounds_once(dtype, space):
    function = compiled(kernel := rk.of_one_operation("fma", dtype, [dtype] * 3, space))
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y, z = [np.asarray(rng.normal(size=space), dtype)[()] for _ in range(3)]
        (expected,) = kernel.interpret(x, y, z)
        assert np.all(np.abs(function(x, y, z) - expected) <= np.spacing(np.abs(expected)))
    x = np.full(space, 1 + 2 * np.finfo(dtype).eps, dtype)[()]
    np.testing.assert_array_equal(function(x, x, -(x * x)), (2 * float(np.finfo(dtype).eps)) ** 2)


def _reduction(operation, dtype, space, rows):
    access = Access(ArrayType(space, np.dtype(dtype)), tuple(range(len(space))))
    nodes = (Node("load", np.dtype(dtype), (), 0), Node(operation, np.dtype(dtype), (0,)))
    out = Output(1, ArrayType(space[:rows], np.dtype(dtype)), False)
    return Kernel(space, rows, (access,), nodes, (out,)).check()


SPACES = [((n,), 0) for n in (*rk.LENGTHS, 8191, 8192, 8193, 3 * 8192 + 41, 100_003)]
SPACES += [((5, n), 1) for n in (1, 7, 33, 9000)] + [((3, 5, 7, 11), 1), ((4, 100, 101), 0)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_and_products_are_near_the_exact_ones(dtype):
    """Sums: a block of 2^13 numbers has 8 sums at least, one after the other; then they go in pairs."""
    kernels = [_reduction(r, dtype, *s) for s in SPACES for r in ("reduce_sum", "reduce_prod")]
    rng, unit = np.random.default_rng(0), float(np.finfo(dtype).eps) / 2
    for kernel, function in zip(kernels, host_kernels.compile_kernels(kernels), strict=True):
        n = math.prod(kernel.inner_shape)
        x = rng.uniform(0.5, 1.5, kernel.space).astype(dtype)
        if kernel.nodes[1].operation == "reduce_prod":
            x = np.exp((x.astype("f8") - 1) / math.sqrt(n)).astype(dtype)
            total, steps = (lambda row: math.exp(math.fsum(map(math.log, row)))), n + 1
            slack = 1e-15 * n  # of the logarithms
        else:
            steps, slack = min(n, 2**10 + 16 + math.log2(n)), 0
            total = math.fsum
        exact = np.array([total(row.tolist()) for row in x.reshape(-1, n)]).reshape(
            kernel.row_shape
        )
        found = function(x)
        assert found.dtype == dtype
        error = np.abs(found.astype("f8") - exact) / exact
        assert np.all(error <= steps * unit + slack + unit), (kernel.space, error.max() / unit)


@pytest.mark.parametrize("operation", ["reduce_max", "reduce_min"])
def test_extremes_of_special_numbers(operation):
    for dtype, n in itertools.product(FLOATS, (1, 5, 19, 64, 20_000)):
        function = compiled(_reduction(operation, dtype, (n,), 0))
        best = np.inf if operation == "reduce_max" else -np.inf
        for place in {0, n // 2, n - 1}:
            x = np.linspace(-1, 1, n, dtype=dtype)
            x[place] = best
            assert function(x) == best
            assert function(np.full(n, -best, dtype)) == -best


def test_sums_of_negative_zeros_are_negative():
    for n in (1, 7, 8, 31, 20_000):
        zeros = np.full(n, -0.0)
        found = compiled(_reduction("reduce_sum", "f8", (n,), 0))(zeros)
        assert np.signbit(found) == np.signbit(np.sum(zeros))


# Threads and processes


def test_threads_get_what_one_gets():
    rng = np.random.default_rng(3)
    drawn = [rk.random_kernel(rng, 14, (40, 500)) for _ in range(3)]
    drawn += [rk.random_kernel(rng, 14, (5, 7)) for _ in range(3)]
    functions = host_kernels.compile_kernels([kernel for kernel, _ in drawn])
    expected = [k.interpret(*a) for k, a in drawn]
    failures, start = [], threading.Barrier(8)

    def work():
        start.wait()
        for _ in range(15):
            for (kernel, given), function, wanted in zip(drawn, functions, expected, strict=True):
                found = function(*given)
                found = [found] if len(kernel.outputs) == 1 else found
                if not all(map(np.array_equal, found, wanted)):
                    failures.append(kernel)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_flags_are_of_the_thread_that_runs():
    n = 50_000
    function = compiled(rk.of_one_operation("div", "f8", ["f8", "f8"], (n,)))
    x, failures = np.ones(n), []

    def work(divisor, fails):
        for _ in range(100):
            try:
                function(x, divisor)
            except Rerun:
                failures.extend([] if fails else ["raised"])
            else:
                failures.extend(["not raised"] if fails else [])

    given = [(x, False), (np.zeros(n), True)] * 2
    threads = [threading.Thread(target=work, args=args) for args in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_kernels_after_a_fork():
    kernel = rk.of_one_operation("add", "f8", ["f8", "f8"], (30_000,))
    function, x = compiled(kernel), np.arange(30_000.0)
    pid = os.fork()
    if pid == 0:
        try:
            right = np.array_equal(function(x, x), 2 * x)
            right &= np.array_equal(compiled(kernel)(x, x), 2 * x)
            os._exit(0 if right else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    np.testing.assert_array_equal(function(x, x), 2 * x)


@pytest.mark.parametrize("n", [5, 7, 13, 30, 37])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_rest_of_a_row_counts_once(n, dtype):
    """Its last vector overlaps the one before."""
    x = np.arange(1, n + 1, dtype=dtype)
    nodes = [Node("load", x.dtype, (), 0), Node("mul", x.dtype, (0, 0)), Node("reduce_sum", x.dtype, (1,))]  # fmt: skip
    output = Output(2, ArrayType((), x.dtype), False)
    kernel = Kernel((n,), 0, (Access(ArrayType((n,), x.dtype), (0,)),), tuple(nodes), (output,))
    assert compiled(kernel.check())(x) == n * (n + 1) * (2 * n + 1) // 6
