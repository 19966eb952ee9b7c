"""What compiled kernels take and what they turn away, and that calls of them leave nothing behind."""

import contextlib
import itertools
import os
import pickle
import subprocess
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

from fungrad.compile.fallback import Rerun
from fungrad.compile.kernels.access import Access
from fungrad.compile.kernels.kernel import Kernel, Output
from fungrad.compile.kernels.operations import Node
from fungrad.compile.targets import host_kernels
from fungrad.core.types import ArrayType
from tests.compile import random_kernels as rk
from tests.compile.compiling import needs_compiler

pytestmark = needs_compiler

SPACES = [(1,), (5,), (64,), (6, 7), (1, 9), (3, 1, 5), (2, 3, 4, 5), (30, 40, 5)]


def compiled(kernel):
    (function,) = host_kernels.compile_kernels([kernel])
    return function


def added(dtype, space):
    """Return the compiled kernel of x + y, of booleans of x | y."""
    name = "or" if np.dtype(dtype).kind == "b" else "add"
    return compiled(rk.of_one_operation(name, dtype, [dtype] * 2, space))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_arrays_may_lie_anyhow(space):
    rng = np.random.default_rng(0)
    for dtype in ("f8", "f4", "i2", "?"):
        function = added(dtype, space)
        x, y = [rk.data(rng, space, np.dtype(dtype)) for _ in range(2)]
        expected = x | y if dtype == "?" else x + y
        for first, second in itertools.product(rk.LAYOUTS.values(), repeat=2):
            rk.assert_equal_bits(function(first(x), second(y)), expected)
        np.testing.assert_array_equal(function(x, x), x | x if dtype == "?" else x + x)


def test_misaligned_arrays_are_misaligned():
    assert not rk.LAYOUTS["misaligned"](np.arange(3.0)).flags.aligned


def test_broadcast_views():
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    function = added("f8", (3, 4))
    for view in (
        np.broadcast_to(y, (3, 4)),
        np.broadcast_to(2.0, (3, 4)),
        np.broadcast_to(y[:3, None], (3, 4)),
    ):
        assert 0 in view.strides
        rk.assert_equal_bits(function(x, view), x + view)


def test_axes_of_length_1_with_any_strides():
    function = added("f8", (3, 1))
    x = np.arange(30.0).reshape(3, 10)
    given = np.lib.stride_tricks.as_strided(x, (3, 1), (80, 12345))
    rk.assert_equal_bits(function(given, x[:, :1]), 2 * x[:, :1])


@pytest.mark.parametrize("dtype", rk.ALL, ids=str)
def test_scalars(dtype):
    """Scalars of NumPy's, arrays without axes, and Python's numbers where they are the dtype."""
    function = added(dtype, ())
    x = dtype.type(1)
    expected = (x | x) if dtype.kind == "b" else x + x
    given = [x, np.array(x)] + ([1.0] if dtype == np.float64 else [])
    for a, b in itertools.product(given, repeat=2):
        found = function(a, b)
        rk.assert_equal_bits(found, expected)
        assert type(found) is dtype.type
    negative = dtype.type(-3) if dtype.kind in "if" else x
    assert function(negative, np.array(negative)) == (
        negative | negative if dtype.kind == "b" else 2 * negative
    )


def test_results_of_several_outputs():
    f8 = np.dtype("f8")
    space = (3, 4)
    nodes = (Node("load", f8, (), 0), Node("neg", f8, (0,)), Node("reduce_sum", f8, (0,)))
    outputs = [Output(1, ArrayType(space, f8), True), Output(2, ArrayType((3,), f8), False)]
    outputs += [
        outputs[0],
        Output(2, ArrayType(space, f8), True),
        Output(0, ArrayType(space, f8), True),
    ]
    kernel = Kernel(
        space, 1, (Access(ArrayType(space, f8), (0, 1)),), nodes, tuple(outputs)
    ).check()
    x = np.arange(12.0).reshape(space)
    found = compiled(kernel)(x)
    assert type(found) is tuple
    for a, b in zip(found, kernel.interpret(x), strict=True):
        rk.assert_equal_bits(a, b)
    for a, b in itertools.combinations([*found, x], 2):
        assert not np.shares_memory(a, b)


@pytest.mark.parametrize("dtype", rk.ALL, ids=str)
def test_dtypes_need_not_be_the_same_object(dtype):
    """Those of pickled arrays are not, nor those with metadata."""
    function, x = added(dtype, (2, 3)), rk.data(np.random.default_rng(0), (2, 3), dtype)
    expected = function(x, x)
    unpickled = pickle.loads(pickle.dumps(x))
    noted = x.view(np.dtype(dtype, metadata={"unit": "m"}))
    assert unpickled.dtype is not np.dtype(dtype)
    for given in (
        unpickled,
        noted,
        x.astype(dtype.newbyteorder("S")).astype(dtype.newbyteorder("=")),
    ):
        rk.assert_equal_bits(function(given, x), expected)
        rk.assert_equal_bits(function(x, given), expected)


