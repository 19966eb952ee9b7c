"""Distributions of a fixed form: normal, Cauchy, Laplace, logistic, Gumbel, exponential, uniform, ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.scipy import special
from fungrad.scipy.stats.continuous import Continuous

__all__ = [
    "cauchy", "expon", "gumbel_l", "gumbel_r", "halfnorm", "laplace", "logistic", "lognorm",
    "norm", "pareto", "rayleigh", "skewnorm", "uniform", "vonmises", "weibull_min",
    "wrapcauchy",
]  # fmt: skip

REAL = (-math.inf, math.inf)
POSITIVE = (0.0, math.inf)
LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


def log_gaussian(y: Any) -> Any:
    """Return the logarithm of the density of the standard normal distribution."""
    return -0.5 * y * y - LOG_ROOT_2PI


norm = Continuous(
    "norm",
    support=REAL,
    logpdf=log_gaussian,
    cdf=lambda y: special.ndtr(y),
    sf=lambda y: special.ndtr(-y),
    logcdf=lambda y: special.log_ndtr(y),
    logsf=lambda y: special.log_ndtr(-y),
    ppf=lambda q: special.ndtri(q),
    isf=lambda q: -special.ndtri(q),
)
halfnorm = Continuous(
    "halfnorm",
    support=POSITIVE,
    logpdf=lambda y: log_gaussian(y) + math.log(2),
    cdf=lambda y: special.erf(y / math.sqrt(2)),
    sf=lambda y: 2 * special.ndtr(-y),
    ppf=lambda q: special.ndtri((1 + q) / 2),
    isf=lambda q: -special.ndtri(q / 2),
)
lognorm = Continuous(
    "lognorm",
    "s",
    support=POSITIVE,
    open_below=True,
    logpdf=lambda y, s: log_gaussian(np.log(y) / s) - np.log(s * y),
    cdf=lambda y, s: special.ndtr(np.log(y) / s),
    sf=lambda y, s: special.ndtr(-np.log(y) / s),
    logcdf=lambda y, s: special.log_ndtr(np.log(y) / s),
    logsf=lambda y, s: special.log_ndtr(-np.log(y) / s),
    ppf=lambda q, s: np.exp(s * special.ndtri(q)),
    isf=lambda q, s: np.exp(-s * special.ndtri(q)),
)
skewnorm = (
    Continuous(  # A. Azzalini, "A class of distributions which includes the normal ones", 1985
        "skewnorm",
        "a",
        support=REAL,
        valid=lambda a: (np.isfinite(a),),
        logpdf=lambda y, a: math.log(2) + log_gaussian(y) + special.log_ndtr(a * y),
        # Far in a tail nothing is left of the difference, not even its sign.
        cdf=lambda y, a: np.maximum(special.ndtr(y) - 2 * special.owens_t(y, a), 0.0),
        sf=lambda y, a: np.maximum(special.ndtr(-y) + 2 * special.owens_t(y, a), 0.0),
    )
)
rayleigh = Continuous(
    "rayleigh",
    support=POSITIVE,
    open_below=True,
    logpdf=lambda y: np.log(y) - 0.5 * y * y,
    cdf=lambda y: -np.expm1(-0.5 * y * y),
    sf=lambda y: np.exp(-0.5 * y * y),
    logsf=lambda y: -0.5 * y * y,
    ppf=lambda q: np.sqrt(-2 * np.log1p(-q)),
    isf=lambda q: np.sqrt(-2 * np.log(q)),
)


def cauchy_cdf(y: Any) -> Any:
    """Return the distribution function without a loss of digits in the lower tail."""
    return np.arctan2(np.ones_like(y), -y) / math.pi


def cauchy_ppf(q: Any) -> Any:
    """Return -cot(pi q), from whichever end is nearer."""
    lower, upper = math.pi * np.minimum(q, 0.5), math.pi * np.minimum(1 - q, 0.5)
    return np.where(q < 0.5, -np.cos(lower) / np.sin(lower), np.cos(upper) / np.sin(upper))


cauchy = Continuous(
    "cauchy",
    support=REAL,
    logpdf=lambda y: -math.log(math.pi) - 2 * np.log(np.hypot(1.0, y)),
    cdf=cauchy_cdf,
    sf=lambda y: cauchy_cdf(-y),
    ppf=cauchy_ppf,
    isf=lambda q: -cauchy_ppf(q),
)


def laplace_log_tail(y: Any) -> Any:
    """Return log(exp(-|y|) / 2), of the probability of the nearer tail.

    At y = 0 its derivative is that from below, 1: with that of -abs(y), 0, the distribution function would have none.
    """
    return np.where(y > 0, -y, y) - math.log(2)


def laplace_logcdf(y: Any) -> Any:
    """Return the logarithm of the distribution function; that of the upper tail is its mirror image."""
    log_tail = laplace_log_tail(y)
    return np.where(y > 0, np.log1p(-np.exp(log_tail)), log_tail)


def laplace_cdf(y: Any) -> Any:
    """Return the distribution function."""
    tail = np.exp(laplace_log_tail(y))
    return np.where(y > 0, 1 - tail, tail)


laplace = Continuous(
    "laplace",
    support=REAL,
    logpdf=lambda y: -np.abs(y) - math.log(2),
    cdf=laplace_cdf,
    sf=lambda y: laplace_cdf(-y),
    logcdf=laplace_logcdf,
    logsf=lambda y: laplace_logcdf(-y),
    ppf=lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q)),
    isf=lambda q: np.where(q > 0.5, np.log(2 * (1 - q)), -np.log(2 * q)),
)
logistic = Continuous(
    "logistic",
    support=REAL,
    logpdf=lambda y: special.log_expit(y) + special.log_expit(-y),
    cdf=lambda y: special.expit(y),
    sf=lambda y: special.expit(-y),
    logcdf=lambda y: special.log_expit(y),
    logsf=lambda y: special.log_expit(-y),
    ppf=lambda q: special.logit(q),
    isf=lambda q: -special.logit(q),
)


def bounded_exp(y: Any) -> Any:
    """Return exp(y) to be used in exp(-exp(y)): that is 0 long before exp(y) overflows.

    The derivative there would be 0 times infinity.
    """
    return np.exp(np.minimum(y, 700.0))


def gumbel_density(y: Any) -> Any:
    """Return exp(y - exp(y)), which is 0 for large y too."""
    return np.exp(np.minimum(y, 700.0) - bounded_exp(y))


gumbel_r = Continuous(
    "gumbel_r",
    support=REAL,
    logpdf=lambda y: -y - np.exp(-y),
    pdf=lambda y: gumbel_density(-y),
    cdf=lambda y: np.exp(-bounded_exp(-y)),
    sf=lambda y: -np.expm1(-bounded_exp(-y)),
    logcdf=lambda y: -np.exp(-y),
    ppf=lambda q: -np.log(-np.log(q)),
    isf=lambda q: -np.log(-np.log1p(-q)),
)
gumbel_l = Continuous(
    "gumbel_l",
    support=REAL,
    logpdf=lambda y: y - np.exp(y),
    pdf=lambda y: gumbel_density(y),
    cdf=lambda y: -np.expm1(-bounded_exp(y)),
    sf=lambda y: np.exp(-bounded_exp(y)),
    logsf=lambda y: -np.exp(y),
    ppf=lambda q: np.log(-np.log1p(-q)),
    isf=lambda q: np.log(-np.log(q)),
)
expon = Continuous(
    "expon",
    support=POSITIVE,
    logpdf=lambda y: -y,
    cdf=lambda y: -np.expm1(-y),
    sf=lambda y: np.exp(-y),
    logsf=lambda y: -y,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
)
uniform = Continuous(
    "uniform",
    support=(0.0, 1.0),
    logpdf=lambda y: 0 * y,
    cdf=lambda y: y,
    sf=lambda y: 1 - y,
    ppf=lambda q: q,
    isf=lambda q: 1 - q,
)
pareto = Continuous(
    "pareto",
    "b",
    support=(1.0, math.inf),
    logpdf=lambda y, b: np.log(b) - (b + 1) * np.log(y),
    cdf=lambda y, b: -np.expm1(-b * np.log(y)),
    sf=lambda y, b: np.exp(-b * np.log(y)),
    logsf=lambda y, b: -b * np.log(y),
    ppf=lambda q, b: np.exp(-np.log1p(-q) / b),
    isf=lambda q, b: np.exp(-np.log(q) / b),
)


def bounded_power(y: Any, c: Any) -> Any:
    """Return y^c to be used in exp(-y^c); before it overflows it stays, as in `bounded_exp`."""
    some = np.logical_not(y**c >= 1e300)  # also where it is NaN
    return np.where(some, np.where(some, y, 1.0) ** c, 1e300)


weibull_min = Continuous(
    "weibull_min",
    "c",
    support=POSITIVE,
    logpdf=lambda y, c: np.log(c) + special.xlogy(c - 1, y) - y**c,
    cdf=lambda y, c: -np.expm1(-bounded_power(y, c)),
    sf=lambda y, c: np.exp(-bounded_power(y, c)),
    logsf=lambda y, c: -(y**c),
    ppf=lambda q, c: (-np.log1p(-q)) ** (1 / c),
    isf=lambda q, c: (-np.log(q)) ** (1 / c),
)

# On the circle


def wrapcauchy_cdf(y: Any, c: Any) -> Any:
    """Return the distribution function; the upper half from above."""
    ratio = (1 + c) / (1 - c)
    upper = y >= math.pi
    half = np.where(upper, 2 * math.pi - y, y) / 2
    part = np.arctan2(ratio * np.sin(half), np.cos(half)) / math.pi
    return np.where(upper, 1 - part, part)


def wrapcauchy_ppf(q: Any, c: Any) -> Any:
    """Return the inverse of the distribution function."""
    ratio = (1 - c) / (1 + c)
    upper = q >= 0.5
    half = math.pi * np.where(upper, 1 - q, q)
    angle = 2 * np.arctan2(ratio * np.sin(half), np.cos(half))
    return np.where(upper, 2 * math.pi - angle, angle)


vonmises = Continuous(
    "vonmises",
    "kappa",
    support=REAL,
    valid=lambda kappa: (kappa >= 0,),
    logpdf=lambda y, kappa: (
        kappa * special.cosm1(y) - math.log(2 * math.pi) - np.log(special.i0e(kappa))
    ),
)
wrapcauchy = Continuous(
    "wrapcauchy",
    "c",
    support=(0.0, 2 * math.pi),
    valid=lambda c: (c > 0, c < 1),
    example=(0.5,),
    logpdf=lambda y, c: np.log((1 - c * c) / (2 * math.pi * (1 + c * c - 2 * c * np.cos(y)))),
    cdf=wrapcauchy_cdf,
    ppf=wrapcauchy_ppf,
)
