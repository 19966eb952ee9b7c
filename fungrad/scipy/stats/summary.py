"""Statistics of samples: moments, means, ranks, entropy."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from fungrad.core.types import type_of
from fungrad.numpy.promotion import as_tracer
from fungrad.scipy import special
from fungrad.scipy.mirrors import Group, mirrors
from fungrad.scipy.special.sums import floating
from fungrad.transforms.vmap import vmap

__all__ = [
    "entropy", "gmean", "hmean", "kurtosis", "mode", "moment", "rankdata", "sem", "skew",
    "variation", "zscore",
]  # fmt: skip

ModeResult: Any = type(scipy.stats.mode(np.zeros(1)))


@dataclasses.dataclass(frozen=True)
class Over(Group):
    """SciPy's arguments for the elements of a statistic."""

    axis: Any
    nan_policy: str
    keepdims: bool = False

    def sample(self, name: str, a: Any, exact: bool = False) -> tuple[Any, dict[str, Any]]:
        """Return a sample, flattened for `axis` None, and the arguments of reductions of it, by name.

        It is converted to floating-point numbers unless integers may stay `exact`.
        """
        self.check(name)
        x, axis = as_tracer(a) if exact else floating(a)[0], self.axis
        if axis is None:
            x, axis = np.ravel(x), 0
        return x, {"axis": axis, "keepdims": self.keepdims}

    def check(self, name: str) -> None:
        """Raise for requests that need values."""
        if self.nan_policy != "propagate":
            raise ValueError(
                f"{name}: nan_policy={self.nan_policy!r} cannot be used on traced arrays"
            )


def _size(x: Any, axis: Any) -> int:
    return math.prod(x.shape[a] for a in (axis if isinstance(axis, tuple) else (axis,)))


def _centred(x: Any, axis: Any) -> Any:
    return x - np.mean(x, axis=axis, keepdims=True)


def _central(x: Any, order: int, over: dict[str, Any]) -> Any:
    """Return the mean of (x - mean)^order."""
    return np.mean(_centred(x, over["axis"]) ** order, **over)


def _standardized(x: Any, order: int, over: dict[str, Any]) -> Any:
    """Return the central moment in units of the deviation; NaN, without derivative, of constants."""
    second, mean = _central(x, 2, over), np.mean(x, **over)
    varies = second > (np.finfo(x.dtype).resolution * mean) ** 2  # SciPy's threshold
    safe = np.where(varies, second, 1.0)
    return np.where(varies, _central(x, order, over) / safe ** (order / 2), np.nan)


@mirrors(scipy.stats.moment)
def moment(a: Any, order: Any, center: Any, over: Over) -> Any:
    """`order` is one integer."""
    x, along = over.sample("moment", a)
    order = operator.index(order)
    if center is not None:
        return np.mean((x - center) ** order, **along)
    return 0 * np.mean(x, **along) if order == 1 else _central(x, order, along)


@mirrors(scipy.stats.skew)
def skew(a: Any, bias: bool, over: Over) -> Any:
    x, along = over.sample("skew", a)
    value, n = _standardized(x, 3, along), _size(x, along["axis"])
    return value if bias or n <= 2 else value * np.sqrt((n - 1.0) * n) / (n - 2.0)


@mirrors(scipy.stats.kurtosis)
def kurtosis(a: Any, fisher: bool, bias: bool, over: Over) -> Any:
    x, along = over.sample("kurtosis", a)
    value, n = _standardized(x, 4, along), _size(x, along["axis"])
    if not bias and n > 3:
        value = ((n**2 - 1.0) * value - 3 * (n - 1) ** 2.0) / (n - 2) / (n - 3) + 3
    return value - 3 if fisher else value


@mirrors(scipy.stats.variation)
def variation(a: Any, ddof: int, over: Over) -> Any:
    x, along = over.sample("variation", a)
    return np.std(x, ddof=ddof, **along) / np.mean(x, **along)


@mirrors(scipy.stats.sem)
def sem(a: Any, ddof: int, over: Over) -> Any:
    x, along = over.sample("sem", a)
    return np.std(x, ddof=ddof, **along) / _size(x, along["axis"]) ** 0.5