def test_results_that_memory_does_not_hold():
    function = compiled(rk.of_one_operation("neg", "f8", ["f8"], (1 << 48,), True))
    for _ in range(3):
        with pytest.raises(MemoryError):
            function(1.0)


class Subclass(np.ndarray):
    pass


class Float(float):
    pass


def refused(space):
    """Return arguments that are not float64 arrays of this shape."""
    x = np.ones(space)
    yield from (x.astype(d) for d in ("f4", "i8", "?", "c16", ">f8", "O", "M8[s]", "V8"))
    yield from (
        x.view(Subclass),
        np.ma.array(x),
        None,
        "x",
        object(),
        Subclass,
        1,
        1j,
        True,
    )
    yield from (
        np.ones((1, *space)),
        np.ones((*space, 1)),
        np.ones(tuple(n + 1 for n in space) or (1,)),
    )
    if space:
        yield from (
            x.tolist(),
            1.0,
            np.float64(1),
            np.array(1.0),
            np.ones(space[:-1]),
            np.ones((*space[:-1], 0)),
        )
    else:
        yield from (Float(1), np.float32(1), np.int64(1), np.bool_(True), np.longdouble(1))


@pytest.mark.parametrize("space", [(), (1,), (4,), (3, 4)], ids=str)
def test_other_arguments_are_turned_away(space):
    function, x = added("f8", space), np.ones(space)
    held = sys.getrefcount(x)  # 1 or 2, by the Python
    for other in refused(space):
        count = sys.getrefcount(other)
        for given in ((x, other), (other, x), (other, other)):
            for _ in range(3):
                with pytest.raises(Rerun):
                    function(*given)
        del given
        if isinstance(other, np.ndarray):  # others are known to anybody
            assert sys.getrefcount(other) == count
    assert sys.getrefcount(x) == held


# Nothing is left behind


def test_code_is_freed_with_its_functions():
    kernels = [rk.of_one_operation("add", "f8", ["f8", "f8"], (n,)) for n in (3, 4)]
    first, second = host_kernels.compile_kernels(kernels)
    code = weakref.ref(first.__self__)
    del first
    np.testing.assert_array_equal(second(np.ones(4), np.ones(4)), np.full(4, 2.0))
    del second
    assert code() is None


@pytest.mark.skipif(
    not os.path.exists("/proc/self/maps"), reason="no table of the memory of a process"
)
def test_machine_code_is_given_back():
    code = """
import gc, sys
import numpy as np
from fungrad.compile.targets import host_kernels
from tests.compile import random_kernels as rk
def used():
    return sum(1 for line in open("/proc/self/maps")), int(open("/proc/self/statm").read().split()[1])
def compile_some():
    for n in range(3, 43):
        kernels = [rk.of_one_operation("add", "f8", ["f8", "f8"], (n,))]
        (function,) = host_kernels.compile_kernels(kernels)
        assert function(np.ones(n), np.ones(n))[-1] == 2
        del function
        gc.collect()
compile_some()
before = used()
compile_some()
after = used()
print(after[0] - before[0], (after[1] - before[1]) * 4)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    maps, kilobytes = map(int, run.stdout.split())
    assert maps < 20  # code that stays takes three for each of the 40 kernels
    assert kilobytes < 40 * 20


def test_calls_leave_nothing_behind():
    space = (6, 7)
    add = compiled(rk.of_one_operation("add", "f8", ["f8", "f8"], space))
    x, wrong = np.ones(space), np.ones((7, 6))
    turned = np.asfortranarray(x)
    given = [x, turned, wrong, np.ndarray, np.dtype("f8"), Rerun]
    calls = [(x, x), (x, turned), (turned, wrong), (wrong, x), (x, None), (turned, 1.0)]
    calls += [(turned, np.full(space, 1e308)), (np.full(space, 1e308), np.full(space, 1e308))]

    def repeat():
        for arguments in calls * 50:
            with contextlib.suppress(Rerun):
                add(*arguments)

    repeat()
    before = [sys.getrefcount(y) for y in given]
    tracemalloc.start()
    try:
        repeat()
        first = tracemalloc.get_traced_memory()[0]
        repeat()
        grown = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(y) for y in given] == before
    assert grown < 2000  # a leak of an array per call would be 50 times that
