"""Distributions whose distribution functions are incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.scipy import special
from fungrad.scipy.stats.choices import certain, choose
from fungrad.scipy.stats.continuous import Continuous
from fungrad.scipy.stats.location_scale import POSITIVE, REAL, bounded_power, log_gaussian

__all__ = ["beta", "chi2", "f", "gamma", "gennorm", "invgamma", "t"]

gamma = Continuous(
    "gamma",
    "a",
    support=POSITIVE,
    logpdf=lambda y, a: special.xlogy(a - 1, y) - y - special.gammaln(a),
    cdf=lambda y, a: special.gammainc(a, y),
    sf=lambda y, a: special.gammaincc(a, y),
    ppf=lambda q, a: special.gammaincinv(a, q),
    isf=lambda q, a: special.gammainccinv(a, q),
)
chi2 = Continuous(
    "chi2",
    "df",
    support=POSITIVE,
    logpdf=lambda y, df: (
        special.xlogy(df / 2 - 1, y) - y / 2 - special.gammaln(df / 2) - math.log(2) * df / 2
    ),
    cdf=lambda y, df: special.gammainc(df / 2, y / 2),
    sf=lambda y, df: special.gammaincc(df / 2, y / 2),
    ppf=lambda q, df: 2 * special.gammaincinv(df / 2, q),
    isf=lambda q, df: 2 * special.gammainccinv(df / 2, q),
)


def bounded_reciprocal(y: Any) -> Any:
    """Return 1 / y, bounded before its derivative overflows: incomplete gamma functions are flat there."""
    return 1 / np.maximum(y, 1e-150)


invgamma = Continuous(
    "invgamma",
    "a",
    support=POSITIVE,
    open_below=True,
    logpdf=lambda y, a: -(a + 1) * np.log(y) - special.gammaln(a) - 1 / y,
    cdf=lambda y, a: special.gammaincc(a, bounded_reciprocal(y)),
    sf=lambda y, a: special.gammainc(a, bounded_reciprocal(y)),
    ppf=lambda q, a: 1 / special.gammainccinv(a, q),
    isf=lambda q, a: 1 / special.gammaincinv(a, q),
)
gennorm = Continuous(
    "gennorm",
    "beta",
    support=REAL,
    logpdf=lambda y, beta: gennorm_logpdf(y, beta),
    cdf=lambda y, beta: gennorm_cdf(y, beta),
    sf=lambda y, beta: gennorm_cdf(-y, beta),
    ppf=lambda q, beta: gennorm_ppf(q, beta),
    isf=lambda q, beta: -gennorm_ppf(q, beta),
)


def gennorm_logpdf(y: Any, beta: Any) -> Any:
    """Return the logarithm of the density; at y = 0 it has the derivative of abs(y), 0, for all `beta`.

    Of `beta` = 2 it is that of a normal distribution, which has a second derivative there.
    """
    away = y != 0
    at_zero = np.where(beta == 2, y * y, 0.0)
    power = np.where(away, np.abs(np.where(away, y, 1.0)) ** beta, at_zero)
    return np.log(0.5 * beta) - special.gammaln(1 / beta) - power


def gennorm_cdf(y: Any, beta: Any) -> Any:
    """Return half an incomplete gamma function, of the upper tail for y > 0.

    At y = 0 its derivative is 0 times infinity, so the tangent stands for it as long as they agree to rounding:
    the next term of DLMF 8.7.1 is smaller by abs(y)^beta.
    """
    away = np.abs(y) ** beta > 1e-30
    tail = 0.5 * special.gammaincc(1 / beta, bounded_power(np.abs(np.where(away, y, 1.0)), beta))
    return np.where(away, np.where(y > 0, 1 - tail, tail), 0.5 + y * gennorm_peak(beta))


def gennorm_ppf(q: Any, beta: Any) -> Any:
    """Return the inverse of `gennorm_cdf`; at q = 1/2, the tangent."""
    away = q != 0.5
    upper = q > 0.5
    power = special.gammainccinv(1 / beta, 2 * np.where(away, np.where(upper, 1 - q, q), 0.25))
    distance = power ** (1 / beta)
    return np.where(away, np.where(upper, distance, -distance), (q - 0.5) / gennorm_peak(beta))


def gennorm_peak(beta: Any) -> Any:
    """Return the density at 0."""
    return 0.5 * beta / special.gamma(1 / beta)


beta = Continuous(
    "beta",
    "a",
    "b",
    support=(0.0, 1.0),
    logpdf=lambda y, a, b: (
        special.xlog1py(b - 1, -y) + special.xlogy(a - 1, y) - special.betaln(a, b)
    ),
    cdf=lambda y, a, b: special.betainc(a, b, y),
    sf=lambda y, a, b: special.betaincc(a, b, y),
    ppf=lambda q, a, b: special.betaincinv(a, b, q),
    isf=lambda q, a, b: special.betainccinv(a, b, q),
)


def student_logpdf(y: Any, df: Any) -> Any:
    """Return the logarithm of Gamma((df+1)/2) / Gamma(df/2) / sqrt(pi df) (1 + y^2/df)^-((df+1)/2)."""
    scale = np.log(special.poch(0.5 * df, 0.5)) - 0.5 * (np.log(df) + math.log(math.pi))
    far = np.abs(y) > 1e16 * np.sqrt(df)  # where 1 is nothing, and the square may overflow
    near = np.log1p(np.where(far, 0.0, y) ** 2 / df)
    growth = np.where(far, 2 * np.log(np.abs(np.where(far, y, 1.0))) - np.log(df), near)
    return scale - (df + 1) / 2 * growth


def or_normal(of_student: Any, of_normal: Any) -> Any:
    """Return the formula of Student's distribution with the normal one where `df` is infinite."""

    def formula(x: Any, df: Any) -> Any:
        finite = np.isfinite(df)
        value = of_student(choose(finite, x, 0.5), choose(finite, df, 1.0))
        if certain(finite):
            return value
        return np.where(finite, value, of_normal(np.where(finite, 0.5, x)))

    return formula


