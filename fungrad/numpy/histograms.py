"""Counting: `bincount` and the histograms.

Which bin an element falls into is piecewise constant: a count has no derivative by the data. What has
one are weights, the edges of bins that span the data, and densities, which are divided by widths.
"""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import ArrayType
from fungrad.numpy.dispatch import implements
from fungrad.numpy.extended import extends
from fungrad.numpy.indexing import setitem_functional
from fungrad.numpy.promotion import as_tracer, cast, has_tracer, promote, standin, strong
from fungrad.numpy.reductions import is_exact
from fungrad.numpy.searching import search
from fungrad.numpy.selecting import value_needed
from fungrad.numpy.shaping import is_sequence, reshaped
from fungrad.primitives.shaping import full


def _counted(index: Any, length: int, weights: Any, dtype: Any) -> Any:
    """Return the sums of the weights (1 if None) with each index below `length`; others are left out."""
    zeros = full(ArrayType((length,), np.dtype(dtype)), 0)
    inside = (index >= 0) & (index < length)
    ones = np.where(
        inside, np.ones((), dtype) if weights is None else cast(weights, zeros.dtype), 0
    )
    place = np.where(inside, index, 0)
    return setitem_functional(zeros, place, ones, "add") if length else zeros


def _length(index: Tracer, least: Any) -> int:
    """Return the number of bins, which follows from the greatest index."""
    advice = "Give the number of bins: fungrad.numpy.bincount(x, weights, length=n)."
    value = value_needed(index, "bincount", advice)
    if value.size and value.min() < 0:
        raise ValueError("'list' argument must have no negative elements")
    return max(int(value.max(initial=-1)) + 1, operator.index(least))


def _integers(x: Any) -> Tracer:
    index = as_tracer(x)
    if not index.size:
        index = cast(index, np.dtype(np.intp))
    if not np.can_cast(index.dtype, np.intp):
        np.bincount(standin(index))  # raises NumPy's error
    if index.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if index.ndim else "object of too small depth"
        )
    return cast(index, np.dtype(np.intp))  # type: ignore[no-any-return]


def _bins(index: Tracer, weights: Any, length: int) -> Any:
    if weights is None or not index.size:
        return _counted(index, length, None, np.intp)
    return _counted(index, length, _checked(weights, index), np.float64)


def _checked(weights: Any, index: Tracer) -> Tracer:
    """Return the weights of elements in the bins of an index."""
    w = as_tracer(weights)
    if w.shape != index.shape:
        raise ValueError("The weights and list don't have the same length.")
    if not np.can_cast(w.dtype, np.float64):
        np.bincount(np.zeros(w.shape, np.intp), standin(w))  # raises NumPy's error
    return w


@extends(np.bincount, first="length")
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0, *, length: Any = None) -> Any:
    """With `length`, so many bins are counted, and indices beyond, or negative ones, are left out.

    It is needed where values are not known, under `jit` and `vmap`. Differentiable in `weights`.
    """
    if has_tracer((x, weights)):
        index = _integers(x)
        n = _length(index, minlength) if length is None else operator.index(length)
        return _bins(index, weights, n)
    plain, n = np.asarray(x), operator.index(length)
    inside = (plain >= 0) & (plain < n)
    w = None if weights is None else np.asarray(weights)[inside]
    return np.bincount(plain[inside], w, n)


# Edges


def _check_finite(first: Any, last: Any, what: str) -> None:
    """Raise NumPy's errors for the ends of a range, as far as they are known."""
    ends = [known_value(x) for x in (first, last)]
    if ends[0] is None or ends[1] is None:
        return
    if ends[0] > ends[1]:
        raise ValueError("max must be larger than min in range parameter.")
    if not (np.isfinite(ends[0]) and np.isfinite(ends[1])):
        raise ValueError(f"{what} range of [{ends[0]}, {ends[1]}] is not finite")


def _outer_edges(a: Any, range: Any) -> tuple[Any, Any]:
    """Return the ends of the bins, not equal: of `range`, or of the data."""
    if range is not None:
        first, last = range
        _check_finite(first, last, "supplied")
    elif not np.size(a):
        first, last = 0, 1
    else:
        first, last = np.min(a), np.max(a)
        _check_finite(first, last, "autodetected")
    if not has_tracer((first, last)):
        return (first - 0.5, last + 0.5) if first == last else (first, last)
    same = np.equal(first, last)
    if known_value(same) is not None:
        return (first - 0.5, last + 0.5) if same else (first, last)
    return np.where(same, first - 0.5, first), np.where(same, last + 0.5, last)


def _spaced(a: Any, first: Any, last: Any, count: int) -> Any:
    dtype = np.result_type(first, last, a)
    return np.linspace(first, last, count + 1, dtype=np.float64 if is_exact(dtype) else dtype)


