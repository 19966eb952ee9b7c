"""Elements where a condition holds, and their indices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from fungrad.core.backend import to_host
from fungrad.core.errors import ConcretizationError, here
from fungrad.core.tracer import Tracer, needed_value
from fungrad.core.types import type_of
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implements, not_for_tracers
from fungrad.numpy.extended import extends
from fungrad.numpy.indexing import getitem
from fungrad.numpy.joining import stack
from fungrad.numpy.padding import pad_axis
from fungrad.numpy.promotion import as_array, as_tracer, cast, strong
from fungrad.numpy.repeating import at_positions
from fungrad.numpy.shaping import along, ravel, reshaped
from fungrad.primitives import elementwise as e
from fungrad.primitives.slices import slice_axis
from fungrad.primitives.sorting import ArgSort


def value_needed(
    x: Tracer,
    what: str,
    advice: str,
    why: str = "gives a number of elements that depends on values",
) -> Any:
    """Return the array of a tracer; raise an error with advice if it is not known."""
    value = needed_value(x)
    if value is None:
        raise ConcretizationError(
            f"at {here()}\n{what} {why}, and a tracer of type {x._type} under `{x._owner.label}` has none: "
            f"the function is traced once for all values. {advice}"
        )
    return to_host(value)


SIZE_NEEDED = (
    "Give a fixed size=n (and fill_value), or keep the shape: choose with fungrad.numpy.where(condition, "
    "x, y), or leave elements out of a reduction with its argument where=condition."
)


def _true_positions(condition: Any, what: str) -> np.ndarray[Any, Any]:
    """Return the positions of the nonzero elements of a flattened array."""
    x = as_array(condition)
    value = value_needed(x, what, SIZE_NEEDED) if type(x) is Tracer else np.asarray(x)
    return value.reshape(-1).nonzero()[0]


def first_true(condition: Any, size: int) -> Any:
    """Return the first `size` positions of nonzero elements of a flattened array, -1 for the rest."""
    x = as_array(condition)
    if type(x) is not Tracer:
        positions = np.flatnonzero(x)[:size]
        return np.concatenate([positions, np.full(size - positions.size, -1)])
    is_true = cast(reshaped(x, (x.size,)), np.dtype(bool))
    # Sorting by "is false" stably brings the true ones to the front in their order.
    order: Any = ArgSort(0)(e.logical_not(is_true))
    order = slice_axis(order, 0, 0, min(size, x.size))
    order = promotion.where(getitem(is_true, order), order, np.int64(-1))
    return pad_axis(order, 0, 0, size - order.shape[0], -1)


@extends(np.nonzero, first="size")
def nonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """Where values are not known, under `jit` and `vmap`, give `size`: so many indices are returned.

    `fill_value` (or one for each axis, by default 0) stands in place of those that do not exist.
    """
    x = as_array(a)
    lengths = type_of(x).shape
    if size is None:
        if not lengths:
            raise ValueError(
                "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead."
            )
        return np.unravel_index(_true_positions(x, "nonzero"), lengths)
    positions = first_true(x, operator.index(size))
    place = np.maximum(positions, 0)
    axes: list[Any] = []
    fills = np.broadcast_to(0 if fill_value is None else fill_value, (len(lengths),))
    for n, fill in zip(lengths[::-1], fills[::-1].tolist(), strict=True):
        axes.insert(0, np.where(positions < 0, fill, place % n))
        place = place // n
    return tuple(axes)


@extends(np.flatnonzero, first="size")
def flatnonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """`size` and `fill_value` as in `nonzero`."""
    if size is None:
        return _true_positions(a, "flatnonzero")
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


@extends(np.argwhere, first="size")
def argwhere(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """`size` and `fill_value` as in `nonzero`."""
    if size is None:
        return np.argwhere(value_needed(as_tracer(a), "argwhere", SIZE_NEEDED))
    return stack(nonzero(a, size=size, fill_value=fill_value), 1)


@extends(np.extract, first="size")
def extract(condition: Any, arr: Any, *, size: Any = None, fill_value: Any = 0) -> Any:
    """With `size`, so many elements are returned, needed where the condition has no known values.

    `fill_value` stands in place of those that do not exist.
    """
    if size is None:
        x = as_tracer(arr)
        return at_positions(reshaped(x, (x.size,)), 0, _true_positions(condition, "extract"))
    return compress(np.ravel(condition), np.ravel(arr), size=size, fill_value=fill_value)


@extends(np.compress, first="size")
def compress(
    condition: Any,
    a: Any,
    axis: Any = None,
    out: Any = None,
    *,
    size: Any = None,
    fill_value: Any = 0,
) -> Any:
    """With `size`, so many elements along the axis are returned, needed where values are not known.

    `fill_value` stands in place of those that do not exist.
    """
    if size is None:
        return _compressed(condition, a, axis)
    not_for_tracers("compress", {"out": out})
    x = np.ravel(a) if axis is None else strong(a)
    axis = normalize_axis_index(axis or 0, x.ndim)
    positions = first_true(condition, operator.index(size))
    elements = np.take(x, np.maximum(positions, 0), axis)
    exists = np.reshape(positions >= 0, (-1, *[1] * (x.ndim - 1 - axis)))
    return np.where(exists, elements, fill_value).astype(x.dtype)


def _compressed(condition: Any, a: Any, axis: Any) -> Any:
    if len(type_of(as_array(condition)).shape) != 1:
        raise ValueError("condition must be a 1-d array")
    x, axis = along(as_tracer(a), axis)
    positions = _true_positions(condition, "compress")
    n = x.shape[axis]
    if positions.size and positions[-1] >= n:
        wrong = positions[positions >= n][0]
        raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {n}")
    return at_positions(x, axis, positions)


@implements(np.trim_zeros, view=True)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """The values must be known when the function is traced."""
    x = as_tracer(filt)
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, "axis")
    value = value_needed(x, "trim_zeros", "Call it outside of jit and vmap.")
    where = np.argwhere(value)
    if not len(where):
        return getitem(x, tuple(slice(0, 0) if i in axes else slice(None) for i in range(x.ndim)))
    low, high = where.min(0), where.max(0) + 1
    for i in axes:
        start = int(low[i]) if "f" in sides else 0
        stop = int(high[i]) if "b" in sides else x.shape[i]
        x = slice_axis(x, i, start, stop)
    return x
