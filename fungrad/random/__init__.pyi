# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from fungrad.random.dtypes import DType as _DType

def PRNGKey(seed: _ArrayLike, *, impl: str | None = ...) -> _Array: r"""Return a raw key of two 32-bit words: the result of `key`, as plain numbers."""
def clone(key: _Array) -> _Array: r"""Return a key for a second use where keys must not be reused (`fungrad.settings.debug_key_reuse`)."""
def fold_in(key: _Array, data: _ArrayLike) -> _Array: r"""Return the key that comes of a key and a number, such as that of a step."""
def key(seed: _ArrayLike, *, impl: str | None = ..., dtype: _DTypeLike | None = ...) -> _Array: r"""Return the key that an integer is the seed of."""
def key_data(keys: _Array) -> _Array: r"""Return the words that keys are."""
def key_dtype(impl: str | None = ...) -> _DType: r"""Return the dtype of keys of a generator."""
def key_impl(keys: _Array) -> str: r"""Return the name of the generator that keys are for."""
def split(key: _Array, num: int | _Sequence[int] = ...) -> _Array: r"""Return new keys that come of one, which should then be used for nothing else."""
def wrap_key_data(key_bits_array: _ArrayLike, *, impl: str | None = ..., dtype: _DTypeLike | None = ...) -> _Array: r"""Return the keys that words are: the inverse of `key_data`."""
def bernoulli(key: _Array, p: _ArrayLike = ..., shape: int | _Sequence[int] | None = ..., mode: str = ..., *, out_sharding: None = ...) -> _Array: r"""Return booleans that are true with a probability."""
def bits(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return random bits, as unsigned integers."""
def rademacher(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers that are 1 or -1, each with probability 1/2."""
def randint(key: _Array, shape: int | _Sequence[int], minval: _ArrayLike, maxval: _ArrayLike, dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return integers uniformly distributed between two bounds."""
def uniform(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., minval: _ArrayLike = ..., maxval: _ArrayLike = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers uniformly distributed between two bounds."""
def cauchy(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the Cauchy distribution, of density ``1 / (pi * (1 + x**2))``."""
def exponential(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers that are exponentially distributed, with mean 1."""
def gumbel(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., mode: str | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the Gumbel distribution, whose distribution function is ``exp(-exp(-x))``."""
def laplace(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the Laplace distribution, of density ``exp(-abs(x)) / 2``."""
def logistic(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the logistic distribution, whose distribution function is ``1 / (1 + exp(-x))``."""
def pareto(key: _Array, b: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the Pareto distribution, of density ``b / x**(b + 1)`` from 1 on."""
def rayleigh(key: _Array, scale: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the Rayleigh distribution: lengths of pairs of normal numbers."""
def triangular(key: _Array, left: _ArrayLike, mode: _ArrayLike, right: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers whose density is a triangle."""
def weibull_min(key: _Array, scale: _ArrayLike, concentration: _ArrayLike, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ...) -> _Array: r"""Return Weibull numbers: their distribution function is ``1 - exp(-(x / scale)**concentration)``."""
def categorical(key: _Array, logits: _ArrayLike, axis: int = ..., shape: int | _Sequence[int] | None = ..., replace: _bool = ..., mode: str | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of categories, whose probabilities are `softmax` of some logits."""
def choice(key: _Array, a: _ArrayLike, shape: int | _Sequence[int] = ..., replace: _bool = ..., p: _ArrayLike | None = ..., axis: int = ..., mode: str | None = ...) -> _Array: r"""Return elements of an array, chosen at random."""
def permutation(key: _Array, x: _ArrayLike, axis: int = ..., independent: _bool = ..., *, out_sharding: None = ...) -> _Array: r"""Return the elements of an array in a random order."""
def binomial(key: _Array, n: _ArrayLike, p: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ...) -> _Array: r"""Return how many of some trials succeed."""
def geometric(key: _Array, p: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return how many trials it takes until one succeeds."""
def multinomial(key: _Array, n: _ArrayLike, p: _ArrayLike, *, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., unroll: int | _bool = ...) -> _Array: r"""Return how many of some trials have each of several outcomes."""
def poisson(key: _Array, lam: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the Poisson distribution."""
def ball(key: _Array, d: int, p: _ArrayLike = ..., shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return points uniformly distributed in the unit ball of an Lp norm."""
def beta(key: _Array, a: _ArrayLike, b: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return beta numbers, of density ``x**(a - 1) * (1 - x)**(b - 1)`` times a constant."""
def chisquare(key: _Array, df: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the chi-squared distribution: sums of squares of normal numbers."""
def dirichlet(key: _Array, alpha: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return vectors of the Dirichlet distribution: of positive numbers whose sum is 1."""
def f(key: _Array, dfnum: _ArrayLike, dfden: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return F numbers: quotients of chi-squared numbers, each over its degrees of freedom."""
def generalized_normal(key: _Array, p: _ArrayLike, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of density ``exp(-abs(x)**p)`` times a constant."""
def t(key: _Array, df: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of Student's t distribution."""
def gamma(key: _Array, a: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the gamma distribution, of density ``x**(a - 1) * exp(-x)`` times a constant."""
def loggamma(key: _Array, a: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return logarithms of gamma numbers, which for small `a` are too close to 0 themselves."""
def double_sided_maxwell(key: _Array, loc: _ArrayLike, scale: _ArrayLike, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ...) -> _Array: r"""Return numbers of the Maxwell distribution with a random sign."""
def lognormal(key: _Array, sigma: _ArrayLike = ..., shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers whose logarithms are normally distributed, with mean 0."""
def maxwell(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of the Maxwell distribution: lengths of triples of normal numbers."""
def normal(key: _Array, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers that are normally distributed, with mean 0 and variance 1."""
def truncated_normal(key: _Array, lower: _ArrayLike, upper: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return normally distributed numbers of those that lie between two bounds."""
def wald(key: _Array, mean: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return numbers of Wald's distribution, the inverse Gaussian one, of scale 1."""
def multivariate_normal(key: _Array, mean: _ArrayLike, cov: _ArrayLike, shape: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., method: str = ..., *, out_sharding: None = ...) -> _Array: r"""Return normally distributed vectors."""
def orthogonal(key: _Array, n: int, shape: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., m: int | None = ..., *, out_sharding: None = ...) -> _Array: r"""Return orthogonal matrices, uniformly distributed; of a complex dtype, unitary ones."""
