"""The truncated normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.scipy import special
from fungrad.scipy.stats.continuous import Continuous
from fungrad.scipy.stats.location_scale import log_gaussian

__all__ = ["truncnorm"]


def log_phi(x: Any) -> Any:
    """Return the logarithm of the normal distribution function; at -inf a constant."""
    some = x > -math.inf
    return np.where(some, special.log_ndtr(np.where(some, x, 0.0)), -math.inf)


def log_mass(a: Any, b: Any) -> Any:
    """Return the logarithm of the probability of [a, b] under the standard normal distribution.

    Of an interval right of 0 it is that of the mirrored one; so differences are of small tails.
    """
    mirrored = a > 0
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    left = high <= 0
    # Of an interval left of 0, Phi(high) - Phi(low); of one around 0, 1 - Phi(low) - Phi(-high).
    top = log_phi(np.where(left, high, -1.0))
    bottom = log_phi(np.where(left, low, -2.0))
    tail = top + np.log1p(-np.exp(bottom - top))
    around = np.log1p(
        -special.ndtr(np.where(left, -1.0, low)) - special.ndtr(-np.where(left, 1.0, high))
    )
    return np.where(left, tail, around)


def logcdf(y: Any, a: Any, b: Any) -> Any:
    """Return the logarithm of the distribution function; near 0 by that of the other tail."""
    whole = log_mass(a, b)
    direct = log_mass(a, y) - whole
    near = direct > -0.1
    return np.where(near, log_complement(log_mass(y, b) - whole, near), direct)


def logsf(y: Any, a: Any, b: Any) -> Any:
    """Return the logarithm of the probability above y; near 0 by that of the other tail."""
    whole = log_mass(a, b)
    direct = log_mass(y, b) - whole
    near = direct > -0.1
    return np.where(near, log_complement(log_mass(a, y) - whole, near), direct)


def log_complement(x: Any, wanted: Any) -> Any:
    """Return log(1 - exp(x)) where it is wanted."""
    return np.log1p(-np.exp(np.where(wanted, x, -1.0)))


def ppf(q: Any, a: Any, b: Any) -> Any:
    """Return the inverse of the distribution function, computed in the tail that a is in."""
    whole, left = log_mass(a, b), a < 0
    lower = np.logaddexp(log_phi(a), np.log(q) + whole)
    upper = np.logaddexp(log_phi(-b), np.log1p(-q) + whole)
    quantile = special.ndtri_exp(np.where(left, lower, upper))
    return np.where(left, quantile, -quantile)


truncnorm = Continuous(
    "truncnorm",
    "a",
    "b",
    support=lambda a, b: (a, b),
    valid=lambda a, b: (a < b,),
    example=(-1.0, 1.0),
    logpdf=lambda y, a, b: log_gaussian(y) - log_mass(a, b),
    logcdf=logcdf,
    logsf=logsf,
    ppf=ppf,
    isf=lambda q, a, b: -ppf(q, -b, -a),
)
