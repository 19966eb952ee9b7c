"""Spectra of segments of a signal: short-time Fourier transforms and what is averaged from them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.signal
from numpy.lib.array_utils import normalize_axis_index

from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import as_tracer, cast
from fungrad.primitives.elementwise import real_dtype
from fungrad.scipy.signal.filters import extension
from fungrad.scipy.signal.segments import Segments, overlap_added

__all__ = ["coherence", "csd", "istft", "periodogram", "spectrogram", "stft", "welch"]


def _doubled(p: Any, nfft: int) -> Any:
    """Return one-sided densities: of all frequencies that stand for two, twice."""
    weights = np.full(nfft // 2 + 1, 2.0, real_dtype(p.dtype))
    weights[0] = 1
    if nfft % 2 == 0:
        weights[-1] = 1
    return p * weights


def _densities(
    x: Any, y: Any, segments: Segments, detrend: Any, onesided: bool, scaling: str
) -> Any:
    """Return the cross spectral densities of all segments along the last axis; `y` may be None."""
    found = segments.spectra(x, detrend, onesided)
    if y is None:
        power = found.real**2 + found.imag**2
    else:
        power = np.conjugate(found) * segments.spectra(y, detrend, onesided)
    power = power * segments.scale(scaling)
    power = _doubled(power, segments.nfft) if onesided else power
    operands = (x,) if y is None else (x, y)
    dtype = np.result_type(*[z.dtype for z in operands], np.complex64)
    return cast(as_tracer(power), real_dtype(dtype) if y is None else dtype)


def _last(x: Any, axis: int, n: int | None = None) -> Any:
    x = np.moveaxis(x, axis, -1)
    if n is not None and n > x.shape[-1]:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])
    return x


def _averaged(p: Any, average: str) -> Any:
    """Return the average over segments, the axis before the last."""
    n = p.shape[-2]
    if n == 1:
        return p[..., 0, :]
    if average == "mean":
        return np.mean(p, -2)
    if average != "median":
        raise ValueError(f"Parameter average={average!r} must be 'median' or 'mean'!")
    # The median of n squares of normal variables is less than their mean by this factor (B. Allen et al.,
    # "FINDCHIRP", Physical Review D 85, 2012, appendix B).
    even = 2 * np.arange(1.0, (n - 1) // 2 + 1)
    bias = 1 + np.sum(1.0 / (even + 1) - 1.0 / even)
    if p.dtype.kind != "c":
        return np.median(p, -2) / bias
    return (np.median(p.real, -2) + 1j * np.median(p.imag, -2)) / bias


def _longest(axis: int, *signals: Any) -> int:
    if any(not x.size for x in signals):
        raise ValueError("a signal of no elements has no spectrum")
    return int(max(x.shape[axis] for x in signals))


def _cross_spectrum(
    x: Any,
    y: Any,
    segments: Segments,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Any, Any]:
    """Return frequencies and averaged cross spectral densities; `y` is None for the power of `x`."""
    given = (x,) if y is None else (x, y)
    n = _longest(axis, *given)
    onesided = return_onesided and all(z.dtype.kind != "c" for z in given)
    rows = [_last(z, axis, n) for z in given]
    second = None if y is None else rows[1]
    wrapped = _on_axis(detrend, axis)
    power = _densities(rows[0], second, segments, wrapped, onesided, scaling)
    return segments.frequencies(onesided), np.moveaxis(_averaged(power, average), -1, axis)


def _on_axis(detrend: Any, axis: int) -> Any:
    """Let a function for detrending see the axis where it is in the signal."""
    if not callable(detrend) or axis == -1:
        return detrend
    return lambda d: np.moveaxis(detrend(np.moveaxis(d, -1, axis)), axis, -1)


@implements(scipy.signal.csd)
def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """Differentiable in the signals and in a window given as an array."""
    first = as_tracer(x)
    second = first if y is x else as_tracer(y)
    segments = Segments(_longest(axis, first, second), fs, window, nperseg, noverlap, nfft)
    other = None if y is x else second
    return _cross_spectrum(first, other, segments, detrend, return_onesided, scaling, axis, average)


@implements(scipy.signal.welch)
def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """Differentiable in the signal and in a window given as an array."""
    signal = as_tracer(x)
    segments = Segments(_longest(axis, signal), fs, window, nperseg, noverlap, nfft)
    return _cross_spectrum(signal, None, segments, detrend, return_onesided, scaling, axis, average)


@implements(scipy.signal.periodogram)
def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> Any:
    signal: Any = as_tracer(x)
    window = "boxcar" if window is None else window
    n = signal.shape[axis]
    if nfft is not None and nfft < n:
        signal = np.moveaxis(np.moveaxis(signal, axis, -1)[..., :nfft], -1, axis)
        n, nfft = nfft, None
    if hasattr(window, "size") and window.size != n:
        raise ValueError(
            "the size of the window must be the same size of the input on the specified axis"
        )
    segments = Segments(n, fs, window, n, 0, nfft)
    return _cross_spectrum(signal, None, segments, detrend, return_onesided, scaling, axis, "mean")


@implements(scipy.signal.coherence)
def coherence(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> Any:
    settings = (fs, window, nperseg, noverlap, nfft, detrend)
    first, second = as_tracer(x), as_tracer(y)
    freqs, pxx = welch(first, *settings, axis=axis)
    _, pyy = welch(second, *settings, axis=axis)
    _, pxy = csd(first, second, *settings, axis=axis)
    return freqs, (pxy.real**2 + pxy.imag**2) / pxx / pyy


# With the segments kept


@implements(scipy.signal.stft)
def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> Any:
    """Differentiable in the signal and in a window given as an array."""
    if scaling not in ("psd", "spectrum"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    if boundary not in ("even", "odd", "constant", "zeros", None):
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: ['even', 'odd', 'constant', 'zeros', None]"
        )
    signal = _last(as_tracer(x), axis)
    segments = Segments(signal.shape[-1], fs, window, nperseg, noverlap, nfft)
    signal = extension(signal, segments.length // 2, boundary)
    if padded:
        missing = (-(signal.shape[-1] - segments.length) % segments.step) % segments.length
        signal = _last(signal, -1, signal.shape[-1] + missing)
    kind = "density" if scaling == "psd" else scaling
    times = segments.times(signal.shape[-1])
    if boundary is not None:
        times = times - segments.length / 2 / fs
    freqs, found = _stacked(signal, segments, detrend, return_onesided, kind, axis)
    return freqs, times, found


def _stacked(
    signal: Any,
    segments: Segments,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
) -> tuple[Any, Any]:
    """Return frequencies and scaled spectra of the last axis, the frequencies along `axis`."""
    onesided = return_onesided and signal.dtype.kind != "c"
    if return_onesided and not onesided:
        message = "Input data is complex, switching to return_onesided=False"
        warnings.warn(message, stacklevel=3)
    spectra = segments.spectra(signal, _on_axis(detrend, axis), onesided)
    scaled = as_tracer(spectra * np.sqrt(segments.scale(scaling)))
    scaled = cast(scaled, np.result_type(signal.dtype, np.complex64))
    return segments.frequencies(onesided), _frequencies_at(scaled, axis)


def _frequencies_at(found: Any, axis: int) -> Any:
    return np.moveaxis(found, -1, axis - 1 if axis < 0 else axis)


@implements(scipy.signal.spectrogram)
def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> Any:
    modes = ["psd", "complex", "magnitude", "angle", "phase"]
    if mode not in modes:
        raise ValueError(f"unknown value for mode {mode}, must be one of {modes}")
    signal = _last(as_tracer(x), axis)
    segments = Segments(signal.shape[-1], fs, window, nperseg, 0, nfft)
    if noverlap is None:
        noverlap = segments.length // 8
    segments = Segments(signal.shape[-1], fs, segments.window, None, noverlap, nfft)
    times = segments.times(signal.shape[-1])
    if mode == "psd":
        onesided = return_onesided and signal.dtype.kind != "c"
        wrapped = _on_axis(detrend, axis)
        power = _densities(signal, None, segments, wrapped, onesided, scaling)
        return segments.frequencies(onesided), times, _frequencies_at(power, axis)
    freqs, found = _stacked(signal, segments, detrend, return_onesided, scaling, axis)
    if mode == "magnitude":
        found = np.abs(found)
    elif mode != "complex":
        found = np.angle(found)
        if mode == "phase":
            found = np.unwrap(found, axis=axis - 1 if axis < 0 else axis)
    return freqs, times, found


@implements(scipy.signal.istft)
def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> Any:
    """Differentiable in the spectra; the window is plain."""
    given: Any = as_tracer(Zxx)
    spectra = given + 0j
    if spectra.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    time_axis, freq_axis = (normalize_axis_index(a, spectra.ndim) for a in (time_axis, freq_axis))
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    if scaling not in ("psd", "spectrum"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    bins = spectra.shape[freq_axis]
    usual = 2 * (bins - 1) if input_onesided else bins
    length = usual if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = length if input_onesided and length == usual + 1 else usual
    if isinstance(window, (str, tuple)):
        window = scipy.signal.get_window(window, length)
    if np.shape(window) != (length,):
        raise ValueError(f"window must have length of {length}")
    segments = Segments(length, fs, np.asarray(window), length, noverlap, nfft)
    inverse = np.fft.irfft if input_onesided else np.fft.ifft
    rows = np.moveaxis(spectra, (time_axis, freq_axis), (-2, -1))
    parts = inverse(rows, segments.nfft)[..., :length]
    win = segments.window.astype(real_dtype(parts.dtype))
    # The least-squares signal (D. W. Griffin & J. S. Lim, "Signal estimation from modified short-time
    # Fourier transform", 1984): windowed again, added up, and divided by the squared windows.
    factor = win.sum() if scaling == "spectrum" else np.sqrt(fs * np.sum(win**2))
    x = overlap_added(parts * factor * win, segments.step)
    norm = np.zeros(x.shape[-1], win.dtype)
    for i in range(rows.shape[-2]):
        norm[i * segments.step : i * segments.step + length] += win**2
    if boundary:
        kept = slice(length // 2, -(length // 2))
        x, norm = x[..., kept], norm[kept]
    if not (norm > 1e-10).all():
        message = "NOLA condition failed, STFT may not be invertible."
        missing = "" if boundary else " Possibly due to missing boundary"
        warnings.warn(message + missing, stacklevel=2)
    x = x / np.where(norm > 1e-10, norm, 1.0).astype(win.dtype)
    if x.ndim > 1:
        x = np.moveaxis(x, -1, time_axis - (freq_axis < time_axis))
    return np.arange(x.shape[0]) / fs, x
