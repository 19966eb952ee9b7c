"""Trends, smoothing, analytic signals and resampling."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal

from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import as_tracer, cast
from fungrad.scipy.ndimage import convolve1d

__all__ = ["detrend", "hilbert", "resample", "savgol_filter"]


@implements(scipy.signal.detrend)
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x: Any = as_tracer(data)
    if type in ("constant", "c"):
        return x - np.mean(x, axis, keepdims=True)
    if x.dtype.char not in "dfDF":
        x = cast(x, np.dtype(float))
    n = x.shape[axis]
    breaks = np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]])).astype(int)
    if (breaks > n).any():
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    x = np.moveaxis(x, axis, -1)
    pieces: list[Any] = []
    for start, stop in itertools.pairwise(breaks):
        # What is orthogonal to straight lines stays.
        lines = np.stack([np.ones(stop - start), np.arange(stop - start)], 1)
        basis = np.linalg.qr(lines)[0].astype(x.dtype)
        piece = x[..., start:stop]
        pieces.append(piece - (piece @ basis) @ basis.T)
    return np.moveaxis(np.concatenate(pieces, -1), -1, axis)


@implements(scipy.signal.savgol_filter)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    signal: Any = as_tracer(x)
    if signal.dtype not in (np.float64, np.float32):
        signal = cast(signal, np.dtype(float))
    taps = scipy.signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    if mode != "interp":
        return convolve1d(signal, taps, axis, mode=mode, cval=cval)
    n = signal.shape[axis]
    if window_length > n:
        raise ValueError(
            "If mode is 'interp', window_length must be less than or equal to the size of x."
        )
    # At both ends the polynomial fitted to the last window; that is linear in its values, so what
    # SciPy makes of unit signals is the matrix.
    half = window_length // 2
    unit = np.eye(window_length)
    ends = scipy.signal.savgol_filter(unit, window_length, polyorder, deriv, delta, axis=0)
    ends = ends.astype(signal.dtype)
    signal = np.moveaxis(signal, axis, -1)
    middle = convolve1d(signal, taps, mode="constant")[..., half : n - half]
    first = signal[..., :window_length] @ ends[:half].T
    last = signal[..., n - window_length :] @ ends[window_length - half :].T
    return np.moveaxis(np.concatenate([first, middle, last], -1), -1, axis)


@implements(scipy.signal.hilbert)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    signal: Any = as_tracer(x)
    if signal.dtype.kind == "c":
        raise ValueError("x must be real.")
    n = signal.shape[axis] if N is None else int(N)
    if n <= 0:
        raise ValueError("N must be positive.")
    # Negative frequencies are left out; the positive ones, which stand for both, are doubled.
    spectrum = np.moveaxis(np.fft.fft(signal, n, axis), axis, -1)
    weights = np.zeros(n, spectrum.dtype)
    weights[0] = weights[n // 2] = 1
    weights[1 : (n + 1) // 2] = 2
    return np.moveaxis(np.fft.ifft(spectrum * weights), -1, axis)


@implements(scipy.signal.resample)
def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    if domain not in ("time", "freq"):
        raise ValueError(f"Parameter domain={domain!r} not in ('time', 'freq')!")
    signal: Any = as_tracer(x)
    signal = np.moveaxis(signal, axis, -1)
    n = signal.shape[-1]
    common = min(num, n)
    is_real = domain == "time" and signal.dtype.kind != "c"
    spectrum: Any = signal
    if domain == "time":
        spectrum = np.fft.rfft(signal) if is_real else np.fft.fft(signal)
    weights = _spectral_window(window, n)
    if weights is not None:
        if is_real:  # a frequency and its negative
            weights = (weights + np.roll(weights[::-1], 1))[: spectrum.shape[-1]] / 2
            weights = weights.astype(spectrum.dtype)
        spectrum = spectrum * weights
    # Frequencies that both have; where their number is even, the last one is unpaired in one of the
    # two and stands for a pair in the other.
    kept = common // 2 + 1
    unpaired = common % 2 == 0 and num != n
    if is_real:
        factors = np.ones(kept, spectrum.real.dtype)
        if unpaired:
            factors[common // 2] = 2 if num < n else 0.5
        resampled: Any = np.fft.irfft(spectrum[..., :kept] * factors, num)
    else:
        front, back = spectrum[..., :kept], spectrum[..., n - (common - kept) :]
        if unpaired:
            last = front[..., -1:]
            if num < n:
                place = n - common // 2
                last = last + spectrum[..., place : place + 1]
            else:
                last = last / 2
                back = np.concatenate([last, back], -1)
            front = np.concatenate([front[..., :-1], last], -1)
        gap = np.zeros((*front.shape[:-1], num - front.shape[-1] - back.shape[-1]), front.dtype)
        resampled = np.fft.ifft(np.concatenate([front, gap, back], -1))
    result = np.moveaxis(resampled * (num / n), -1, axis)
    if t is None:
        return result
    return result, t[0] + (t[1] - t[0]) * (n / num) * np.arange(num)


def _spectral_window(window: Any, n: int) -> Any:
    if window is None:
        return None
    if callable(window):
        return np.asarray(window(scipy.fft.fftfreq(n)))
    if hasattr(window, "shape"):
        if window.shape != (n,):
            raise ValueError(
                f"window.shape={window.shape} != ({n},), i.e., window length is not equal to number of "
                "frequency bins!"
            )
        return np.asarray(window)
    return scipy.fft.fftshift(scipy.signal.get_window(window, n))
