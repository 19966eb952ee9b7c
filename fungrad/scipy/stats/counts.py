"""Distributions of counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.scipy import special
from fungrad.scipy.stats.discrete import Discrete

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]


def log_choose(n: Any, k: Any) -> Any:
    """Return the logarithm of the binomial coefficient."""
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


def is_probability(p: Any) -> tuple[Any, ...]:
    """Return the conditions that p is in [0, 1]."""
    return p >= 0, p <= 1


def is_count(n: Any) -> tuple[Any, ...]:
    """Return the conditions that n is a number of trials."""
    return n >= 0, np.floor(n) == n


def is_success(p: Any) -> tuple[Any, ...]:
    """Return the conditions that p, the probability of a success, is in (0, 1]."""
    return p > 0, p <= 1


bernoulli = Discrete(
    "bernoulli",
    "p",
    support=(0.0, 1.0),
    valid=is_probability,
    example=(0.5,),
    logpmf=lambda k, p: special.xlogy(k, p) + special.xlog1py(1 - k, -p),
    cdf=lambda k, p: np.where(k < 1, 1 - p, 1.0),
    sf=lambda k, p: np.where(k < 1, p, 0.0),
)
binom = Discrete(
    "binom",
    "n",
    "p",
    support=lambda n, p: (0.0, n),
    valid=lambda n, p: (*is_count(n), *is_probability(p)),
    example=(1.0, 0.5),
    counts=("n",),
    logpmf=lambda k, n, p: log_choose(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p),
    cdf=lambda k, n, p: special.bdtr(k, n, p),
    sf=lambda k, n, p: special.bdtrc(k, n, p),
)
betabinom = Discrete(
    "betabinom",
    "n",
    "a",
    "b",
    support=lambda n, a, b: (0.0, n),
    valid=lambda n, a, b: (*is_count(n), a > 0, b > 0),
    counts=("n",),
    logpmf=lambda k, n, a, b: (
        log_choose(n, k) + special.betaln(k + a, n - k + b) - special.betaln(a, b)
    ),
)
geom = Discrete(
    "geom",
    "p",
    support=(1.0, math.inf),
    valid=is_success,
    example=(0.5,),
    logpmf=lambda k, p: special.xlog1py(k - 1, -p) + np.log(p),
    cdf=lambda k, p: -np.expm1(special.xlog1py(k, -p)),
    sf=lambda k, p: np.exp(special.xlog1py(k, -p)),
    logsf=lambda k, p: special.xlog1py(k, -p),
)
nbinom = Discrete(
    "nbinom",
    "n",
    "p",
    support=(0.0, math.inf),
    valid=lambda n, p: (n > 0, *is_success(p)),
    example=(1.0, 0.5),
    logpmf=lambda k, n, p: (
        special.gammaln(n + k)
        - special.gammaln(k + 1)
        - special.gammaln(n)
        + n * np.log(p)
        + special.xlog1py(k, -p)
    ),
    cdf=lambda k, n, p: special.betainc(n, k + 1, p),
    sf=lambda k, n, p: special.betaincc(n, k + 1, p),
)
poisson = Discrete(
    "poisson",
    "mu",
    support=(0.0, math.inf),
    valid=lambda mu: (mu >= 0,),
    logpmf=lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1) - mu,
    cdf=lambda k, mu: special.gammaincc(k + 1, mu),
    sf=lambda k, mu: special.gammainc(k + 1, mu),
)
