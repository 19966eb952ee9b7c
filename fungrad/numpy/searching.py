"""Search in sorted arrays, and interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import kind_of
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implements
from fungrad.numpy.indexing import getitem
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import (
    apply,
    as_array,
    as_tracer,
    broadcast_to,
    cast,
    check_cast,
    promote,
)
from fungrad.numpy.shaping import reversed_axes
from fungrad.primitives import elementwise as e
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.slices import slice_axis
from fungrad.primitives.sorting import ArgSort


def _safely(x: Any, dtype: Any) -> Tracer:
    """Return `x` as a tracer of `dtype`, which must hold all its numbers."""
    x, wanted = as_tracer(x), np.dtype(dtype)
    check_cast(x.dtype, wanted, "safe")
    return cast(x, wanted)  # type: ignore[no-any-return]


def _comes_before(x: Any, y: Any) -> Any:
    """Return where ``x < y`` in the order of sorting, which has NaNs last."""
    less = e.less(x, y)
    if kind_of(x.dtype) not in "fc":
        return less
    return e.logical_or(less, e.logical_and(e.isnan(y), e.logical_not(e.isnan(x))))


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Traced, it takes as many vectorised steps as the length of `a` has binary digits."""
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got '{side}')")
    places, values = promote(as_tracer(a), as_tracer(v))
    if places.ndim != 1:
        raise ValueError("object too deep for desired array")
    if sorter is not None:
        places = getitem(places, sorter)
    return search(places, values, side)


def search(places: Any, values: Any, side: str) -> Any:
    """Return for each value the number of places that it comes after."""
    n = len(places)
    counts: Any = cast(zeros_like(values), np.dtype(np.int64))
    step = 1 << n.bit_length()
    while step := step >> 1:
        # Can the number be larger by this power of 2? It can if the last place passed is before.
        next_ = apply(e.add, (counts, step))
        inside = apply(e.less_equal, (next_, n))
        at = apply(e.minimum, (next_, n))
        place = getitem(places, apply(e.sub, (at, 1)))
        if side == "left":
            passed = _comes_before(place, values)
        else:
            passed = e.logical_not(_comes_before(values, place))
        counts = e.select(e.logical_and(inside, passed), next_, counts)
    return counts


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """Bins that have no known values are taken to be increasing."""
    x, edges = as_tracer(x), as_array(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    _safely(edges, np.float64)
    value = known_value(edges)
    rising = True
    if value is not None:
        steps = np.diff(value)
        rising = not bool((steps < 0).any())
        if not rising and bool((steps > 0).any()):
            raise ValueError("bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    if rising:
        return searchsorted(edges, x, side)
    falling = reversed_axes(as_tracer(edges), (0,))
    return apply(e.sub, (len(edges), searchsorted(falling, x, "right" if right else "left")))


def _between(at: Any, knots: Any, values: Any) -> Any:
    """Return values on straight lines between knots, in NumPy's order of operations: equal bit for bit."""
    n = knots.size
    nearest = apply(e.clamp, (0, apply(e.sub, (search(knots, at, "right"), 1)), n - 1))
    start = apply(
        e.minimum, (nearest, n - 2)
    )  # of the interval, which for the last knot is that before it
    end = apply(e.add, (start, 1))
    x0, x1, y0, y1 = (getitem(y, i) for y in (knots, values) for i in (start, end))
    same = e.equal(x0, x1)  # knots may coincide
    width = e.select(same, cast(same, at.dtype), e.sub(x1, x0))
    rise = e.sub(y1, y0)
    if values.dtype.kind == "c":
        slope = e.mul(rise, cast(e.reciprocal(width), values.dtype))
    else:
        slope = e.div(rise, width)
    distance = cast(e.sub(at, getitem(knots, nearest)), values.dtype)
    return e.add(e.mul(slope, distance), getitem(values, nearest))


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Differentiable in all of `x`, `xp` and `fp`."""
    real = np.dtype(np.float64)
    at, knots, values = _safely(x, real), _safely(xp, real), as_tracer(fp)
    values = _safely(values, np.complex128 if values.dtype.kind == "c" else real)
    if knots.ndim != 1 or values.ndim != 1:
        raise ValueError("object too deep for desired array: data points are 1-d")
    if knots.shape != values.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not knots.size:
        raise ValueError("array of sample points is empty")
    if period is not None:
        if not isinstance(period, Tracer) and period == 0:
            raise ValueError("period must be a non-zero value")
        left = right = None
        period = np.absolute(period)
        at, knots = (apply(e.remainder, (y, period)) for y in (at, knots))
        order = ArgSort(0)(knots)
        knots, values = getitem(knots, order), getitem(values, order)
        first, last = (slice_axis(knots, 0, i, i + 1) for i in (0, knots.size - 1))
        ends = [slice_axis(values, 0, i, i + 1) for i in (values.size - 1, 0)]
        ends_at = apply(e.sub, (last, period)), apply(e.add, (first, period))
        knots = joined([ends_at[0], knots, ends_at[1]], 0)
        values = joined([ends[0], values, ends[1]], 0)
    n = knots.size
    if n == 1:
        between = broadcast_to(getitem(values, 0), at.shape)
    else:
        between = _between(at, knots, values)
    first, last = getitem(values, 0), getitem(values, n - 1)
    below = apply(e.less, (at, getitem(knots, 0)))
    above = apply(e.greater, (at, getitem(knots, n - 1)))
    result = promotion.where(below, first if left is None else left, between)
    return promotion.where(above, last if right is None else right, result)
