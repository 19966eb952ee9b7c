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

from typing import Any

import scipy.signal

from fungrad.scipy.names import missing_name
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
    raise missing_name(scipy.signal, name, __all__)
