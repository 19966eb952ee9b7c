"""Spectra of segments of a signal: short-time Fourier transforms and their averages."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import scipy.signal
from numpy.lib.array_utils import normalize_axis_index

from fungrad.numpy.promotion import as_tracer, cast
from fungrad.primitives.elementwise import real_dtype
from fungrad.scipy.mirrors import Group, mirrors
from fungrad.scipy.signal.filters import extension
from fungrad.scipy.signal.segments import Cut, Segments, overlap_added

__all__ = ["coherence", "csd", "istft", "periodogram", "spectrogram", "stft", "welch"]


@dataclasses.dataclass(frozen=True)
class Spectrum(Group):
    """SciPy's arguments for the treatment of a signal's segments."""

    detrend: Any
    axis: int
    return_onesided: bool = True
    scaling: str = "density"
    average: str = "mean"

    def onesided(self, *signals: Any) -> bool:
        """Whether negative frequencies are left out, as they can be of real signals."""
        return self.return_onesided and all(x.dtype.kind != "c" for x in signals)

    def detrended(self, segments: Segments, x: Any, onesided: bool) -> Any:
        """Return the spectra of the last axis; a detrending function sees the signal's own axis order."""
        detrend, axis = self.detrend, self.axis
        if callable(detrend) and axis != -1:
            return segments.spectra(
                x, lambda d: np.moveaxis(detrend(np.moveaxis(d, -1, axis)), axis, -1), onesided
            )
        return segments.spectra(x, detrend, onesided)


