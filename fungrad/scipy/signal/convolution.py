"""Convolution and correlation along any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal
from numpy.lib.array_utils import normalize_axis_tuple

from fungrad.numpy.dispatch import implements
from fungrad.numpy.fft import fftn, ifftn, irfftn, rfftn
from fungrad.numpy.promotion import as_tracer, cast, promote, standin
from fungrad.primitives.filters import Correlate, reversed_tail
from fungrad.primitives.filters import convolve as full_convolution
from fungrad.scipy.mirrors import mirrors

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve"]

_MODES = ("full", "same", "valid")


def _checked(mode: Any) -> None:
    if mode not in _MODES:
        raise ValueError("Acceptable mode flags are 'valid', 'same', or 'full'.")


def _pair(in1: Any, in2: Any) -> tuple[Any, Any]:
    x, y = as_tracer(in1), as_tracer(in2)
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    return x, y


def _larger_first(x: Any, y: Any, axes: Sequence[int]) -> bool:
    """Whether `x` is as large as `y` along all axes; raise if neither is of the two."""
    if all(x.shape[a] >= y.shape[a] for a in axes):
        return True
    if all(x.shape[a] <= y.shape[a] for a in axes):
        return False
    raise ValueError(
        "For 'valid' mode, one must be at least as large as the other in every dimension"
    )


def _reversed_conjugate(y: Any) -> Any:
    y = np.conjugate(y) if y.dtype.kind == "c" else y
    return reversed_tail(y, y.ndim)


def margins(taps: Sequence[int], mode: str) -> list[tuple[int, int]]:
    """Return how far a kernel reaches out of an array in front and behind, for each axis."""
    if mode == "full":
        return [(m - 1, m - 1) for m in taps]
    if mode == "same":
        return [(m - 1 - (m - 1) // 2, (m - 1) // 2) for m in taps]
    return [(0, 0) for _ in taps]


def _direct(x: Any, y: Any, mode: str) -> Any:
    x, y = promote(x, y)
    if not x.size or not y.size:
        raise ValueError("convolve: an array of no elements has no convolution")
    if mode == "full":
        return full_convolution(x, y, x.ndim)
    if mode == "same":
        starts = [(m - 1) // 2 for m in y.shape]
        return full_convolution(x, y, x.ndim)[
            tuple([slice(i, i + n) for i, n in zip(starts, x.shape, strict=True)])
        ]
    if not _larger_first(x, y, range(x.ndim)):
        x, y = y, x
    return Correlate(x.ndim)(x, reversed_tail(y, x.ndim))


@implements(scipy.signal.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    x, y = _pair(in1, in2)
    _checked(mode)
    if x.ndim == 0:
        return x * y
    if not x.size or not y.size:
        return np.zeros(0)
    if axes is None:
        along = list(range(x.ndim))
    else:
        along = list(normalize_axis_tuple(axes, x.ndim, "axes"))
        if not along:
            raise ValueError("when provided, axes cannot be empty")
    along = [a for a in along if x.shape[a] != 1 and y.shape[a] != 1]
    for a in set(range(x.ndim)) - set(along):
        if x.shape[a] != y.shape[a] and 1 not in (x.shape[a], y.shape[a]):
            shapes = f"{x.shape} and {y.shape}"
            raise ValueError(f"incompatible shapes for in1 and in2: {shapes}")
    if mode == "valid" and not _larger_first(x, y, along):
        x, y = y, x
    x, y = (cast(z, np.dtype(float)) if z.dtype.kind in "iu" else z for z in (x, y))
    return _cropped(_by_spectra(x, y, along), x, y, mode, along)


def _by_spectra(x: Any, y: Any, axes: list[int]) -> Any:
    """Return the full convolution: the convolution theorem."""
    if not axes:
        return x * y
    lengths = [x.shape[a] + y.shape[a] - 1 for a in axes]
    is_real = x.dtype.kind != "c" and y.dtype.kind != "c"
    forward, back = (rfftn, irfftn) if is_real else (fftn, ifftn)
    fast = [scipy.fft.next_fast_len(n, is_real) for n in lengths]
    convolved = back(forward(x, fast, axes) * forward(y, fast, axes), fast, axes)
    index = [slice(None)] * convolved.ndim
    for a, n in zip(axes, lengths, strict=True):
        index[a] = slice(n)
    return convolved[tuple(index)]


def _cropped(full: Any, x: Any, y: Any, mode: str, axes: list[int]) -> Any:
    if mode == "full":
        return full
    index = []
    for a, n in enumerate(full.shape):
        kept = x.shape[a] if mode == "same" else n
        if mode == "valid" and a in axes:
            kept = x.shape[a] - y.shape[a] + 1
        start = (n - kept) // 2
        index.append(slice(start, start + kept))
    return full[tuple(index)]


@implements(scipy.signal.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Traced, by one transform and not by overlapping pieces."""
    return fftconvolve(in1, in2, mode, axes)


@implements(scipy.signal.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The method is chosen by the sizes, as SciPy does."""
    x, y = _pair(in1, in2)
    _checked(mode)
    if x.ndim == 0:
        return x * y
    if mode == "valid" and not _larger_first(x, y, range(x.ndim)):
        x, y = y, x
    if method == "auto":
        method = scipy.signal.choose_conv_method(standin(x), standin(y), mode)
    if method == "direct":
        return _direct(x, y, mode)
    if method != "fft":
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    dtype = np.result_type(x.dtype, y.dtype)
    convolved = as_tracer(fftconvolve(x, y, mode))
    return cast(np.round(convolved) if dtype.kind in "iu" else convolved, dtype)


@implements(scipy.signal.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    x, y = _pair(in1, in2)
    return convolve(x, _reversed_conjugate(y), mode, method)


# Two axes, with a boundary

_BOUNDARIES = {
    "fill": "constant",
    "pad": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "symmetric",
    "symmetric": "symmetric",
}


def _slid(x: Any, taps: Any, mode: str, boundary: str, fillvalue: Any, flip: bool) -> Any:
    """Slide `taps`, reversed if `flip`, over `x`, which its boundary continues."""
    _checked(mode)
    if boundary not in _BOUNDARIES:
        raise ValueError(
            "Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm')."
        )
    x, taps = promote(x, taps)
    reach = margins(taps.shape, mode)
    if not flip:
        reach = [(high, low) for low, high in reach]
    padding = _BOUNDARIES[boundary]
    constant = {"constant_values": fillvalue} if padding == "constant" else {}
    extended = np.pad(x, reach, padding, **constant)  # type: ignore[call-overload]
    return Correlate(2)(extended, reversed_tail(taps, 2) if flip else taps)


def _planes(name: str, in1: Any, in2: Any, mode: str) -> tuple[Any, Any, bool]:
    """Return the operands and whether they have changed places, as the smaller one slides."""
    x, y = as_tracer(in1), as_tracer(in2)
    if not x.ndim == y.ndim == 2:
        raise ValueError(f"{name} inputs must both be 2-D arrays")
    swapped = mode == "valid" and not _larger_first(x, y, (0, 1))
    return (y, x, True) if swapped else (x, y, False)


@mirrors(scipy.signal.convolve2d)
def convolve2d(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    x, y, _ = _planes("convolve2d", in1, in2, mode)
    return _slid(x, y, mode, boundary, fillvalue, True)


@mirrors(scipy.signal.correlate2d)
def correlate2d(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    x, y, swapped = _planes("correlate2d", in1, in2, mode)
    y = np.conjugate(y) if y.dtype.kind == "c" else y
    correlated = _slid(x, y, mode, boundary, fillvalue, False)
    return correlated[::-1, ::-1] if swapped else correlated
