"""Reductions along other axes than the last: kernels whose vectors are of several rows, against NumPy's functions."""

import os

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.emit import columns, llvm_threads
from fungrad.compile.kernels.kernel import Output
from fungrad.compile.kernels.spaces import in_columns
from fungrad.compile.targets import host_kernels
from fungrad.core.types import ArrayType
from tests.compile import random_kernels as rk
from tests.compile.compiling import compare, in_mode, needs_compiler

pytestmark = needs_compiler

RNG = np.random.default_rng(0)
SHAPES = [(1, 7), (2, 1), (5, 4), (9, 16), (8, 17), (100, 33), (33, 700), (3, 2500), (6, 5, 31)]
FEW = [(2, 1), (8, 17), (33, 700), (6, 5, 31)]
"""Shapes for dtypes as long as others that have all shapes."""


def data(shape, dtype):
    dtype, rng = np.dtype(dtype), np.random.default_rng(1)
    x = rng.normal(size=shape) * (1 if dtype == "f2" else 10)  # no sum of which overflows
    return (x + 1j * rng.normal(size=shape) if dtype.kind == "c" else np.abs(x)).astype(dtype)


def kernels(f, *args):
    return [k for k in fg.jit(f).lower(*args).kernels if "kernel over" in str(k)]


def sums(x, w):
    y = x * w + x
    return fnp.sum(y, 0), fnp.sum(y, 0) * 2


def extremes(x, w):
    y = x * w
    return fnp.max(y, 0), fnp.min(y, 0), fnp.prod(fnp.minimum(y, 1), 0)


def truths(x, w):
    return fnp.any(x > w, 0), fnp.all(x * 2 > w, 0)


def centered(x, w):
    y = x * w
    return y - fnp.sum(y, 0), (y - fnp.max(y, 0)).sum(0)


@in_mode("eager")
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("f", [sums, extremes, truths, centered])
def test_columns_have_the_bits_of_numpy(mode, f, dtype):
    for shape in FEW if dtype in ("u2", "i4", "u8", "i8") else SHAPES:
        x = data(shape, dtype)
        # Routines round sums of float16 once, NumPy each partial sum.
        ulps = 8 if dtype == "f2" else 0
        compare(f, (x, x[0] + x[0].dtype.type(1)), ulps)


@in_mode("eager")
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_sums_of_complex_numbers(mode, dtype):
    for shape in SHAPES:
        x = data(shape, dtype)
        compare(lambda x: (fnp.sum(x + 1, 0), x - fnp.sum(x + 1, 0)), (x,), 0)


def normalized(x):
    return (x - fnp.mean(x, 0)) / fnp.sqrt(fnp.var(x, 0) + 1e-3)


def softmax(x):
    e = fnp.exp(x - fnp.max(x, 0))
    return e / fnp.sum(e, 0)


PROGRAMS = [
    normalized,
    softmax,
    fg.grad(lambda x: (normalized(x) ** 3).sum()),
    fg.grad(lambda x: (softmax(x) ** 2).sum()),
    lambda x: (fnp.tanh(x), (1 - fnp.tanh(x) ** 2).sum(0)),
    lambda x: fnp.sum(x * fnp.arange(x.shape[0])[:, None] + fnp.arange(x.shape[1]), 0),
    lambda x: fnp.sum(fnp.roll(x, 3, 1) * x, 0),
    lambda x: fnp.sum(fnp.concatenate([x, x * 2], 0) + 1, 0),
    lambda x: fnp.sum(x[1:] - x[:-1] * 2, 0),
    lambda x: fnp.sum((x - fnp.sum(x * 2, 0)) * x[::-1], 0),
]


@in_mode("eager")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", PROGRAMS, ids=range(len(PROGRAMS)))
def test_programs_of_columns(mode, f, dtype):
    shapes = [(70, 41), (20, 300), (300, 16), (40, 9000)]
    for shape in shapes if dtype == "f8" else shapes[1::2]:
        x = np.sin(np.arange(np.prod(shape))).reshape(shape).astype(dtype)
        compare(f, (x,), 300)
    assert any("reduce" in str(k) for k in kernels(f, x))


@in_mode("eager")
@pytest.mark.parametrize("axis", [1, 2, (0, 1), (0, 2), (1, 3), (0, 2, 3), (0, 1, 2)])
def test_any_axes(mode, axis):
    x = RNG.normal(size=(6, 7, 8, 19))
    f = lambda x: fnp.sum(x * x + 1, axis)
    assert any("reduce_sum" in str(k) for k in kernels(f, x))
    compare(f, (x,), 8)
    g = lambda x: (x - fnp.mean(x, axis, keepdims=True)) * fnp.max(x * 2, axis, keepdims=True)
    compare(g, (x,), 8)