def _doubled(p: Any, nfft: int) -> Any:
    """Return one-sided densities: of all frequencies that stand for two, twice."""
    weights = np.full(nfft // 2 + 1, 2.0, real_dtype(p.dtype))
    weights[0] = 1
    if nfft % 2 == 0:
        weights[-1] = 1
    return p * weights


def _densities(x: Any, y: Any, segments: Segments, spectrum: Spectrum, onesided: bool) -> Any:
    """Return the cross spectral densities of all segments along the last axis; `y` may be None."""
    spectra = spectrum.detrended(segments, x, onesided)
    if y is None:
        power = spectra.real**2 + spectra.imag**2
    else:
        power = np.conjugate(spectra) * spectrum.detrended(segments, y, onesided)
    power = power * segments.scale(spectrum.scaling)
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


def _cross_spectrum(x: Any, y: Any, cut: Cut, spectrum: Spectrum) -> tuple[Any, Any]:
    """Return frequencies and averaged cross spectral densities; `y` is None for the power of `x`."""
    given, axis = (x,) if y is None else (x, y), spectrum.axis
    n = _longest(axis, *given)
    segments, onesided = Segments(n, cut), spectrum.onesided(*given)
    rows = [_last(z, axis, n) for z in given]
    power = _densities(rows[0], None if y is None else rows[1], segments, spectrum, onesided)
    averaged = _averaged(power, spectrum.average)
    return segments.frequencies(onesided), np.moveaxis(averaged, -1, axis)


@mirrors(scipy.signal.csd)
def csd(x: Any, y: Any, cut: Cut, spectrum: Spectrum) -> Any:
    """Differentiable in the signals and in a window given as an array."""
    return _cross_spectrum(as_tracer(x), None if y is x else as_tracer(y), cut, spectrum)


@mirrors(scipy.signal.welch)
def welch(x: Any, cut: Cut, spectrum: Spectrum) -> Any:
    """Differentiable in the signal and in a window given as an array."""
    return _cross_spectrum(as_tracer(x), None, cut, spectrum)


@mirrors(scipy.signal.periodogram)
def periodogram(x: Any, fs: Any, window: Any, nfft: Any, spectrum: Spectrum) -> Any:
    signal: Any = as_tracer(x)
    axis, window = spectrum.axis, "boxcar" if window is None else window
    n = signal.shape[axis]
    if nfft is not None and nfft < n:
        signal = np.moveaxis(np.moveaxis(signal, axis, -1)[..., :nfft], -1, axis)
        n, nfft = nfft, None
    if hasattr(window, "size") and window.size != n:
        raise ValueError(
            "the size of the window must be the same size of the input on the specified axis"
        )
    return _cross_spectrum(signal, None, Cut(fs, window, n, 0, nfft), spectrum)


@mirrors(scipy.signal.coherence)
def coherence(x: Any, y: Any, cut: Cut, spectrum: Spectrum) -> Any:
    first, second = as_tracer(x), as_tracer(y)
    freqs, pxx = _cross_spectrum(first, None, cut, spectrum)
    _, pyy = _cross_spectrum(second, None, cut, spectrum)
    _, pxy = _cross_spectrum(first, second, cut, spectrum)
    return freqs, (pxy.real**2 + pxy.imag**2) / pxx / pyy


# With the segments kept


@mirrors(scipy.signal.stft)
def stft(x: Any, cut: Cut, spectrum: Spectrum, boundary: str | None, padded: bool) -> Any:
    """Differentiable in the signal and in a window given as an array."""
    _check_scaling(spectrum.scaling)
    if boundary not in ("even", "odd", "constant", "zeros", None):
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: ['even', 'odd', 'constant', 'zeros', None]"
        )
    signal = _last(as_tracer(x), spectrum.axis)
    segments = Segments(signal.shape[-1], cut)
    signal = extension(signal, segments.length // 2, boundary)
    if padded:
        missing = (-(signal.shape[-1] - segments.length) % segments.step) % segments.length
        signal = _last(signal, -1, signal.shape[-1] + missing)
    times = segments.times(signal.shape[-1])
    if boundary is not None:
        times = times - segments.length / 2 / cut.fs
    freqs, spectra = _stacked(signal, segments, spectrum)
    return freqs, times, spectra


def _check_scaling(scaling: str) -> None:
    if scaling not in ("psd", "spectrum"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")


def _stacked(signal: Any, segments: Segments, spectrum: Spectrum) -> tuple[Any, Any]:
    """Return frequencies and scaled spectra of the last axis, the frequencies along the axis asked for."""
    onesided = spectrum.onesided(signal)
    if spectrum.return_onesided and not onesided:
        message = "Input data is complex, switching to return_onesided=False"
        warnings.warn(message, stacklevel=3)
    spectra = spectrum.detrended(segments, signal, onesided)
    scaling = "density" if spectrum.scaling == "psd" else spectrum.scaling
    scaled = as_tracer(spectra * np.sqrt(segments.scale(scaling)))
    scaled = cast(scaled, np.result_type(signal.dtype, np.complex64))
    return segments.frequencies(onesided), _frequencies_at(scaled, spectrum.axis)


def _frequencies_at(spectra: Any, axis: int) -> Any:
    return np.moveaxis(spectra, -1, axis - 1 if axis < 0 else axis)


@mirrors(scipy.signal.spectrogram)
def spectrogram(x: Any, cut: Cut, spectrum: Spectrum, mode: str) -> Any:
    modes = ["psd", "complex", "magnitude", "angle", "phase"]
    if mode not in modes:
        raise ValueError(f"unknown value for mode {mode}, must be one of {modes}")
    axis, signal = spectrum.axis, _last(as_tracer(x), spectrum.axis)
    segments = Segments(signal.shape[-1], dataclasses.replace(cut, noverlap=0))
    overlap = segments.length // 8 if cut.noverlap is None else cut.noverlap
    segments = Segments(signal.shape[-1], Cut(cut.fs, segments.window, None, overlap, cut.nfft))
    times = segments.times(signal.shape[-1])
    if mode == "psd":
        onesided = spectrum.onesided(signal)
        power = _densities(signal, None, segments, spectrum, onesided)
        return segments.frequencies(onesided), times, _frequencies_at(power, axis)
    freqs, spectra = _stacked(signal, segments, spectrum)
    if mode == "magnitude":
        spectra = np.abs(spectra)
    elif mode != "complex":
        spectra = np.angle(spectra)
        if mode == "phase":
            spectra = np.unwrap(spectra, axis=axis - 1 if axis < 0 else axis)
    return freqs, times, spectra


@mirrors(scipy.signal.istft)
def istft(
    Zxx: Any,
    cut: Cut,
    input_onesided: bool,
    boundary: bool,
    time_axis: int,
    freq_axis: int,
    scaling: str,
) -> Any:
    """Differentiable in the spectra; the window is plain."""
    given: Any = as_tracer(Zxx)
    spectra = given + 0j
    if spectra.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    time_axis, freq_axis = (normalize_axis_index(a, spectra.ndim) for a in (time_axis, freq_axis))
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    _check_scaling(scaling)
    bins = spectra.shape[freq_axis]
    usual = 2 * (bins - 1) if input_onesided else bins
    length = usual if cut.nperseg is None else int(cut.nperseg)
    nfft = cut.nfft
    if nfft is None:
        nfft = length if input_onesided and length == usual + 1 else usual
    window = cut.window
    if isinstance(window, (str, tuple)):
        window = scipy.signal.get_window(window, length)
    if np.shape(window) != (length,):
        raise ValueError(f"window must have length of {length}")
    segments = Segments(length, Cut(cut.fs, np.asarray(window), length, cut.noverlap, nfft))
    inverse = np.fft.irfft if input_onesided else np.fft.ifft
    rows = np.moveaxis(spectra, (time_axis, freq_axis), (-2, -1))
    parts = inverse(rows, segments.nfft)[..., :length]
    win = segments.window.astype(real_dtype(parts.dtype))
    # The least-squares signal (D. W. Griffin & J. S. Lim, "Signal estimation from modified short-time
    # Fourier transform", 1984): windowed again, added up, and divided by the squared windows.
    factor = win.sum() if scaling == "spectrum" else np.sqrt(cut.fs * np.sum(win**2))
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
    return np.arange(x.shape[0]) / cut.fs, x
