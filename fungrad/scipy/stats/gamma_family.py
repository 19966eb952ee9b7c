"""Distributions whose distribution functions are incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.scipy import special
from fungrad.scipy.stats.distribution import Continuous
from fungrad.scipy.stats.location_scale import POSITIVE, REAL

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
invgamma = Continuous(
    "invgamma",
    "a",
    support=POSITIVE,
    open_below=True,
    logpdf=lambda y, a: -(a + 1) * np.log(y) - special.gammaln(a) - 1 / y,
    cdf=lambda y, a: special.gammaincc(a, 1 / y),
    sf=lambda y, a: special.gammainc(a, 1 / y),
    ppf=lambda q, a: 1 / special.gammainccinv(a, q),
    isf=lambda q, a: 1 / special.gammaincinv(a, q),
)
gennorm = Continuous(
    "gennorm",
    "beta",
    support=REAL,
    logpdf=lambda y, beta: np.log(0.5 * beta) - special.gammaln(1 / beta) - np.abs(y) ** beta,
    cdf=lambda y, beta: gennorm_cdf(y, beta),
    sf=lambda y, beta: gennorm_cdf(-y, beta),
    ppf=lambda q, beta: gennorm_ppf(q, beta),
    isf=lambda q, beta: -gennorm_ppf(q, beta),
)


def gennorm_cdf(y: Any, beta: Any) -> Any:
    """Return half an incomplete gamma function, of the upper tail for y > 0.

    At y = 0 its derivative is 0 times infinity, so there the tangent stands for it.
    """
    away = y != 0
    tail = 0.5 * special.gammaincc(1 / beta, np.abs(np.where(away, y, 1.0)) ** beta)
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
    return scale - (df + 1) / 2 * np.log1p(y * y / df)


t = Continuous(
    "t",
    "df",
    support=REAL,
    logpdf=student_logpdf,
    cdf=lambda y, df: special.stdtr(df, y),
    sf=lambda y, df: special.stdtr(df, -y),
    ppf=lambda q, df: special.stdtrit(df, q),
    isf=lambda q, df: -special.stdtrit(df, q),
)


def f_logpdf(y: Any, n: Any, m: Any) -> Any:
    """Return the logarithm of the density of a ratio of mean squares."""
    powers = m / 2 * np.log(m) + n / 2 * np.log(n) + special.xlogy(n / 2 - 1, y)
    return powers - ((n + m) / 2 * np.log(m + n * y) + special.betaln(n / 2, m / 2))


f = Continuous(
    "f",
    "dfn",
    "dfd",
    support=POSITIVE,
    logpdf=f_logpdf,
    cdf=lambda y, n, m: special.fdtr(n, m, y),
    sf=lambda y, n, m: special.fdtrc(n, m, y),
    ppf=lambda q, n, m: special.fdtri(n, m, q),
)
