"""Order statistics: medians, quantiles and percentiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import Shape, type_of
from fungrad.numpy import promotion
from fungrad.numpy.cumulative import cumsum
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.indexing import getitem
from fungrad.numpy.promotion import as_array, as_tracer, broadcast_to
from fungrad.numpy.reductions import is_exact, mean, merged, reduce, with_axes
from fungrad.numpy.shaping import moveaxis, reshaped
from fungrad.numpy.statistics import broadcast_weights
from fungrad.primitives import elementwise as e
from fungrad.primitives.indexing import take_along_axis
from fungrad.primitives.slices import slice_axis
from fungrad.primitives.sorting import ArgSort, Sort


def _sorted(a: Any, axis: Any) -> tuple[Tracer, tuple[int, ...]]:
    """Return the array with the axes of `axis` merged into one, first and sorted; and these axes."""
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


def _weighted(x: Any, cut: Any, rest: Shape, w: Any, ignore_nan: bool) -> Any:
    """Return weighted quantiles: the least elements up to which there is a share `cut` of the weight.

    This is the inverse of the empirical distribution function (R. Hyndman & Y. Fan, method 1), which is
    piecewise constant: it has no derivative by weights and shares.

    Parameters
    ----------
    x, w
        Elements and weights. Quantiles are taken along the first axis.
    cut
        The shares, with a further axis of length 1 for each of `rest`, the lengths of the other axes of `x`.
    """
    order = ArgSort(0)(x)
    x, w = take_along_axis(x, order, 0), take_along_axis(w, order, 0)
    absent = None if is_exact(x.dtype) else e.isnan(x)
    if ignore_nan and absent is not None:
        w = promotion.where(absent, 0, w)
    negative = known_value(reduce(np.logical_or, w < 0))
    if negative is not None and bool(negative):
        raise ValueError("Weights must be non-negative.")
    reached = cumsum(w, 0, dtype=np.float64)
    total = _last(reached)
    some = np.isfinite(total) & np.not_equal(total, 0)
    if ignore_nan and absent is not None:  # of NaNs alone the quantile is NaN, whatever the weights
        some = some | reshaped(_at(absent, 0, 1), rest)
    known = known_value(reduce(np.logical_and, some))
    if known is not None and not known:
        raise ValueError("Weights included NaN, inf or were all zero.")
    reached = reached / promotion.where(np.not_equal(total, 0), total, 1)
    if type_of(cut).dtype.kind == "f":
        reached = reached.astype(type_of(cut).dtype)
    # Elements before the first positive weight are never chosen, not even for a share of zero: -1 is less than any share.
    reached = np.where(np.equal(reached, 0), -1, reached)
    before = np.less(reached, np.expand_dims(cut, -len(rest) - 1))
    place = np.minimum(before.sum(axis=-len(rest) - 1), x.shape[0] - 1)
    rows = reshaped(place, (math.prod(place.shape[: place.ndim - len(rest)]), *rest))
    return reshaped(take_along_axis(x, rows, 0), place.shape)


def _shares(a: Any, q: Any, percent: bool) -> tuple[Any, bool]:
    """Return the shares that quantiles of `a` are asked for, and whether they are Python's numbers."""
    if type_of(as_array(a)).dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    q = as_array(q)
    weak = type_of(q).weak
    q = q / 100 if percent else q
    if type(q) is not Tracer and not np.logical_and(np.less_equal(0, q), np.less_equal(q, 1)).all():
        kind, limit = ("Percentiles", 100) if percent else ("Quantiles", 1)
        raise ValueError(f"{kind} must be in the range [0, {limit}]")
    return q, weak


def _quantile(
    a: Any,
    q: Any,
    axis: Any,
    method: str,
    keepdims: Any,
    percent: bool,
    ignore_nan: bool = False,
    weights: Any = None,
) -> Any:
    q, weak = _shares(a, q, percent)
    shape = np.shape(q)
    if len(shape) > 2:
        raise ValueError("q must be a scalar or 1d")
    if method not in _PLACES:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {_PLACES.keys()}")
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    a = as_array(a)
    if ignore_nan and not np.size(a):
        return np.nanmean(as_tracer(a), axis, keepdims=keepdims)  # whatever q, as in NumPy
    x, axes = _sorted(a, axis)
    if not x.shape[0]:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if weights is None:
        quantiles = _interpolated(x, q, method, weak, ignore_nan and not is_exact(x.dtype))
    else:
        full = as_tracer(a)
        along = None if axis is None else normalize_axis_tuple(axis, full.ndim)
        w = broadcast_to(broadcast_weights(weights, full, along), full.shape)
        elements, w = (moveaxis(merged(y, axes), -1, 0) for y in (full, w))
        cut = np.reshape(q, (*shape, *[1] * (x.ndim - 1)))
        quantiles = _weighted(elements, cut, x.shape[1:], w, ignore_nan)
    result = quantiles if ignore_nan else _nan_wins(x, quantiles)
    if keepdims:
        kept = [1 if i in axes else length for i, length in enumerate(np.shape(a))]
        result = reshaped(result, (*shape, *kept))
    return result


def _interpolated(x: Tracer, q: Any, method: str, weak: bool, ignore_nan: bool) -> Any:
    """Return quantiles of sorted elements; with `ignore_nan`, NaNs at their end do not count."""
    n: Any = _count(x) if ignore_nan else x.shape[0]
    shape, rest = np.shape(q), x.shape[1:]
    place = _PLACES[method](n, np.reshape(q, (*shape, *[1] * len(rest))))
    below = np.floor(place)

    def at(index: Any) -> Any:
        index = np.minimum(np.maximum(index, 0), n - 1).astype(np.intp)
        if not ignore_nan:
            return getitem(x, np.reshape(index, shape))
        rows = reshaped(index, (math.prod(shape), *rest))
        return reshaped(take_along_axis(x, rows, 0), (*shape, *rest))

    if method in _DISCRETE or type_of(place).dtype.kind in "iu":
        return at(below)
    share = place - below
    if weak and not is_exact(x.dtype):
        share = share.astype(x.dtype)
    # Without a share of the next element, which may be infinite, it is not looked at: this method has shares of 0 and 1/2.
    above = below + (np.not_equal(share, 0) if method == "averaged_inverted_cdf" else 1)
    return _between(at(below), at(above), share)


def _count(x: Tracer) -> Any:
    """Return how many elements along the first axis are not NaN; 1 if all are, so that a NaN is taken."""
    return np.maximum(reduce(np.add, e.logical_not(e.isnan(x)), 0, np.intp), 1)


def _quantiles(numpy_function: Any, percent: bool, ignore_nan: bool) -> Any:
    def rule(
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
        """Differentiable in `q` too, except with `weights`."""
        return _quantile(a, q, axis, method, keepdims, percent, ignore_nan, weights)

    return implemented(rule, numpy_function)


quantile, percentile = _quantiles(np.quantile, False, False), _quantiles(np.percentile, True, False)
nanquantile = _quantiles(np.nanquantile, False, True)
nanpercentile = _quantiles(np.nanpercentile, True, True)


@implements(np.nanmedian)
def nanmedian(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = False,
) -> Any:
    x = as_tracer(a)
    if is_exact(x.dtype):
        return median(x, axis, keepdims=keepdims)
    if not x.size:
        return np.nanmean(x, axis, keepdims=keepdims)
    ordered, axes = _sorted(x, axis)
    n = _count(ordered)
    middle = take_along_axis(ordered, np.stack([(n - 1) // 2, n // 2]), 0)
    result = mean(middle, 0)
    return with_axes(result, x.shape, axes) if keepdims else result
