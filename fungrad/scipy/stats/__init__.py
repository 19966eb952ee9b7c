"""`scipy.stats` for traced arrays, and SciPy's own functions on plain ones.

Distributions have SciPy's signatures, ``norm.logpdf(x, loc=0, scale=1)``, ``gamma.cdf(x, a, loc=0, scale=1)``, and are
differentiable by the argument, the shapes, `loc` and `scale`. Results are of double precision, as SciPy's. Outside of the
support the logarithm of a density is the constant -inf; for invalid parameters values are NaN.

===============================================================  =============================================
Distributions                                                    Methods for traced arrays
===============================================================  =============================================
`beta`, `cauchy`, `chi2`, `expon`, `f`, `gamma`, `gennorm`,      pdf, logpdf, cdf, logcdf, sf, logsf, ppf, isf
`gumbel_l`, `gumbel_r`, `halfnorm`, `invgamma`, `laplace`,
`logistic`, `lognorm`, `norm`, `pareto`, `rayleigh`, `t`,
`truncnorm`, `uniform`, `weibull_min`, `wrapcauchy`
`skewnorm`                                                       the same without ppf, isf
`vonmises`                                                       pdf, logpdf
`bernoulli`, `binom`, `geom`, `nbinom`, `poisson`                pmf, logpmf, cdf, logcdf, sf, logsf
`betabinom`                                                      pmf, logpmf
`dirichlet`, `multivariate_normal`; `multinomial`                pdf, logpdf; pmf, logpmf
===============================================================  =============================================

Other methods are SciPy's and take plain arrays. Of samples there are `entropy`, `gaussian_kde`, `gmean`, `hmean`, `kurtosis`, `mode`, `moment`,
`rankdata`, `sem`, `skew`, `variation`, `zscore`. None of these can be called as ``scipy.stats.f(tracer)``: SciPy converts arguments
to arrays, which raises an error.

>>> import fungrad as fg
>>> from fungrad.scipy import stats
>>> stats.norm.logpdf(1.0)
np.float64(-1.4189385332)
>>> fg.grad(stats.norm.logpdf, (0, 1, 2))(1.0, 0.5, 2.0)
(np.float64(-0.125), np.float64(0.125), np.float64(-0.46875))
>>> fg.grad(lambda a: stats.gamma.cdf(3.0, a))(2.0)
np.float64(-0.19742541957920)
"""

from typing import Any

import scipy.stats

from fungrad.scipy.names import missing_name
from fungrad.scipy.stats.discrete import bernoulli, betabinom, binom, geom, nbinom, poisson
from fungrad.scipy.stats.gamma_family import beta, chi2, f, gamma, gennorm, invgamma, t
from fungrad.scipy.stats.kde import gaussian_kde
from fungrad.scipy.stats.location_scale import (
    cauchy,
    expon,
    gumbel_l,
    gumbel_r,
    halfnorm,
    laplace,
    logistic,
    lognorm,
    norm,
    pareto,
    rayleigh,
    skewnorm,
    uniform,
    vonmises,
    weibull_min,
    wrapcauchy,
)
from fungrad.scipy.stats.multivariate import dirichlet, multinomial, multivariate_normal
from fungrad.scipy.stats.summary import (
    entropy,
    gmean,
    hmean,
    kurtosis,
    mode,
    moment,
    rankdata,
    sem,
    skew,
    variation,
    zscore,
)
from fungrad.scipy.stats.truncated import truncnorm

# fmt: off
__all__ = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "entropy", "expon", "f",
    "gamma", "gaussian_kde", "gennorm", "geom", "gmean", "gumbel_l", "gumbel_r", "halfnorm", "hmean",
    "invgamma", "kurtosis", "laplace", "logistic", "lognorm", "mode", "moment", "multinomial",
    "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "rankdata", "rayleigh", "sem",
    "skew", "skewnorm", "t", "truncnorm", "uniform", "variation", "vonmises", "weibull_min",
    "wrapcauchy", "zscore",
]
# fmt: on


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    raise missing_name(scipy.stats, name, __all__)
