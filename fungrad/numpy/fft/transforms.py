"""The Fourier transforms: those of one axis, and of several, one axis after the other."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer
from fungrad.core.types import kind_of
from fungrad.numpy.creation import asarray
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.extended import extends
from fungrad.numpy.promotion import as_tracer, cast
from fungrad.primitives.elementwise import real_dtype
from fungrad.primitives.fft import FFT, SWAPPED, InverseRealFFT, RealFFT
from fungrad.primitives.slices import pad

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def checked_norm(norm: Any) -> str:
    """Return the normalization of a transform; None is the usual one."""
    norm = "backward" if norm is None else norm
    if norm not in SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return str(norm)


def _complex(x: Tracer) -> Tracer:
    return cast(x, np.result_type(x.dtype, 1j))  # type: ignore[no-any-return]


def _at_least_single(x: Tracer) -> Tracer:
    """Return real numbers in the precision in which NumPy transforms them."""
    return cast(x, real_dtype(np.result_type(x.dtype, 1j)))  # type: ignore[no-any-return]


def resized(x: Tracer, axes: Sequence[int], lengths: Sequence[int]) -> Tracer:
    """Return `x` with zeros behind it, or cut off, so that `axes` have these lengths."""
    high = [0] * x.ndim
    for axis, n in zip(axes, lengths, strict=True):
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        high[axis] = n - x.shape[axis]
    return pad(x, [0] * x.ndim, high)  # type: ignore[no-any-return]


def _axis(x: Tracer, n: Any, axis: Any) -> tuple[int, int]:
    """Return the axis and the length of a transform; None is that of the axis."""
    axis = normalize_axis_index(axis, x.ndim)
    return axis, x.shape[axis] if n is None else operator.index(n)


def _axes(x: Tracer, s: Any, axes: Any, half: bool = False) -> tuple[list[int], list[int]]:
    """Return the axes of a transform of several, and their lengths.

    Without `s`, the last length is that of which `half` of the frequencies are given.
    """
    given = s is not None
    if axes is None:
        if given:
            message = "`axes` should not be `None` if `s` is not `None` (Deprecated in NumPy 2.0)"
            warnings.warn(message, DeprecationWarning, stacklevel=3)
        axes = range(-len(s) if given else -x.ndim, 0)
    axes = [normalize_axis_index(a, x.ndim) for a in axes]
    lengths = list(s) if given else [x.shape[a] for a in axes]
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if half and not given:
        lengths[-1] = (x.shape[axes[-1]] - 1) * 2
    if None in lengths:
        message = "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        default = [x.shape[a] for a in axes]
        if half:
            default[-1] = (default[-1] - 1) * 2
        lengths = [d if n is None else n for n, d in zip(lengths, default, strict=True)]
    lengths = [operator.index(n) for n in lengths]
    return axes, [x.shape[a] if n == -1 else n for n, a in zip(lengths, axes, strict=True)]


def _transformed(x: Tracer, axes: list[int], lengths: list[int], inverse: bool, norm: Any) -> Any:
    norm = checked_norm(norm)
    if not axes:
        return x
    x = x if x.dtype.kind == "c" else _at_least_single(x)
    if len({*axes}) == len(axes):
        return FFT(tuple(axes), inverse, norm)(resized(x, axes, lengths))
    for axis, n in zip(axes[::-1], lengths[::-1], strict=True):  # an axis may occur twice
        x = FFT((axis,), inverse, norm)(resized(x, [axis], [n]))
    return x


def _from_half(x: Any, axis: int, n: int, norm: Any) -> Any:
    dtype = np.result_type(real_dtype(x.dtype), 1.0)  # of the result: float16 for float16
    x = resized(_complex(x), [axis], [n // 2 + 1 if n > 0 else n])
    return cast(InverseRealFFT(axis, n, checked_norm(norm))(x), dtype)


def _real(x: Tracer, name: str) -> Tracer:
    if x.dtype.kind == "c":
        raise TypeError(
            f"{name} takes real numbers, and these are {x.dtype}: give x.real, or use fft"
        )
    return _at_least_single(x)


def _real_fft(x: Tracer, axis: int, n: int, norm: Any, name: str) -> Any:
    x = resized(_real(x, name), [axis], [n])
    return RealFFT(axis, checked_norm(norm))(x)


# One axis


def _one_axis(numpy_function: Any, inverse: bool) -> Any:
    def rule(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        x = as_tracer(a)
        axis, n = _axis(x, n, axis)
        return _transformed(x, [axis], [n], inverse, norm)

    return implemented(rule, numpy_function)


fft, ifft = _one_axis(np.fft.fft, False), _one_axis(np.fft.ifft, True)


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    x = as_tracer(a)
    return _real_fft(x, *_axis(x, n, axis), norm, "rfft")


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    x = as_tracer(a)
    axis, length = _axis(x, n, axis)
    return _from_half(x, axis, 2 * (length - 1) if n is None else length, norm)


# Of Hermitian signals: the other way around


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return irfft(np.conjugate(as_tracer(a)), n, axis, SWAPPED[checked_norm(norm)])


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    x = as_tracer(a)
    spectrum = _real_fft(x, *_axis(x, n, axis), SWAPPED[checked_norm(norm)], "ihfft")
    return np.conjugate(spectrum)


# Several axes


def _complex_axes(inverse: bool) -> Callable[..., Any]:
    return lambda x, s, axes, norm: _transformed(x, *_axes(x, s, axes), inverse, norm)


def _real_axes(x: Tracer, s: Any, axes: Any, norm: Any) -> Any:
    which, lengths = _axes(x, s, axes)
    x = _real_fft(x, which[-1], lengths[-1], norm, "rfftn")
    return _transformed(x, which[:-1], lengths[:-1], False, norm)


def _half_axes(x: Tracer, s: Any, axes: Any, norm: Any) -> Any:
    which, lengths = _axes(x, s, axes, half=True)
    if len(which) > 1:
        x = _transformed(x, which[:-1], lengths[:-1], True, norm)
    return _from_half(x, which[-1], lengths[-1], norm)


def _several_axes(transform: Any, numpy_function: Any, default: tuple[int, int] | None) -> Any:
    def rule(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Any:
        return transform(as_tracer(a), s, axes, norm)

    return implemented(rule, numpy_function)


fftn = _several_axes(_complex_axes(False), np.fft.fftn, None)
fft2 = _several_axes(_complex_axes(False), np.fft.fft2, (-2, -1))
ifftn = _several_axes(_complex_axes(True), np.fft.ifftn, None)
ifft2 = _several_axes(_complex_axes(True), np.fft.ifft2, (-2, -1))
rfftn = _several_axes(_real_axes, np.fft.rfftn, None)
rfft2 = _several_axes(_real_axes, np.fft.rfft2, (-2, -1))
irfftn = _several_axes(_half_axes, np.fft.irfftn, None)
irfft2 = _several_axes(_half_axes, np.fft.irfft2, (-2, -1))

# The order of the frequencies


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    x = as_tracer(x)
    if axes is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axes, (int, np.integer)):
        axes = (axes,)
    return np.roll(x, [sign * (x.shape[a] // 2) for a in axes], tuple(axes))


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, -1)


def _frequencies(numpy_function: Any) -> Any:
    def rule(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
        """Differentiable in the sample spacing `d`.

        `dtype` is that of the result, of real floating numbers: NumPy's functions do not have it yet.
        """
        if dtype is not None:
            return _in_dtype(np.dtype(dtype), n, d, device)
        counted = np.rint(numpy_function(n, 1.0 / n, device=device))
        return counted * (1.0 / (n * as_tracer(d)))

    def _in_dtype(dtype: np.dtype[Any], n: Any, d: Any, device: Any) -> Any:
        """Return frequencies, computed in a dtype or in a wider one."""
        if kind_of(dtype) != "f":
            raise TypeError(f"{rule.__name__}: dtype is one of real floating numbers, not {dtype}")
        wide = np.result_type(dtype, np.float64)
        return public(n, asarray(d, wide)[()], device).astype(dtype, copy=False)

    public = extends(numpy_function, first="dtype")(rule)
    return public


fftfreq, rfftfreq = _frequencies(np.fft.fftfreq), _frequencies(np.fft.rfftfreq)