@in_mode("eager")
@pytest.mark.parametrize("layout", [n for n in rk.LAYOUTS if n != "C"])
def test_operands_that_lie_anyhow(mode, layout):
    x = rk.LAYOUTS[layout](RNG.normal(size=(50, 37)))
    compare(lambda x: fnp.sum(x * 3 + 1, 0), (x,), 4)
    compare(lambda x: normalized(x[:, ::2]), (x,), 64)


@in_mode("eager")
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_no_elements(mode, shape):
    compare(lambda x: fnp.sum(x * 3 + 1, 0), (np.ones(shape),), 0)


@in_mode("eager")
def test_nans_infinities_and_zeros(mode):
    x = RNG.normal(size=(40, 37))
    x[3, 4], x[5, 6], x[7, 36], x[:, 9] = np.nan, np.inf, -np.inf, -0.0
    compare(lambda x: (fnp.sum(x * 1, 0), fnp.max(-x, 0), fnp.min(x * 1, 0)), (x,), 0)
    assert not np.signbit(fg.jit(lambda x: fnp.sum(x * 1, 0))(x)[9])


@in_mode("eager")
@pytest.mark.parametrize("place", [(0, 0), (20, 36), (49, 16)])
def test_warnings_are_those_of_numpy(mode, place):
    x = np.ones((50, 37))
    g = fg.jit(lambda x: fnp.sum(1 / x + x, 0))
    assert np.all(g(x) == 100)
    x[place] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert g(x)[place[1]] == np.inf
    x[place] = 1e300  # beyond what the sine of kernels takes
    h = lambda x: fnp.sum(fnp.sin(x) + x * 0, 0)
    np.testing.assert_array_equal(fg.jit(h)(x), np.sum(np.sin(x) + x * 0, 0))


def turned(kernel):
    """Return a kernel whose outputs of elements have the axes of rows last."""
    ndim = len(kernel.space)
    axes = (*range(kernel.rows, ndim), *range(kernel.rows))
    outputs = []
    for output in kernel.outputs:
        if output.of_elements:
            shape = tuple([kernel.space[a] for a in axes])
            type_ = ArrayType(shape, output.type.dtype)
            output = Output(output.node, type_, True, None, axes)
        outputs.append(output)
    return type(kernel)(
        kernel.space, kernel.rows, kernel.operands, kernel.nodes, tuple(outputs)
    ).check()


@pytest.mark.parametrize("seed", range(8))
def test_random_kernels_in_columns(seed, monkeypatch):
    """Tiles are narrow, so that there are several, and some that are narrower."""
    monkeypatch.setattr(columns, "TILE", 64 << seed % 3)
    rng = np.random.default_rng(1000 + seed)
    drawn = []
    while len(drawn) < 6:
        kernel, arguments = rk.random_kernel(rng)
        kernel = turned(kernel)
        if in_columns(kernel):
            drawn.append((kernel, arguments))
    functions = host_kernels.compile_kernels([kernel for kernel, _ in drawn])
    for (kernel, arguments), function in zip(drawn, functions, strict=True):
        expected, found = rk.outcomes(kernel, function, arguments)
        assert found is not None, "a floating-point error came up"
        for x, y in zip(found, expected, strict=True):
            rk.assert_equal_bits(x, y)


@pytest.mark.skipif(os.name != "posix", reason="no threads of POSIX")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@in_mode("eager")
def test_any_number_of_threads_gives_the_same(mode, dtype, monkeypatch):
    monkeypatch.setattr(llvm_threads, "PART", 1)
    monkeypatch.setattr(columns, "SHARED", 1)
    shapes = [(50, 1000), (50, 1003), (4, 30, 70), (1000, 20)]
    for shape in shapes if dtype == "f4" else shapes[1::2]:
        x = data(shape, dtype)
        for f in (lambda x: fnp.sum(fnp.sin(x) + x, -2), softmax):
            found = []
            for number in ("1", "2", "3"):
                monkeypatch.setenv("FUNGRAD_NUM_THREADS", number)
                found.append(fg.jit(lambda x: f(x))(x))  # noqa: B023
            np.testing.assert_array_equal(found[0], found[1])
            np.testing.assert_array_equal(found[0], found[2])
