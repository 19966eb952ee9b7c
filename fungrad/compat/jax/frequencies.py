"""The frequencies of `jax.numpy.fft`."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import dtype_of, enter, leave


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of a discrete Fourier transform of `n` samples, `d` apart."""
    return _spaced(np.fft.fftfreq(n), d, dtype)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return those that are not negative."""
    return _spaced(np.fft.rfftfreq(n), d, dtype)


def _spaced(frequencies: Any, d: Any, dtype: Any) -> Any:
    scaled = fnp.divide(frequencies.astype(dtype_of(float if dtype is None else dtype)), enter(d))
    return leave(scaled)
