# As SciPy 1.17 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from scipy.stats._stats_py import ModeResult
from fungrad.scipy.stats.continuous import Continuous as _Continuous
from fungrad.scipy.stats.discrete import Discrete as _Discrete
from fungrad.scipy.stats.multivariate import Dirichlet as _Dirichlet
from fungrad.scipy.stats.multivariate import Multinomial as _Multinomial
from fungrad.scipy.stats.multivariate import MultivariateNormal as _MultivariateNormal

bernoulli: _Discrete
beta: _Continuous
betabinom: _Discrete
binom: _Discrete
cauchy: _Continuous
chi2: _Continuous
dirichlet: _Dirichlet
def entropy(pk: _ArrayLike, qk: _ArrayLike | None = ..., base: _ArrayLike | None = ..., axis: int | _Sequence[int] = ..., *, nan_policy: str = ..., keepdims: _bool = ...) -> _Array: r"""Calculate the Shannon entropy/relative entropy of given distribution(s)."""
expon: _Continuous
f: _Continuous
gamma: _Continuous
from fungrad.scipy.stats.kde import gaussian_kde as gaussian_kde
gennorm: _Continuous
geom: _Discrete
def gmean(a: _ArrayLike, axis: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., weights: _ArrayLike | None = ..., *, nan_policy: str = ..., keepdims: _bool = ...) -> _Array: r"""Compute the weighted geometric mean along the specified axis."""
gumbel_l: _Continuous
gumbel_r: _Continuous
halfnorm: _Continuous
def hmean(a: _ArrayLike, axis: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, weights: _ArrayLike | None = ..., nan_policy: str = ..., keepdims: _bool = ...) -> _Array: r"""Calculate the weighted harmonic mean along the specified axis."""
invgamma: _Continuous
def kurtosis(a: _ArrayLike, axis: int | _Sequence[int] = ..., fisher: _bool = ..., bias: _bool = ..., nan_policy: str = ..., *, keepdims: _bool = ...) -> _Array: r"""Compute the kurtosis (Fisher or Pearson) of a dataset."""
laplace: _Continuous
logistic: _Continuous
lognorm: _Continuous
def mode(a: _ArrayLike, axis: int | _Sequence[int] = ..., nan_policy: str = ..., keepdims: _bool = ...) -> ModeResult: r"""Return an array of the modal (most common) value in the passed array."""
def moment(a: _ArrayLike, order: str = ..., axis: int | _Sequence[int] = ..., nan_policy: str = ..., *, center: _ArrayLike | None = ..., keepdims: _bool = ...) -> _Array: r"""Calculate the nth moment about the mean for a sample."""
multinomial: _Multinomial
multivariate_normal: _MultivariateNormal
nbinom: _Discrete
norm: _Continuous
pareto: _Continuous
poisson: _Discrete
def rankdata(a: _ArrayLike, method: str = ..., *, axis: int | _Sequence[int] | None = ..., nan_policy: str = ...) -> _Array: r"""Assign ranks to data, dealing with ties appropriately."""
rayleigh: _Continuous
def sem(a: _ArrayLike, axis: int | _Sequence[int] = ..., ddof: int = ..., nan_policy: str = ..., *, keepdims: _bool = ...) -> _Array: r"""Compute standard error of the mean."""
def skew(a: _ArrayLike, axis: int | _Sequence[int] = ..., bias: _bool = ..., nan_policy: str = ..., *, keepdims: _bool = ...) -> _Array: r"""Compute the sample skewness of a data set."""
skewnorm: _Continuous
t: _Continuous
truncnorm: _Continuous
uniform: _Continuous
def variation(a: _ArrayLike, axis: int | _Sequence[int] = ..., nan_policy: str = ..., ddof: int = ..., *, keepdims: _bool = ...) -> _Array: r"""Compute the coefficient of variation."""
vonmises: _Continuous
weibull_min: _Continuous
wrapcauchy: _Continuous
def zscore(a: _ArrayLike, axis: int | _Sequence[int] = ..., ddof: int = ..., nan_policy: str = ...) -> _Array: r"""Compute the z score."""
