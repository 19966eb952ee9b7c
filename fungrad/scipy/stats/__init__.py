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
np.float64(-0.197425419579)
"""

import scipy.stats

from fungrad.scipy.names import mirror_of
from fungrad.scipy.stats.counts import *
from fungrad.scipy.stats.gamma_family import *
from fungrad.scipy.stats.kde import *
from fungrad.scipy.stats.location_scale import *
from fungrad.scipy.stats.multivariate import *
from fungrad.scipy.stats.summary import *
from fungrad.scipy.stats.truncated import *

__all__, __dir__, __getattr__ = mirror_of(scipy.stats, globals())