def _given_edges(bins: Any, error: str) -> Any:
    edges = strong(bins)
    value = known_value(edges)
    if value is not None and bool((value[:-1] > value[1:]).any()):
        raise ValueError(error)
    return edges


def _edges(a: Any, bins: Any, range: Any, weights: Any) -> Any:
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        advice = f"Give the number of bins in place of {bins!r}."
        value = value_needed(as_tracer(a), "the number of bins", advice, "depends on values")
        if range is not None:
            range = tuple([known_value(x) for x in range])
        count = len(np.histogram_bin_edges(value, bins, range)) - 1
        return _spaced(a, *_outer_edges(a, range), count)
    if np.ndim(bins) == 0:
        try:
            count = operator.index(bins)
        except TypeError:
            raise TypeError("`bins` must be an integer, a string, or an array") from None
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        return _spaced(a, *_outer_edges(a, range), count)
    if np.ndim(bins) != 1:
        raise ValueError("`bins` must be 1d, when an array")
    return _given_edges(bins, "`bins` must increase monotonically, when an array")


def _flattened(a: Any, weights: Any) -> tuple[Any, Any]:
    x, w = strong(a), None if weights is None else strong(weights)
    if x.dtype == bool:
        warnings.warn(
            f"Converting input from {x.dtype} to {np.uint8} for compatibility.",
            RuntimeWarning,
            stacklevel=2,
        )
        x = x.astype(np.uint8)
    if w is not None and w.shape != x.shape:
        raise ValueError("weights should have the same shape as a.")
    return np.ravel(x), None if w is None else np.ravel(w)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Differentiable: the edges span the data. A rule for `bins` needs known values."""
    x, w = _flattened(a, weights)
    return as_tracer(_edges(x, bins, range, w))


# Histograms


def _bin_of(edges: Any, x: Any) -> Any:
    """Return which bin each element is in, from 0; those outside get -1 or a number too large."""
    places: Any
    places, values = promote(as_tracer(edges), as_tracer(x))
    last = np.equal(values, places[-1])  # the last bin has both its ends
    return search(places, values, "right") - 1 - cast(last, np.dtype(np.int64))


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Differentiable in `weights`, and through the edges. A rule for `bins` needs known values."""
    x, w = _flattened(a, weights)
    edges = _edges(x, bins, range, w)
    counts = _counted(
        _bin_of(edges, x),
        len(edges) - 1,
        None if w is None else as_tracer(w),
        np.intp if w is None else w.dtype,
    )
    if density:
        counts = counts / np.diff(edges).astype(np.float64) / counts.sum()
    return counts, as_tracer(edges)


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Differentiable in `weights`, and through the edges."""
    points: Any = as_tracer(sample)
    if points.ndim != 2 or not hasattr(sample, "shape"):
        points = np.atleast_2d(points).T
    ndim = points.shape[1]
    all_bins = list(bins) if is_sequence(bins) else [bins] * ndim
    if len(all_bins) != ndim:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * ndim if range is None else list(range)
    if len(ranges) != ndim:
        raise ValueError("range argument must have one entry per dimension")
    columns = [points[:, i] for i, _ in enumerate(all_bins)]
    edges = [
        _edges_along(i, *given)
        for i, given in enumerate(zip(columns, all_bins, ranges, strict=True))
    ]
    lengths = tuple([len(along) - 1 for along in edges])
    index: Any = 0
    for x, along, n in zip(columns, edges, lengths, strict=True):
        place = _bin_of(along, x)
        # One that is outside along any axis stays outside: far below any bin.
        place = np.where((place >= 0) & (place < n), place, -math.prod(lengths) - 1)
        index = np.where(np.less(index, 0), index, index * n + place)
    w = None if weights is None else _checked(weights, index)
    counts: Any = reshaped(_counted(index, math.prod(lengths), w, np.float64), lengths)
    if density:
        total = counts.sum()
        for i, along in enumerate(edges):
            width = np.diff(along)
            counts = counts / width.reshape([-1 if i == j else 1 for j, _ in enumerate(edges)])
        counts = counts / total
    return counts, [as_tracer(along) for along in edges]


def _edges_along(i: int, x: Any, bins: Any, range: Any) -> Any:
    if np.ndim(bins) == 0:
        if bins < 1:
            raise ValueError(f"`bins[{i}]` must be positive, when an integer")
        try:
            count = operator.index(bins)
        except TypeError:
            raise TypeError(f"`bins[{i}]` must be an integer, when a scalar") from None
        return np.linspace(*_outer_edges(x, range), count + 1)
    if np.ndim(bins) != 1:
        raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
    return _given_edges(bins, f"`bins[{i}]` must be monotonically increasing, when an array")


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Differentiable in `weights`, and through the edges."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if is_sequence(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