t = Continuous(
    "t",
    "df",
    support=REAL,
    asks=True,
    logpdf=or_normal(student_logpdf, log_gaussian),
    cdf=or_normal(lambda y, df: special.stdtr(df, y), special.ndtr),
    sf=or_normal(lambda y, df: special.stdtr(df, -y), lambda y: special.ndtr(-y)),
    ppf=or_normal(lambda q, df: special.stdtrit(df, q), special.ndtri),
    isf=or_normal(lambda q, df: -special.stdtrit(df, q), lambda q: -special.ndtri(q)),
)


def f_logpdf(y: Any, n: Any, m: Any) -> Any:
    """Return the logarithm of the density of a ratio of mean squares."""
    powers = m / 2 * np.log(m) + n / 2 * np.log(n) + special.xlogy(n / 2 - 1, y)
    return powers - ((n + m) / 2 * np.log(m + n * y) + special.betaln(n / 2, m / 2))


def f_quantile(q: Any, rest: Any, n: Any, m: Any) -> Any:
    """Return the inverse of the distribution function, from the nearer end.

    The reciprocal of the variable has the same distribution with n and m exchanged.
    """
    lower = q < 0.5
    below = special.fdtri(n, m, np.where(lower, q, 0.25))
    above = special.fdtri(m, n, np.where(lower, 0.25, rest))
    return np.where(lower, below, 1 / above)


f = Continuous(
    "f",
    "dfn",
    "dfd",
    support=POSITIVE,
    logpdf=f_logpdf,
    cdf=lambda y, n, m: special.fdtr(n, m, y),
    sf=lambda y, n, m: special.fdtrc(n, m, y),
    ppf=lambda q, n, m: f_quantile(q, 1 - q, n, m),
    isf=lambda q, n, m: f_quantile(1 - q, q, n, m),
)
