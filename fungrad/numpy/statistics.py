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
    squared_magnitude,
    sum,
    with_axes,
)
from fungrad.numpy.shape import is_sequence, moveaxis, reshaped
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
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    w = np.transpose(w, np.argsort(axes))  # type: ignore[assignment, call-overload]
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


def _step_up(where: Callable[[Any], Any], at: Any) -> Any:
    """Return the position below, or, unless the condition on it holds, the one above."""
    return np.floor(at) + np.where(where(at), 0, 1)


# Where in n sorted elements a quantile is (Hyndman & Fan, "Sample quantiles in statistical packages", 1996).
# Between positions, it is interpolated.

_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda n, q: (n - 1) * q,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.rint((n - 1) * q),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1),
    "averaged_inverted_cdf": lambda n, q: np.floor(n * q - 1)
    + np.where(np.equal(n * q % 1, 0), 0.5, 1.0),
    "closest_observation": lambda n, q: _step_up(
        lambda at: np.logical_and(np.equal(at % 1, 0), np.equal(np.floor(at) % 2, 1)), n * q - 1.5
    ),
    **{
        name: lambda n, q, a=a, b=b: n * q + (a + q * (1 - a - b)) - 1  # type: ignore[misc]
        for name, (a, b) in _CONTINUOUS.items()
    },
}
_DISCRETE = {"lower", "higher", "nearest", "inverted_cdf", "closest_observation"}


def _quantile(
    a: Any, q: Any, axis: Any, method: str, keepdims: Any, ignore_nan: bool, scale: int = 1
) -> Any:
    if type_of(as_array(a)).dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if method not in _PLACES:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {_PLACES.keys()}")
    weak = type_of(as_array(q)).weak
    q = as_tracer(q) if is_sequence(q) and promotion.has_tracer(q) else as_array(q)
    q = q / scale if scale > 1 else q
    if type(q) is not Tracer and not np.logical_and(0 <= np.asarray(q), np.asarray(q) <= 1).all():
        what = "Quantiles must be in the range [0, 1]"
        raise ValueError(what if scale == 1 else "Percentiles must be in the range [0, 100]")
    if np.ndim(q) > 2:
        raise ValueError("q must be a scalar or 1d")
    x, axes = _sorted(a, axis)
    shape, rest = np.shape(q), x.shape[1:]
    n: Any = x.shape[0]
    if not n:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    ignore_nan = ignore_nan and not is_exact(x.dtype)
    if ignore_nan:
        n = reduce(np.add, e.logical_not(e.isnan(x)), 0, np.intp)
        n = np.maximum(n, 1)  # without numbers the first element, NaN, is the result
    if ignore_nan:
        q = np.reshape(q, (*shape, *[1] * len(rest)))
    place = _PLACES[method](n, q)
    discrete = method in _DISCRETE or type_of(place).dtype.kind in "iu"
    below = np.floor(place)
    low, high = (np.clip(i, 0, n - 1).astype(np.intp) for i in (below, below + 1))

    def at(index: Any) -> Any:
        if not ignore_nan:
            return getitem(x, index)
        rows = broadcast_to(as_tracer(index), (*shape, *rest))
        picked = take_along_axis(x, reshaped(rows, (math.prod(shape), *rest)), 0)
        return reshaped(picked, (*shape, *rest))

    if discrete:
        result = at(low)
    else:
        share = place - below
        if weak:
            share = _as_weak(share)
        else:
            share = np.reshape(share, (*np.shape(share), *[1] * (len(shape) + len(rest) - np.ndim(share))))
        result = _between(at(low), at(high), share)
    if not ignore_nan:
        result = _nan_wins(x, result)
    if keepdims:
        kept = tuple([1 if i in axes else m for i, m in enumerate(np.shape(a))])
        result = reshaped(result, (*shape, *kept))
    return result
