"""Which library computes what once a program has its kernels: the same results, but for rounding."""

import contextlib
import warnings

import numpy as np
import pytest
import scipy.fft

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import libraries
from fungrad.compile.libraries import LEAST, SHARED, Fourier, with_libraries
from fungrad.compile.native import schedule_with_kernels
from fungrad.core.config import compilation
from tests.compile.compiling import compare, in_mode, needs_compiler

RNG = np.random.default_rng(8)
N = LEAST


def numbers(*shape, dtype="f4"):
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if dtype in "FD" else x).astype(dtype)


@contextlib.contextmanager
def compilation_as(mode):
    token = compilation.set(mode)
    try:
        yield
    finally:
        compilation.reset(token)


def transforms(function, *args):
    """Return the transforms that are computed by another function than NumPy's."""
    found = with_libraries(fg.jit(function).lower(*args).simplified).check()
    return [e.primitive.transform.name for e in found.equations if isinstance(e.primitive, Fourier)]


CASES = {
    "rfft": (fnp.fft.rfft, numbers(N)),
    "rfft of rows": (fnp.fft.rfft, numbers(40, 111)),
    "rfft of columns": (lambda x: fnp.fft.rfft(x, axis=0, norm="ortho"), numbers(70, 64)),
    "fft": (fnp.fft.fft, numbers(N, dtype="F")),
    "fft of real numbers": (lambda x: fnp.fft.fft(x, norm="forward"), numbers(N + 3)),
    "fft2": (fnp.fft.fft2, numbers(3, 64, 33, dtype="F")),
    "padded": (lambda x: fnp.fft.rfft(x, N), numbers(50)),
    "of each matrix": (lambda x: fnp.fft.fftn(x, axes=(2, 0)), numbers(17, 16, 16, dtype="F")),
}


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_single_precision_stays_single(name):
    function, x = CASES[name]
    assert transforms(function, x)
    with compilation_as("eager"):
        found = fg.jit(function)(x)
    exact = function(x.astype(np.result_type(x.dtype, "f8")))
    expected = function(x)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.strides == expected.strides
    # Higham 2002, theorem 24.2: the error of a radix-2 transform grows with the logarithm of its length.
    difference = np.linalg.norm((found - exact).ravel()) / np.linalg.norm(exact.ravel())
    assert difference < 0.2 * np.log2(x.size) * np.finfo("f4").eps


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (fnp.fft.rfft, numbers(N - 1)),  # few
        (fnp.fft.rfft, numbers(N, dtype="d")),  # NumPy's own precision
        (fnp.fft.fft, numbers(N, dtype="D")),
        (fnp.fft.ifft, numbers(N, dtype="F")),  # which NumPy scales, and so computes as it is
        (fnp.fft.irfft, numbers(N, dtype="F")),
        (fnp.fft.rfft, numbers(N).astype(np.longdouble)),
    ],
)
def test_others_are_numpys(function, x):
    assert not transforms(function, x)


@needs_compiler
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_stacks_are_shared_among_threads(dtype, monkeypatch):
    monkeypatch.setattr(libraries.host, "threads", lambda: 2)
    x = numbers(512, SHARED // 512, dtype=dtype)
    rows = lambda x: fnp.fft.irfft(fnp.fft.ifft(fnp.fft.rfft(x), axis=0), norm="ortho")
    assert transforms(rows, x) == ["rfft"]  # half the frequencies are too few
    twice = np.concatenate([x, x])
    assert transforms(rows, twice) == ["rfft", "fft", "irfft"]
    assert "workers=2" in called_with(monkeypatch, rows, twice)
    compare(rows, (twice,), 20)
    assert transforms(fnp.fft.rfft, x.ravel()) == (["rfft"] if dtype == "f" else [])
    monkeypatch.setattr(libraries.host, "threads", lambda: 1)
    assert transforms(rows, twice) == (["rfft"] if dtype == "f" else [])


def called_with(monkeypatch, function, x):
    """Return how SciPy's transform of real numbers is called, as text."""
    calls, rfft = [], scipy.fft.rfft

    def watched(*args, **options):
        calls.append(", ".join(f"{name}={value}" for name, value in options.items()))
        return rfft(*args, **options)

    with monkeypatch.context() as patch, compilation_as("eager"):
        patch.setattr(scipy.fft, "rfft", watched)
        fg.jit(function)(x)
    (call,) = calls
    return call


@needs_compiler
@in_mode("eager")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("function", [fnp.fft.rfft, fnp.fft.fft])
def test_numpy_computes_and_warns_of_what_is_not_finite(function, value, mode, made):
    x = np.ones(N, "f4")
    g = fg.jit(function)
    g(x)
    x[5:9] = value
    with warnings.catch_warnings(record=True) as expected, compilation_as("off"):
        warnings.simplefilter("always")
        wanted = fg.jit(lambda x: function(x))(x)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found = g(x)
    np.testing.assert_array_equal(found, wanted)
    assert [(w.category, str(w.message)) for w in given] == [
        (w.category, str(w.message)) for w in expected
    ]
    assert made[-1].failures == 1
    g(np.ones(N, "f4"))
    assert made[-1].failures == 0


@needs_compiler
@pytest.mark.parametrize(
    "order", [np.asfortranarray, lambda x: x[::-1], lambda x: x.T, lambda x: x[:, ::2]]
)
def test_results_lie_as_numpys(order):
    x = order(numbers(80, 120))
    for function in (fnp.fft.rfft, fnp.fft.fft, lambda x: fnp.fft.fft(x, axis=0)):
        expected = function(x)
        with compilation_as("eager"):
            found = fg.jit(function)(x)
        assert found.strides == expected.strides
        np.testing.assert_array_equal(found, expected)


@needs_compiler
def test_gradients_batches_and_loops():
    def loss(x):
        return fnp.sum(fnp.abs(fnp.fft.rfft(x) * fnp.fft.rfft(fnp.sin(x))) ** 2) / x.size**2

    x = numbers(N)
    compare(fg.grad(loss), (x,), 60)
    compare(fg.vmap(loss), (numbers(3, N),), 60)
    step = lambda c, w: (fnp.fft.fft(c) * w, fnp.real(c))
    scale = np.full(3, N**-0.5, "f4")
    compare(lambda c, w: fg.lax.scan(step, c, w), (numbers(N, dtype="F"), scale), 60)


def test_programs_without_transforms_are_left_alone():
    expr = fg.jit(lambda x: fnp.sin(x) @ x).lower(numbers(N)).simplified
    assert with_libraries(expr) is expr
    _, kernels = schedule_with_kernels(fg.jit(fnp.fft.rfft).lower(numbers(N)).simplified)
    assert not kernels


def test_meaning():
    for transform, x in (
        (fnp.fft.rfft, numbers(7, 9)),
        (fnp.fft.fft2, numbers(6, 5, dtype="F")),
        (fnp.fft.ifft, numbers(7, dtype="D")),
        (lambda x: fnp.fft.irfft(x, 9), numbers(3, 5, dtype="F")),
    ):
        (equation,) = fg.jit(transform).lower(x).simplified.equations
        found = Fourier(equation.primitive).impl(np, x)
        expected = equation.primitive.impl(np, x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
