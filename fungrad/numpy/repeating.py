"""Repeating elements, leaving some out, putting others in."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import ArrayType
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implements
from fungrad.numpy.extended import extends
from fungrad.numpy.indexing import getitem
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import as_tracer, cast, has_tracer, strong
from fungrad.numpy.shaping import (
    along,
    as_shape,
    is_sequence,
    moveaxis,
    reshaped,
    reversed_axes,
    same_array,
)
from fungrad.primitives import shaping
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.slices import slice_axis


@implements(np.tile, zero_d=True)
def tile(A: Any, reps: Any) -> Any:
    x, counts = as_tracer(A), as_shape(reps)
    if any(n < 0 for n in counts):
        raise ValueError("negative dimensions are not allowed")
    ndim = max(x.ndim, len(counts))
    lengths = (1,) * (ndim - x.ndim) + x.shape
    counts = (1,) * (ndim - len(counts)) + counts
    # A new axis in front of each one that is repeated, then both become one.
    apart: list[int] = []
    new = []
    for count, n in zip(counts, lengths, strict=True):
        if count != 1:
            new.append(len(apart))
            apart.append(count)
        apart.append(n)
    result = reshaped(x, lengths)
    if new:
        result = Broadcast(tuple(apart), tuple(new))(result)
    shape = tuple([c * n for c, n in zip(counts, lengths, strict=True)])
    return reshaped(result, shape) if new else same_array(result)


def _repeated(a: Any, repeats: Any, axis: Any) -> Any:
    x, axis = along(as_tracer(a), axis)
    n = x.shape[axis]
    counts = as_shape(repeats)
    if len(counts) == 1:
        (count,) = counts
        if count < 0:
            raise ValueError("negative dimensions are not allowed")
        apart = (*x.shape[: axis + 1], count, *x.shape[axis + 1 :])
        shape = (*x.shape[:axis], n * count, *x.shape[axis + 1 :])
        return reshaped(Broadcast(apart, (axis + 1,))(x), shape)
    return at_positions(x, axis, np.repeat(np.arange(n), counts))


@extends(np.repeat, first="total_repeat_length")
def repeat(a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: Any = None) -> Any:
    """Where the numbers of repeats are not known, under `jit` and `vmap`, give `total_repeat_length`.

    So many elements are returned: the last is repeated if there are less, and those beyond are left out.
    """
    if total_repeat_length is None:
        return _repeated(a, repeats, axis)
    total = operator.index(total_repeat_length)
    x = np.ravel(a) if axis is None else strong(a)
    axis = normalize_axis_index(axis or 0, x.ndim)
    n = np.shape(x)[axis]
    ends = np.cumsum(np.broadcast_to(repeats, (n,)))
    return np.take(x, np.minimum(np.searchsorted(ends, np.arange(total), "right"), n - 1), axis)


@implements(np.resize, zero_d=True)
def resize(a: Any, new_shape: Any) -> Any:
    x, shape = as_tracer(a), as_shape(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    total = math.prod(shape)
    flat = reshaped(x, (x.size,))
    if not x.size:
        return shaping.full(ArrayType(shape, x.dtype), 0)
    flat = tile(flat, -(-total // x.size))
    return reshaped(slice_axis(flat, 0, 0, total), shape)


# Choosing positions along an axis that are known when the function is traced

RUNS = 16
"""Up to so many runs of equal steps are taken as slices."""


def at_positions(x: Any, axis: int, positions: np.ndarray[Any, Any]) -> Any:
    """Return the elements at fixed positions along an axis: by slices if they are few."""
    runs = _runs(positions.tolist())
    if len(runs) > RUNS:
        return getitem(x, (slice(None),) * axis + (positions,))
    parts = []
    for start, length, step in runs:
        if step == 0:
            one = slice_axis(x, axis, start, start + 1)
            shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
            parts.append(promotion.broadcast_to(one, shape))
            continue
        low, high = sorted((start, start + (length - 1) * step))
        part = slice_axis(x, axis, low, high + 1, abs(step))
        parts.append(reversed_axes(part, (axis,)) if step < 0 else part)
    if not parts:
        return slice_axis(x, axis, 0, 0)
    return Concatenate(axis)(*parts) if len(parts) > 1 else same_array(parts[0])


def _runs(positions: list[int]) -> list[tuple[int, int, int]]:
    """Return the (start, length, step) of maximal runs; at most ``RUNS + 1`` of them."""
    runs: list[tuple[int, int, int]] = []
    i = 0
    while i < len(positions) and len(runs) <= RUNS:
        step = positions[i + 1] - positions[i] if i + 1 < len(positions) else 1
        j = i + 1
        while j < len(positions) and positions[j] - positions[j - 1] == step:
            j += 1
        runs.append((positions[i], j - i, step))
        i = j
    return runs


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Except for a single index, `obj` must be known when the function is traced."""
    x: Any = as_tracer(arr)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    if _is_unknown(obj) and not obj.ndim:
        n = x.shape[axis]
        if not n:
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        kept = np.arange(n - 1)
        return np.take(x, kept + (kept >= obj % n), axis)
    return at_positions(x, axis, np.delete(np.arange(x.shape[axis]), _fixed(obj)))


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    x, new = as_tracer(arr), as_tracer(values)
    where = obj if _is_unknown(obj) else _fixed(obj)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    n = x.shape[axis]
    new = reshaped(cast(new, x.dtype), (1,) * (x.ndim - new.ndim) + new.shape)
    if not is_sequence(where) and not isinstance(where, slice):
        new = moveaxis(new, 0, axis)  # for one place NumPy reads the values in this order
        count = new.shape[axis]
    else:
        is_unknown = type(where) is Tracer
        count = where.size if is_unknown else np.insert(np.arange(n), where, 0).size - n
        if count == 1:  # at a single place any number of values may go
            count = new.shape[axis]
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    both: Any = joined([x, promotion.broadcast_to(new, shape)], axis)
    if type(where) is Tracer:
        places = np.broadcast_to(np.where(np.less(where, 0), np.add(where, n), where), count)
        # In the order of the result a new element comes right before the one that was at its place.
        order = np.argsort(np.concatenate([2 * np.arange(n) + 1, 2 * places]), stable=True)
        return np.take(both, order, axis)
    return at_positions(both, axis, np.insert(np.arange(n), where, np.arange(n, n + count)))


def _is_unknown(obj: Any) -> bool:
    """Whether `obj` is an index, or are indices, whose values are not known while tracing."""
    return type(obj) is Tracer and obj.dtype.kind in "iu" and known_value(obj) is None


def _fixed(obj: Any) -> Any:
    """Return indices as NumPy takes them; the values of tracers must be known."""
    if type(obj) is Tracer:
        return np.asarray(obj.tolist(), obj.dtype)
    if isinstance(obj, (list, tuple)) and has_tracer(obj):
        return [operator.index(i) for i in obj]
    return obj
