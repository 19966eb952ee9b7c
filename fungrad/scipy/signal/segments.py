"""Signals cut into windowed segments, and put together again."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import scipy.signal

from fungrad.numpy.fft import fftfreq, rfftfreq
from fungrad.numpy.promotion import has_tracer, strong
from fungrad.scipy.mirrors import Group
from fungrad.scipy.signal.smoothing import detrend as detrended


def frames(x: Any, length: int, step: int) -> Any:
    """Return the segments of the last axis, (..., n) -> (..., count, length).

    They are joined from blocks of `step` elements, so that reverse mode adds whole blocks, not single elements.
    """
    count = (x.shape[-1] - length) // step + 1
    blocks = -(-length // step)
    total = (count + blocks - 1) * step
    lead = x.shape[:-1]
    if total > x.shape[-1]:
        x = np.pad(x, [(0, 0)] * len(lead) + [(0, total - x.shape[-1])])
    rows = x[..., :total].reshape((*lead, count + blocks - 1, step))
    segments = np.concatenate([rows[..., i : i + count, :] for i in range(blocks)], -1)
    return segments[..., :length]


def overlap_added(segments: Any, step: int) -> Any:
    """Return the sum of segments, each shifted by `step` elements against the one before it."""
    *lead, count, length = segments.shape
    blocks = -(-length // step)
    none = [(0, 0)] * len(lead)
    padded = np.pad(segments, [*none, (0, 0), (0, blocks * step - length)])
    rows = padded.reshape((*lead, count, blocks, step))
    total: Any = 0
    for i in range(blocks):
        total = total + np.pad(rows[..., i, :], [*none, (i, blocks - 1 - i), (0, 0)])
    return total.reshape((*lead, -1))[..., : (count - 1) * step + length]


@dataclasses.dataclass(frozen=True)
class Cut(Group):
    """SciPy's arguments that say how a signal is cut into windowed segments."""

    fs: Any
    window: Any
    nperseg: Any
    noverlap: Any
    nfft: Any


class Segments:
    """How a signal of `n` elements is cut into windowed segments: SciPy's arguments, checked.

    Attributes
    ----------
    fs
        Sampling rate.
    window
        The window, an array or a tracer.
    length, overlap, step
        Numbers of elements: in a segment, shared with the next one, and from one start to the next.
    nfft
        Length of the transforms of segments.
    """

    def __init__(self, n: int, cut: Cut) -> None:
        window, nperseg = cut.window, cut.nperseg
        self.fs = cut.fs
        if isinstance(window, (str, tuple)) and not has_tracer([window]):
            length = 256 if nperseg is None else int(nperseg)
            if length < 1:
                raise ValueError("nperseg must be a positive integer")
            if length > n:
                message = (  # in SciPy's words
                    f"nperseg = {length} is greater than input length  = {n}, using nperseg = {n}"
                )
                warnings.warn(message, stacklevel=4)
                length = n
            self.window: Any = scipy.signal.get_window(window, length)
        else:
            self.window = strong(window)
            if self.window.ndim != 1:
                raise ValueError("window must be 1-D")
            length = self.window.shape[0]
            if n < length:
                raise ValueError("window is longer than input signal")
            if nperseg is not None and nperseg != length:
                raise ValueError("value specified for nperseg is different from length of window")
        self.length = length
        self.nfft = length if cut.nfft is None else int(cut.nfft)
        if self.nfft < length:
            raise ValueError("nfft must be greater than or equal to nperseg.")
        self.overlap = length // 2 if cut.noverlap is None else int(cut.noverlap)
        if self.overlap >= length:
            raise ValueError("noverlap must be less than nperseg.")
        self.step = length - self.overlap

    def spectra(self, x: Any, detrend: Any, onesided: bool) -> Any:
        """Return the Fourier transforms of the segments of the last axis."""
        segments = frames(x, self.length, self.step)
        if callable(detrend):
            segments = detrend(segments)
        elif detrend:
            segments = detrended(segments, type=detrend)
        windowed = segments * self._window_for(segments)
        transform = np.fft.rfft if onesided else np.fft.fft
        return transform(windowed, self.nfft)

    def _window_for(self, x: Any) -> Any:
        """Return the window, in single precision if `x` is."""
        if np.result_type(x.dtype, np.complex64) != np.complex64:
            return self.window
        return self.window.astype(np.complex64 if self.window.dtype.kind == "c" else np.float32)

    def frequencies(self, onesided: bool) -> Any:
        """Return the frequencies of the spectra."""
        return (rfftfreq if onesided else fftfreq)(self.nfft, 1 / self.fs)

    def scale(self, scaling: str) -> Any:
        """Return the factor by which squared magnitudes become a power density or a power spectrum."""
        if scaling == "density":
            return 1.0 / (self.fs * np.sum(self.window * self.window))
        if scaling == "spectrum":
            return 1.0 / np.sum(self.window) ** 2
        raise ValueError(f"Unknown scaling: {scaling!r}")

    def times(self, n: int) -> Any:
        """Return the times of the middles of the segments of a signal of `n` elements."""
        half = self.length / 2
        return np.arange(half, n - half + 1, self.step) / self.fs
