"""Conversions, rounding to fewer bits, choices and Fourier transforms of `lax`."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from tests.numpy.checker import check_function

X = np.array([[0.3, -0.7, 1.9], [2.2, -1.4, 0.6]])
Y = np.array([[1.2, 0.4, -0.8], [0.9, 2.5, -1.1]])
Z = X + 1j * Y
WHICH = np.array([[0, 1, 2], [2, 5, -1]])
TRACED = ("known", "jit", "vmap", "jvp", "vjp")


@pytest.mark.parametrize(
    ("function", "oracle", "args"),
    [
        (lax.clamp, lambda lo, x, hi: np.clip(x, lo, hi), (Y - 1, X, Y)),
        (lambda x: lax.clamp(-0.5, x, 1.0), lambda x: np.clip(x, -0.5, 1.0), (X,)),
        (lambda x: lax.clamp(1.0, x, -1.0), lambda x: np.full_like(x, -1.0), (X,)),
        (lax.select, np.where, (X > 0, X, Y)),
        (lambda x, y: lax.select(True, x, y), lambda x, y: x, (X, Y)),
        (lax.select_n, lambda p, x, y: np.where(p, y, x), (X > 0, X, Y)),
        (lax.select_n, lambda w, *c: np.choose(w, c, mode="clip"), (WHICH, X, Y, X * Y)),
        (lambda x, y: lax.select_n(1, x, y), lambda x, y: y, (X, Y)),
        (
            lambda x: lax.convert_element_type(x, np.float64),
            lambda x: x.astype(np.float64),
            (np.arange(3),),
        ),
        (lambda x: lax.fft(x, "FFT", (2, 3)), np.fft.fft2, (Z,)),
        (lambda x: lax.fft(x, "RFFT", (3,)), np.fft.rfft, (X,)),
        (lambda x: lax.fft(x, lax.FftType.IRFFT, (5,)), lambda x: np.fft.irfft(x, 5), (Z,)),
        (lambda x: lax.fft(x, "IFFT", ()), np.copy, (Z,)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_values_and_derivatives(function, oracle, args):
    check_function(function, oracle, args, rtol=1e-13, checks=TRACED)
    np.testing.assert_allclose(function(*args), oracle(*args), rtol=1e-14)


def test_conversions_of_dtypes():
    np.testing.assert_array_equal(lax.convert_element_type(np.array([1.7, -1.7]), int), [1, -1])
    assert lax.convert_element_type(Z, np.float32).dtype == np.float32
    assert lax.convert_element_type(2, np.complex64).dtype == np.complex64
    np.testing.assert_array_equal(fg.jit(lambda x: lax.convert_element_type(x, bool))(X), X != 0)
    x = X.copy()
    lax.convert_element_type(x, x.dtype)[0] = 0  # an array of its own
    np.testing.assert_array_equal(x, X)
    slope = fg.grad(lambda x: lax.convert_element_type(x, np.float32).sum())(X)
    assert slope.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.int8, np.float32])
def test_bits(dtype):
    found = lax.bitcast_convert_type(X, dtype)
    np.testing.assert_array_equal(found, X[..., None].view(dtype).reshape(found.shape))
    back = lax.bitcast_convert_type(found, np.float64)
    np.testing.assert_array_equal(back, X)
    cast = lambda x: lax.bitcast_convert_type(x, dtype)
    for f in (fg.jit(cast), fg.vmap(cast), fg.vmap(cast, 1, 1)):
        np.testing.assert_array_equal(f(X), found)
    assert lax.bitcast_convert_type(1.0, dtype).shape == found.shape[2:]
    assert lax.bitcast_convert_type(X[:0], dtype).shape == (0, *found.shape[1:])


def test_results_are_arrays_of_their_own():
    for f in (
        lambda x: lax.bitcast_convert_type(x, np.int64),
        lambda x: lax.select_n(0, x),
        lambda x: lax.real(x + 0j),
        lambda x: lax.clamp(-9.0, x, 9.0),
    ):
        assert not np.shares_memory(f(X), X)
        assert f(X).flags.writeable


def test_reduced_precision():
    x = np.array([3.14159, 1e5, 1e-9, -1e5, np.nan, -np.inf])
    expected = [np.float16(3.14159), np.inf, 0, -np.inf, np.nan, -np.inf]
    np.testing.assert_array_equal(lax.reduce_precision(x, 5, 10), expected)
    for f in (X, X.astype(np.float32)):
        half = f.astype(np.float16).astype(f.dtype)
        np.testing.assert_array_equal(lax.reduce_precision(f, 5, 10), half)
    small = np.array([0.1, 65504, 6e-5, -2.0], np.float16)
    np.testing.assert_array_equal(lax.reduce_precision(small, 5, 10), small)
    np.testing.assert_array_equal(lax.reduce_precision(small, 8, 23), small)
    slope = fg.grad(lambda x: (lax.reduce_precision(x, 5, 2) ** 2).sum())(X)
    np.testing.assert_array_equal(slope, 2 * lax.reduce_precision(X, 5, 2))


def test_stop_gradient():
    assert fg.grad(lambda x: x * lax.stop_gradient(x))(3.0) == 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.clamp(0, X, 1.0), None, ""),
        (lambda: lax.clamp(X[0], X, 1.0), TypeError, "bounds of the shape of x or without axes"),
        (lambda: lax.clamp(np.float32(0), X, 1.0), TypeError, "one dtype, got min: float32"),
        (lambda: lax.select(1, X, Y), TypeError, "pred holds booleans, got int64"),
        (lambda: lax.select(True, 1.0, Y), TypeError, "cases of one shape"),
        (lambda: lax.select(True, X, Y.astype("f4")), TypeError, "one dtype, got case 0: float32"),
        (lambda: lax.select_n(1.5, X, Y), TypeError, "which holds booleans or integers"),
        (lambda: lax.select_n(True, X, Y, X), TypeError, "choose among two cases, got 3"),
        (lambda: lax.select_n(0), ValueError, "needs a case"),
        (lambda: lax.select_n([0, 1], X[0]), TypeError, "which is a list"),
        (lambda: lax.convert_element_type(X, None), TypeError, "new_dtype is a dtype of numbers"),
        (lambda: lax.convert_element_type(X, "U3"), TypeError, "new_dtype is a dtype of numbers"),
        (lambda: lax.bitcast_convert_type(Z, float), TypeError, "booleans and complex numbers"),
        (
            lambda: lax.bitcast_convert_type(X.astype("f4"), "f8"),
            ValueError,
            r"last axis of operand must have length 2; got float32\[2,3\]",
        ),
        (lambda: lax.reduce_precision(X, 0, 3), ValueError, "exponent_bits must be positive"),
        (lambda: lax.reduce_precision(X, 3, -1), ValueError, "mantissa_bits is negative: -1"),
        (lambda: lax.fft(Z, "DCT", (3,)), ValueError, "fft_type is one of"),
        (lambda: lax.fft(Z, "FFT", (4,)), ValueError, r"last axes have lengths \[4\], got"),
        (lambda: lax.fft(X, "FFT", (3,)), TypeError, "lax.fft takes complex numbers"),
    ],
)
def test_what_is_refused(call, error, message):
    if error is None:
        call()
        return
    with pytest.raises(error, match=message):
        call()


def test_names_that_are_left_out():
    with pytest.raises(AttributeError, match=r"fungrad.lax has no 'sin_p': .* call the function"):
        lax.sin_p
    with pytest.raises(AttributeError, match=r"no 'optimization_barrier': it directs XLA"):
        lax.optimization_barrier
    with pytest.raises(AttributeError, match=r"no attribute 'lgama'; did you mean 'lgamma'"):
        lax.lgama
    assert {"lgamma", "sin", "fft"} <= set(dir(lax))
