"""`scipy.signal` for traced arrays: convolution, filters, spectra.

Each function is SciPy's own on plain arrays. Filters are differentiable in the signal and in their coefficients.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy import signal
>>> def echo(decay):  # of an impulse, after three steps
...     return signal.lfilter(np.ones(1), fg.numpy.stack([1.0, -decay]), np.eye(4)[0])[3]
>>> echo(0.5), fg.grad(echo)(0.5)
(np.float64(0.125), np.float64(0.75))
"""

from __future__ import annotations

import difflib
from typing import Any

import scipy.signal

from fungrad.scipy.signal.convolution import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from fungrad.scipy.signal.filters import (
    filtfilt,
    lfilter,
    lfilter_zi,
    sosfilt,
    sosfilt_zi,
    sosfiltfilt,
)
from fungrad.scipy.signal.smoothing import detrend, hilbert, resample, savgol_filter
from fungrad.scipy.signal.spectral import (
    coherence,
    csd,
    istft,
    periodogram,
    spectrogram,
    stft,
    welch,
)

__all__ = [
    "coherence",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "hilbert",
    "istft",
    "lfilter",
    "lfilter_zi",
    "oaconvolve",
    "periodogram",
    "resample",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "spectrogram",
    "stft",
    "welch",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in scipy.signal.__all__:
        raise AttributeError(
            f"fungrad.scipy.signal has no {name!r}; scipy.signal.{name} works on plain arrays, outside of "
            "transformed functions"
        )
    close = difflib.get_close_matches(name, __all__, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise AttributeError(f"module 'fungrad.scipy.signal' has no attribute {name!r}{hint}")
