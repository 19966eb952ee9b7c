"""Discrete convolution, and windows for signals."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import apply, as_tracer, cast, promote, strong
from fungrad.primitives.filters import Correlate, reversed_tail
from fungrad.primitives.filters import convolve as full_convolution
from fungrad.primitives.slices import slice_axis

# Convolution


def _line(x: Any) -> Any:
    array = np.atleast_1d(strong(x))
    if array.ndim > 1:
        raise ValueError("object too deep for desired array")
    return array


def _slid(a: Any, v: Any, mode: Any, later: bool) -> Any:
    """Return the convolution of two lines that are not empty.

    Where an even number of places is left out in front and behind for "same", the odd one is left out in
    front if `later`, else behind.
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    a, v = promote(a, v)
    if mode == "full":
        return full_convolution(a, v, 1)
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    if mode == "same":
        last = v.shape[0] - 1
        start = last // 2 + (last % 2 and later)
        return slice_axis(full_convolution(a, v, 1), 0, start, start + a.shape[0])
    return Correlate(1)(a, reversed_tail(v, 1))


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    x, y = _line(a), _line(v)
    for name, array in (("a", x), ("v", y)):
        if not len(array):
            raise ValueError(f"{name} cannot be empty")
    return _slid(x, y, mode, later=False)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    x, y = _line(a), _line(v)
    for name, array in (("first", x), ("second", y)):
        if not len(array):
            raise ValueError(f"{name} array argument cannot be empty")
    y = np.conjugate(y) if y.dtype.kind == "c" else y
    return _slid(x, y[::-1], mode, later=len(x) < len(y))


# Windows


@implements(np.i0, zero_d=True)
def i0(x: Any) -> Any:
    # Here, because it imports scipy.special, and this module is imported with all lazy ones.
    from fungrad.primitives.bessel import i0 as bessel_i0

    array = as_tracer(x)
    if array.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if array.dtype.kind != "f":
        array = cast(array, np.dtype(np.float64))
    return cast(apply(bessel_i0, (array,)), array.dtype)  # SciPy's has no loop for float16


def _window(function: Any) -> Any:
    """Return a window of NumPy whose length may be a traced integer of known value."""

    @implements(function, creates=True)
    def window(M: Any) -> Any:
        return as_tracer(function(operator.index(M)))

    return window


bartlett = _window(np.bartlett)
blackman = _window(np.blackman)
hamming = _window(np.hamming)
hanning = _window(np.hanning)


@implements(np.kaiser, creates=True)
def kaiser(M: Any, beta: Any) -> Any:
    """Differentiable in `beta`."""
    n = operator.index(M)
    shape = cast(as_tracer(beta), np.dtype(np.float64))
    if n <= 1:
        return np.ones(max(n, 0)) + np.zeros_like(shape)
    middle = (n - 1) / 2.0
    height = np.sqrt(1 - ((np.arange(n) - middle) / middle) ** 2.0)
    return np.i0(shape * height) / np.i0(shape)
