"""Statistics of samples: moments, means, ranks, entropy."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from fungrad.core.types import type_of
from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import as_tracer
from fungrad.scipy import special
from fungrad.scipy.special.sums import floating
from fungrad.transforms.vmap import vmap

ModeResult: Any = type(scipy.stats.mode(np.zeros(1)))


def _sample(name: str, a: Any, axis: Any, nan_policy: str, exact: bool = False) -> tuple[Any, Any]:
    """Return the sample as a tracer, flattened for `axis` None, and the axis.

    It is converted to floating-point numbers unless integers may stay `exact`.
    """
    if nan_policy != "propagate":
        raise ValueError(f"{name}: nan_policy={nan_policy!r} cannot be used on traced arrays")
    x = as_tracer(a) if exact else floating(a)[0]
    return (np.ravel(x), 0) if axis is None else (x, axis)


def _size(x: Any, axis: Any) -> int:
    axes = axis if isinstance(axis, tuple) else (axis,)
    size = 1
    for a in axes:
        size *= x.shape[a]
    return size


def _central(x: Any, order: int, axis: Any, keepdims: bool) -> Any:
    """Return the mean of (x - mean)^order."""
    centred = x - np.mean(x, axis=axis, keepdims=True)
    return np.mean(centred**order, axis=axis, keepdims=keepdims)


def _standardized(x: Any, order: int, axis: Any, keepdims: bool) -> Any:
    """Return the central moment in units of the deviation; NaN, without derivative, of constants."""
    second = _central(x, 2, axis, keepdims)
    mean = np.mean(x, axis=axis, keepdims=keepdims)
    varies = second > (np.finfo(x.dtype).resolution * mean) ** 2  # SciPy's threshold
    safe = np.where(varies, second, 1.0)
    ratio = _central(x, order, axis, keepdims) / safe ** (order / 2)
    return np.where(varies, ratio, np.nan)


@implements(scipy.stats.moment)
def moment(
    a: Any, order: Any = 1, axis: Any = 0, nan_policy: str = "propagate", *, center: Any = None,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """`order` is one integer."""
    x, axis = _sample("moment", a, axis, nan_policy)
    order = operator.index(order)
    if center is not None:
        return np.mean((x - center) ** order, axis=axis, keepdims=keepdims)
    if order == 1:
        return 0 * np.mean(x, axis=axis, keepdims=keepdims)
    return _central(x, order, axis, keepdims)


@implements(scipy.stats.skew)
def skew(
    a: Any,
    axis: Any = 0,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    x, axis = _sample("skew", a, axis, nan_policy)
    value, n = _standardized(x, 3, axis, keepdims), _size(x, axis)
    return value if bias or n <= 2 else value * np.sqrt((n - 1.0) * n) / (n - 2.0)


@implements(scipy.stats.kurtosis)
def kurtosis(
    a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    x, axis = _sample("kurtosis", a, axis, nan_policy)
    value, n = _standardized(x, 4, axis, keepdims), _size(x, axis)
    if not bias and n > 3:
        value = ((n**2 - 1.0) * value - 3 * (n - 1) ** 2.0) / (n - 2) / (n - 3) + 3
    return value - 3 if fisher else value


@implements(scipy.stats.variation)
def variation(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> Any:
    x, axis = _sample("variation", a, axis, nan_policy)
    deviation = np.std(x, axis=axis, ddof=ddof, keepdims=keepdims)
    return deviation / np.mean(x, axis=axis, keepdims=keepdims)


@implements(scipy.stats.sem)
def sem(
    a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    x, axis = _sample("sem", a, axis, nan_policy)
    return np.std(x, axis=axis, ddof=ddof, keepdims=keepdims) / _size(x, axis) ** 0.5


@implements(scipy.stats.zscore)
def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    if nan_policy != "propagate":
        raise ValueError(f"zscore: nan_policy={nan_policy!r} cannot be used on traced arrays")
    (x,) = floating(a)
    centred = x - np.mean(x, axis=axis, keepdims=True)
    return centred / np.std(x, axis=axis, ddof=ddof, keepdims=True)


def _mean_of(x: Any, weights: Any, axis: Any, keepdims: bool) -> Any:
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    weights = np.broadcast_to(weights, x.shape)
    weighted = np.sum(weights * x, axis=axis, keepdims=keepdims)
    return weighted / np.sum(weights, axis=axis, keepdims=keepdims)


@implements(scipy.stats.gmean)
def gmean(
    a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    x, axis = _sample("gmean", a if dtype is None else np.astype(a, dtype), axis, nan_policy)
    return np.exp(_mean_of(np.log(x), weights, axis, keepdims))


@implements(scipy.stats.hmean)
def hmean(
    a: Any, axis: Any = 0, dtype: Any = None, *, weights: Any = None, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    x, axis = _sample("hmean", a if dtype is None else np.astype(a, dtype), axis, nan_policy)
    return 1 / _mean_of(1 / x, weights, axis, keepdims)


@implements(scipy.stats.entropy)
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The probabilities are scaled to a sum of 1 first, and differentiated with that."""
    if qk is None:
        p, axis = _sample("entropy", pk, axis, nan_policy)
        terms = special.entr(p / np.sum(p, axis=axis, keepdims=True))
    else:
        p, q = floating(pk, qk)
        p, q = np.broadcast_arrays(p, q)
        (p, along), (q, _) = (_sample("entropy", x, axis, nan_policy) for x in (p, q))
        axis = along
        terms = special.rel_entr(
            p / np.sum(p, axis=axis, keepdims=True), q / np.sum(q, axis=axis, keepdims=True)
        )
    total = np.sum(terms, axis=axis, keepdims=keepdims)
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


@implements(scipy.stats.rankdata)
def rankdata(
    a: Any, method: str = "average", *, axis: Any = None, nan_policy: str = "propagate"
) -> Any:
    """Ranks are steps: their derivative is 0."""
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    x, along = _sample("rankdata", a, axis, nan_policy, exact=True)
    if x.size == 0:
        raise ValueError("rankdata: of an empty array there are no ranks under a transform")
    ranks = np.moveaxis(_along(_ranks(method), x, along), -1, along)
    return ranks.astype(_dtype_of_ranks(method, type_of(x).dtype), copy=False)


@functools.cache
def _dtype_of_ranks(method: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that SciPy gives ranks: since version 1.18 they are floating-point numbers."""
    return scipy.stats.rankdata(np.zeros(1, dtype), method).dtype  # type: ignore[no-any-return]


@implements(scipy.stats.mode)
def mode(a: Any, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False) -> Any:
    """Of values equally frequent, the smallest; counts have no derivative."""
    x, along = _sample("mode", a, axis, nan_policy, exact=True)
    dims = (1,) * np.ndim(a) if axis is None and keepdims else None

    def of_vector(v: Any) -> Any:
        ordered = np.sort(v)
        upto, below = (np.searchsorted(ordered, ordered, side) for side in ("right", "left"))
        counts = upto - below
        return np.take(ordered, np.argmax(counts)), np.max(counts)

    value, count = _along(of_vector, x, along)
    if dims is not None:
        return ModeResult(np.reshape(value, dims), np.reshape(count, dims))
    if keepdims:
        value, count = np.expand_dims(value, along), np.expand_dims(count, along)
    return ModeResult(value, count)
