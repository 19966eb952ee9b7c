"""Averages, order statistics and correlations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implements, not_for_tracers
from fungrad.numpy.indexing import getitem
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import apply, as_array, as_tracer, broadcast_to, cast
from fungrad.numpy.reductions import (
    is_exact,
    mean,
    merged,
    reduce,
    sum,
    with_axes,
)
from fungrad.numpy.shape import moveaxis, permuted, reshaped
from fungrad.primitives import elementwise as e
from fungrad.primitives.indexing import take_along_axis
from fungrad.primitives.shaping import slice_axis
from fungrad.primitives.sorting import Sort

# Averages


def _weights(weights: Any, x: Tracer, axes: tuple[int, ...] | None) -> Tracer:
    """Return weights as a tracer that broadcasts against `x`; raise NumPy's errors."""
    w = as_tracer(weights)
    if w.shape == x.shape:
        return w
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple([x.shape[i] for i in axes]):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    w = permuted(w, tuple(np.argsort(axes).tolist()))
    return reshaped(w, tuple([n if i in axes else 1 for i, n in enumerate(x.shape)]))


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """Weights that sum to zero are not an error: the average is NaN or infinite."""
    x = as_tracer(a)
    axes = None if axis is None else normalize_axis_tuple(axis, x.ndim, argname="axis")
    if weights is None:
        result = mean(x, axes, keepdims=keepdims)
        total: Any = np.asarray(x.size / result.size, result.dtype)
    else:
        w = _weights(weights, x, axes)
        dtypes = [x.dtype, w.dtype] + [np.dtype(np.float64)] * is_exact(x.dtype)
        dtype = np.result_type(*dtypes)
        w = broadcast_to(cast(w, dtype), x.shape)
        total = sum(w, axes, keepdims=keepdims)
        result = apply(e.div, (sum(e.mul(cast(x, dtype), w), axes, keepdims=keepdims), total))
    if not returned:
        return result
    return result, broadcast_to(as_tracer(total), result.shape)


# Order statistics


def _sorted(a: Any, axis: Any) -> tuple[Tracer, tuple[int, ...]]:
    """Return the array sorted along `axis`, which becomes the first, and the axes it stands for."""
    x = as_tracer(a)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    flat: Any = merged(x, axes)
    return moveaxis(Sort(flat.ndim - 1, 1, False)(flat)[0], -1, 0), axes


def _at(x: Tracer, start: int, stop: int) -> Any:
    return slice_axis(x, 0, start, stop)


def _last(x: Tracer) -> Any:
    """Return the last element of sorted ones: NaN if there is a NaN."""
    return reshaped(_at(x, x.shape[0] - 1, x.shape[0]), x.shape[1:])


def _nan_wins(x: Tracer, result: Any) -> Any:
    """Return the result for sorted elements, NaN where there is a NaN among them."""
    if is_exact(x.dtype) or not x.shape[0]:
        return result
    last = _last(x)
    return promotion.where(broadcast_to(e.isnan(last), result.shape), last, result)


