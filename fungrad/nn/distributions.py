"""Random numbers, real and complex, with mean 0 and a given variance, for `variance_scaling`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import random
from fungrad.extend.precision import converted
from fungrad.extend.types import kind_of


def scaled_truncated(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], variance: Any) -> Any:
    """Draw from the normal distribution, within two standard deviations of it."""
    # The divisors are the standard deviations of what is cut at 2: of the normal distribution, and of the complex one.
    if kind_of(dtype) != "c":
        deviation = fnp.sqrt(variance) / converted(0.87962566103423978, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * deviation
    deviation = fnp.sqrt(variance) / converted(0.95311164380491208, dtype)
    u, turn = radius_and_turn(key, shape, dtype)
    t = (1 - fnp.exp(converted(-4, dtype))) * fnp.astype(u, dtype)
    return fnp.sqrt(-fnp.log(1 - t)) * turn * deviation


def scaled_normal(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], variance: Any) -> Any:
    """Draw from the normal distribution."""
    return random.normal(key, shape, dtype) * fnp.sqrt(variance)


def scaled_uniform(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], variance: Any) -> Any:
    """Draw evenly from an interval, or from a disk of complex numbers."""
    if kind_of(dtype) != "c":
        return random.uniform(key, shape, dtype, -1) * fnp.sqrt(converted(3, dtype) * variance)
    u, turn = radius_and_turn(key, shape, dtype)
    return fnp.astype(fnp.sqrt(2 * u), dtype) * turn * fnp.sqrt(variance)


def radius_and_turn(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return numbers in [0, 1), and complex numbers on the unit circle."""
    real = np.zeros((), dtype).real.dtype
    keys = random.split(key)
    theta = 2 * math.pi * fnp.astype(random.uniform(keys[1], shape, real), dtype)
    return random.uniform(keys[0], shape, real), fnp.exp(1j * theta)


DISTRIBUTIONS: dict[str, Callable[[Any, tuple[int, ...], np.dtype[Any], Any], Any]] = {
    "truncated_normal": scaled_truncated,
    "normal": scaled_normal,
    "uniform": scaled_uniform,
}
"""For each name a function of key, shape, dtype and variance."""