@mirrors(scipy.stats.zscore)
def zscore(a: Any, ddof: int, over: Over) -> Any:
    over.check("zscore")
    (x,) = floating(a)
    return _centred(x, over.axis) / np.std(x, axis=over.axis, ddof=ddof, keepdims=True)


def _mean_of(x: Any, weights: Any, over: dict[str, Any]) -> Any:
    if weights is None:
        return np.mean(x, **over)
    weights = np.broadcast_to(weights, x.shape)
    return np.sum(weights * x, **over) / np.sum(weights, **over)


@mirrors(scipy.stats.gmean)
def gmean(a: Any, dtype: Any, weights: Any, over: Over) -> Any:
    x, along = over.sample("gmean", a if dtype is None else np.astype(a, dtype))
    return np.exp(_mean_of(np.log(x), weights, along))


@mirrors(scipy.stats.hmean)
def hmean(a: Any, dtype: Any, weights: Any, over: Over) -> Any:
    x, along = over.sample("hmean", a if dtype is None else np.astype(a, dtype))
    return 1 / _mean_of(1 / x, weights, along)


@mirrors(scipy.stats.entropy)
def entropy(pk: Any, qk: Any, base: Any, over: Over) -> Any:
    """The probabilities are scaled to a sum of 1 first, and differentiated with that."""
    given = [pk] if qk is None else np.broadcast_arrays(*floating(pk, qk))
    samples = [over.sample("entropy", x) for x in given]
    shares = [x / np.sum(x, axis=along["axis"], keepdims=True) for x, along in samples]
    terms = special.entr(*shares) if qk is None else special.rel_entr(*shares)
    total = np.sum(terms, **samples[0][1])
    return total if base is None else total / np.log(base)


# Ranks


def _along(f: Callable[[Any], Any], x: Any, axis: int) -> Any:
    """Return `f` of each of the vectors along an axis."""
    for _ in range(x.ndim - 1):
        f = vmap(f)
    return f(np.moveaxis(x, axis, -1))


def _ranks(method: str) -> Callable[[Any], Any]:
    def of_vector(x: Any) -> Any:
        if method == "ordinal":
            return np.argsort(np.argsort(x, kind="stable")) + 1
        ordered = np.sort(x)
        if method == "dense":
            new = np.concatenate([np.ones(1, bool), ordered[1:] != ordered[:-1]])
            return np.cumsum(new)[np.searchsorted(ordered, x)]
        below, upto = (np.searchsorted(ordered, x, side) for side in ("left", "right"))
        return {"min": below + 1, "max": upto, "average": (below + upto + 1) / 2}[method]

    return of_vector


@mirrors(scipy.stats.rankdata)
def rankdata(a: Any, method: str, over: Over) -> Any:
    """Ranks are steps: their derivative is 0."""
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    x, along = over.sample("rankdata", a, exact=True)
    axis = along["axis"]
    if x.size == 0:
        raise ValueError("rankdata: of an empty array there are no ranks under a transform")
    ranks = np.moveaxis(_along(_ranks(method), x, axis), -1, axis)
    return ranks.astype(_dtype_of_ranks(method, type_of(x).dtype), copy=False)


@functools.cache
def _dtype_of_ranks(method: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that SciPy gives ranks: since version 1.18 they are floating-point numbers."""
    return scipy.stats.rankdata(np.zeros(1, dtype), method).dtype


@mirrors(scipy.stats.mode)
def mode(a: Any, over: Over) -> Any:
    """Of values equally frequent, the smallest; counts have no derivative."""
    x, along = over.sample("mode", a, exact=True)
    axis = along["axis"]

    def of_vector(v: Any) -> Any:
        ordered = np.sort(v)
        upto, below = (np.searchsorted(ordered, ordered, side) for side in ("right", "left"))
        counts = upto - below
        return np.take(ordered, np.argmax(counts)), np.max(counts)

    fields = _along(of_vector, x, axis)
    if over.keepdims and over.axis is None:
        fields = [np.reshape(y, (1,) * np.ndim(a)) for y in fields]
    elif over.keepdims:
        fields = [np.expand_dims(y, axis) for y in fields]
    return ModeResult(*fields)