@implements(np.median)
def median(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = False,
) -> Any:
    not_for_tracers("median", {"out": out})
    x, axes = _sorted(a, axis)
    n = x.shape[0]
    middle = _at(x, max(n - 1, 0) // 2, n // 2 + 1 if n else 0)
    result = _nan_wins(x, mean(middle, 0))
    return with_axes(result, np.shape(a), axes) if keepdims else result


# Where in n sorted elements the q-quantile is (R. Hyndman & Y. Fan, "Sample quantiles in statistical
# packages", 1996); between two places, it is interpolated. These work on arrays and on tracers.


def _linear(n: Any, q: Any) -> Any:
    return (n - 1) * q


def _continuous(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _averaged(n: Any, q: Any) -> Any:
    at = n * q - 1
    return np.floor(at) + np.where(np.equal(at % 1, 0), 0.5, 1.0)


def _closest(n: Any, q: Any) -> Any:
    at = n * q - 1.5
    is_odd = np.logical_and(np.equal(at % 1, 0), np.equal(np.floor(at) % 2, 1))
    return np.floor(at) + np.where(is_odd, 0, 1)


_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _continuous(0, 1),
    "hazen": _continuous(0.5, 0.5),
    "weibull": _continuous(0, 0),
    "linear": _linear,
    "median_unbiased": _continuous(1 / 3, 1 / 3),
    "normal_unbiased": _continuous(3 / 8, 3 / 8),
    "lower": lambda n, q: np.floor(_linear(n, q)),
    "higher": lambda n, q: np.ceil(_linear(n, q)),
    "midpoint": lambda n, q: 0.5 * (np.floor(_linear(n, q)) + np.ceil(_linear(n, q))),
    "nearest": lambda n, q: np.rint(_linear(n, q)),
}
_DISCRETE = {"inverted_cdf", "closest_observation", "lower", "higher", "nearest"}


def _between(low: Any, high: Any, share: Any) -> Any:
    """Interpolate, from the nearer end."""
    difference = high - low
    nearer_high = np.greater_equal(share, 0.5)
    known = type(share) is not Tracer
    if known and not nearer_high.any():
        return low + difference * share
    from_high = high - difference * (1 - share)
    if known and nearer_high.all():
        return from_high
    return np.where(nearer_high, from_high, low + difference * share)


def _quantile(
    a: Any, q: Any, axis: Any, method: str, keepdims: Any, percent: bool, ignore_nan: bool = False
) -> Any:
    if type_of(as_array(a)).dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    q = as_array(q)
    weak = type_of(q).weak
    q = q / 100 if percent else q
    if type(q) is not Tracer and not np.logical_and(np.less_equal(0, q), np.less_equal(q, 1)).all():
        kind, limit = ("Percentiles", 100) if percent else ("Quantiles", 1)
        raise ValueError(f"{kind} must be in the range [0, {limit}]")
    shape = np.shape(q)
    if len(shape) > 2:
        raise ValueError("q must be a scalar or 1d")
    if method not in _PLACES:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {_PLACES.keys()}")
    x, axes = _sorted(a, axis)
    n: Any = x.shape[0]
    if not n:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    ignore_nan = ignore_nan and not is_exact(x.dtype)
    if ignore_nan:
        # Of NaNs alone the first is taken.
        n = np.maximum(reduce(np.add, e.logical_not(e.isnan(x)), 0, np.intp), 1)
    rest = x.shape[1:]
    place = _PLACES[method](n, np.reshape(q, (*shape, *[1] * len(rest))))
    below = np.floor(place)

    def at(index: Any) -> Any:
        index = np.minimum(np.maximum(index, 0), n - 1).astype(np.intp)
        if not ignore_nan:
            return getitem(x, np.reshape(index, shape))
        rows = reshaped(index, (math.prod(shape), *rest))
        return reshaped(take_along_axis(x, rows, 0), (*shape, *rest))

    if method in _DISCRETE or type_of(place).dtype.kind in "iu":
        result = at(below)
    else:
        share = place - below
        if weak and not is_exact(x.dtype):
            share = share.astype(x.dtype)
        result = _between(at(below), at(below + 1), share)
    if not ignore_nan:
        result = _nan_wins(x, result)
    if keepdims:
        kept = [1 if i in axes else length for i, length in enumerate(np.shape(a))]
        result = reshaped(result, (*shape, *kept))
    return result


@implements(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Differentiable in `q` too. Traced, `weights` are not supported."""
    not_for_tracers("quantile", {"out": out, "weights": weights})
    return _quantile(a, q, axis, method, keepdims, False)


@implements(np.percentile)
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Differentiable in `q` too. Traced, `weights` are not supported."""
    not_for_tracers("percentile", {"out": out, "weights": weights})
    return _quantile(a, q, axis, method, keepdims, True)


@implements(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Differentiable in `q` too. Traced, `weights` are not supported."""
    not_for_tracers("nanquantile", {"out": out, "weights": weights})
    return _quantile(a, q, axis, method, keepdims, False, True)


@implements(np.nanpercentile)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Differentiable in `q` too. Traced, `weights` are not supported."""
    not_for_tracers("nanpercentile", {"out": out, "weights": weights})
    return _quantile(a, q, axis, method, keepdims, True, True)


@implements(np.nanmedian)
def nanmedian(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = False,
) -> Any:
    not_for_tracers("nanmedian", {"out": out})
    x = as_tracer(a)
    if is_exact(x.dtype):
        return median(x, axis, keepdims=keepdims)
    return _quantile(x, 0.5, axis, "linear", keepdims, False, True)


# Correlations


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    given = [as_tracer(z) for z in (m, y) if z is not None]
    for name, z in zip("my", given, strict=False):
        if z.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(*[z.dtype for z in given], np.float64)
    rows = []
    for z in given:
        row = np.atleast_2d(cast(z, np.dtype(dtype)))
        rows.append(row if rowvar or row.shape[0] == 1 else row.T)
    x: Any = joined(rows, 0)
    if ddof is None:
        ddof = 0 if bias else 1
    weights = []
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is not None:
            w = as_tracer(w)
            if w.ndim > 1:
                raise RuntimeError(f"cannot handle multidimensional {name}")
            if w.shape[0] != x.shape[1]:
                raise RuntimeError(f"incompatible numbers of samples and {name}")
            weights.append(w)
    if not weights:
        centred = x - mean(x, 1, keepdims=True)
        return _scaled_product(centred, centred, x.shape[1] - ddof)
    w = weights[0] if len(weights) == 1 else apply(e.mul, weights)
    total = sum(w)
    centred = x - average(x, 1, w, keepdims=True)
    if ddof and aweights is not None:
        ddof = ddof * sum(apply(e.mul, (w, aweights))) / total
    return _scaled_product(centred, centred * w, total - ddof)


def _scaled_product(x: Any, y: Any, number: Any) -> Any:
    product = np.dot(x, np.conjugate(y.T))
    result = np.squeeze(product * np.true_divide(1, np.maximum(number, 0)))
    return cast(result, product.dtype)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = np.sqrt(e.real(np.diagonal(c)))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        return e.complex_(np.clip(e.real(c), -1, 1), np.clip(e.imag(c), -1, 1))
    return np.clip(c, -1, 1)
