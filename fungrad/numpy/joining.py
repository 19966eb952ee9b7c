"""Joining, splitting, repeating and padding arrays."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implements, not_for_tracers
from fungrad.numpy.indexing import getitem
from fungrad.numpy.promotion import as_array, as_tracer, cast, has_tracer, promote, standin, strong
from fungrad.numpy.shape import as_shape, is_sequence, moveaxis, reshaped, reversed_axes, same_array
from fungrad.primitives.shaping import Broadcast, Concatenate, Pad, slice_axis

# Joining


def joined(
    arrays: Sequence[Any], axis: int, dtype: Any = None, casting: str = "same_kind"
) -> Tracer:
    """Concatenate arrays, promoted to one dtype, along an axis counted from the front."""
    xs = promote(*arrays)
    if dtype is not None:
        dtype = np.dtype(dtype)
        for x in xs:
            if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
                raise TypeError(
                    f"Cannot cast array data from {x.dtype!r} to {dtype!r} according to the rule "
                    f"'{casting}'"
                )
        xs = [cast(x, dtype) for x in xs]
    if len(xs) == 1:
        return same_array(xs[0])
    first = xs[0].shape
    for x in xs:
        if len(x.shape) != len(first) or any(
            m != n for i, (m, n) in enumerate(zip(x.shape, first, strict=True)) if i != axis
        ):
            np.concatenate([standin(x) for x in xs], axis)  # raises NumPy's error
    return Concatenate(axis)(*xs)  # type: ignore[no-any-return]


def _sequence(arrays: Any) -> list[Any]:
    return list(unstack(arrays)) if type(arrays) is Tracer else [as_array(x) for x in arrays]


@implements(np.concatenate, np.concat)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    not_for_tracers("concatenate", {"out": out})
    arrays = _sequence(arrays)
    if axis is None:
        axis = 0
        dtype = dtype or promotion.result_dtype(*map(type_of, arrays))
        arrays, casting = [np.ravel(strong(x)) for x in arrays], "unsafe"
    arrays = [strong(x) for x in arrays]
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    if not arrays[0].ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    return joined(arrays, normalize_axis_index(axis, arrays[0].ndim), dtype, casting)


concat = concatenate


@implements(np.stack)
def stack(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    not_for_tracers("stack", {"out": out})
    xs = [as_tracer(x) for x in _sequence(arrays)]
    shapes = {x.shape for x in xs}
    if len(shapes) != 1:
        raise ValueError(f"all input arrays must have the same shape, got {sorted(shapes)}")
    axis = normalize_axis_index(axis, xs[0].ndim + 1)
    shape = (*xs[0].shape[:axis], 1, *xs[0].shape[axis:])
    return joined([reshaped(x, shape) for x in xs], axis, dtype, casting)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    arrays = [np.atleast_2d(strong(x)) for x in _sequence(tup)]
    return joined(arrays, 0, dtype, casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    arrays = [np.atleast_1d(strong(x)) for x in _sequence(tup)]
    return joined(arrays, min(1, arrays[0].ndim - 1), dtype, casting)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    return joined([np.atleast_3d(strong(x)) for x in _sequence(tup)], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    arrays = [strong(x) for x in _sequence(tup)]
    return joined([np.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in arrays], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return joined([np.ravel(strong(arr)), np.ravel(strong(values))], 0)
    return concatenate((as_tracer(arr), values), axis=axis)


@implements(np.block)
def block(arrays: Any) -> Any:
    def depth(x: Any) -> int:
        return 1 + max(map(depth, x), default=0) if isinstance(x, list) else 0

    def rank(x: Any) -> int:
        return max(map(rank, x), default=0) if isinstance(x, list) else np.ndim(x)

    levels = depth(arrays)
    ndim = max(levels, rank(arrays))

    def build(x: Any, level: int) -> Any:
        if level == levels:
            if isinstance(x, list):
                raise ValueError("List depths are mismatched")
            x = as_tracer(x)
            return reshaped(x, (1,) * (ndim - x.ndim) + x.shape)
        if not isinstance(x, list):
            raise ValueError(f"List depths are mismatched: {x!r} is not in {levels} lists")
        if not x:
            raise ValueError("List depths are mismatched: an empty list cannot be joined")
        return joined([build(y, level + 1) for y in x], ndim - levels + level)

    return build(arrays, 0)


# Splitting


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    x = as_tracer(ary)
    axis = normalize_axis_index(axis, x.ndim)
    n = x.shape[axis]
    if is_sequence(indices_or_sections):
        bounds = [0, *as_shape(indices_or_sections), n]
    else:
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, longer = divmod(n, sections)
        bounds = [i * each + min(i, longer) for i in range(sections + 1)]
    parts = []
    for start, stop in itertools.pairwise(bounds):
        start, stop, _ = slice(start, stop).indices(n)
        parts.append(slice_axis(x, axis, start, max(start, stop)))
    return parts


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    x = as_tracer(ary)
    if not is_sequence(indices_or_sections):
        sections = operator.index(indices_or_sections)
        if x.shape[normalize_axis_index(axis, x.ndim)] % sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


def _split_along(name: str, dimensions: int, axis: int, ary: Any, where: Any) -> Any:
    x = as_tracer(ary)
    if x.ndim < dimensions:
        raise ValueError(f"{name} only works on arrays of {dimensions} or more dimensions")
    return split(x, where, axis if x.ndim > 1 else 0)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _split_along("hsplit", 1, 1, ary, indices_or_sections)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _split_along("vsplit", 2, 0, ary, indices_or_sections)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _split_along("dsplit", 3, 2, ary, indices_or_sections)


def _plain_unstack(x: Any, /, *, axis: int = 0) -> Any:
    """Split an array into a sequence of arrays along the given axis."""
    return tuple(np.moveaxis(x, axis, 0))


_plain_unstack.__name__ = "unstack"


@implements(getattr(np, "unstack", _plain_unstack))  # NumPy has it since 2.1
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    x = as_tracer(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    x = moveaxis(x, axis, 0)
    return tuple([reshaped(slice_axis(x, 0, i, i + 1), x.shape[1:]) for i in range(len(x))])


# Repeating


@implements(np.tile)
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


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """The repeats must be known when the function is traced."""
    x = as_tracer(a)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
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


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    x, shape = as_tracer(a), as_shape(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    total = math.prod(shape)
    flat = reshaped(x, (x.size,))
    if not x.size:
        return reshaped(pad_axis(flat, 0, 0, total, 0), shape) if total else reshaped(x, shape)
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
    """What to delete must be known when the function is traced."""
    x = as_tracer(arr)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    return at_positions(x, axis, np.delete(np.arange(x.shape[axis]), _fixed(obj)))


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Where to insert must be known when the function is traced."""
    x, where, new = as_tracer(arr), _fixed(obj), as_tracer(values)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    n = x.shape[axis]
    new = reshaped(cast(new, x.dtype), (1,) * (x.ndim - new.ndim) + new.shape)
    if not is_sequence(where) and not isinstance(where, slice):
        new = moveaxis(new, 0, axis)  # for one place NumPy reads the values in this order
        count = new.shape[axis]
    else:
        count = np.insert(np.arange(n), where, 0).size - n
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    both = joined([x, promotion.broadcast_to(new, shape)], axis)
    return at_positions(both, axis, np.insert(np.arange(n), where, np.arange(n, n + count)))


def _fixed(obj: Any) -> Any:
    """Return indices as NumPy takes them; the values of tracers must be known."""
    if type(obj) is Tracer:
        return np.asarray(obj.tolist(), obj.dtype)
    if isinstance(obj, (list, tuple)) and has_tracer(obj):
        return [operator.index(i) for i in obj]
    return obj


# Padding


def pad_axis(x: Tracer, axis: int, low: int, high: int, value: Any) -> Any:
    """Pad one axis with a constant, a number or a 0-d tracer."""
    if not low and not high:
        return x
    lows, highs, zeros = [0] * x.ndim, [0] * x.ndim, (0,) * x.ndim
    lows[axis], highs[axis] = low, high
    value = cast(as_tracer(value), x.dtype)
    return Pad(tuple(lows), tuple(highs), zeros)(x, value)


def _pairs(name: str, given: Any, ndim: int) -> list[tuple[Any, ...]]:
    """Return a (before, after) pair for each axis, from the short forms NumPy takes."""
    if not is_sequence(given):
        rows: list[tuple[Any, ...]] = [(given,)]
    elif any(map(is_sequence, given)):
        rows = [tuple(row) for row in given]
    else:
        rows = [tuple(given)]
    rows = [row * 2 if len(row) == 1 else row for row in rows]
    if len(rows) == 1:
        rows *= ndim
    if len(rows) != ndim or any(len(row) != 2 for row in rows):
        raise ValueError(
            f"operands could not be broadcast together with shape ({ndim}, 2): {name}={given}"
        )
    return rows


def _pad_constant(x: Tracer, widths: list[tuple[int, int]], constant_values: Any = 0) -> Any:
    values = _pairs("constant_values", constant_values, x.ndim)
    for axis, ((low, high), (before, after)) in enumerate(zip(widths, values, strict=True)):
        if before is after:
            x = pad_axis(x, axis, low, high, before)
        else:
            x = pad_axis(pad_axis(x, axis, low, 0, before), axis, 0, high, after)
    return x


def _pad_by_position(mode: str) -> Callable[..., Any]:
    def pad_with(x: Tracer, widths: list[tuple[int, int]], reflect_type: str = "even") -> Any:
        if reflect_type != "even":
            raise ValueError(f"pad: reflect_type={reflect_type!r} is not supported: use 'even'")
        for axis, (low, high) in enumerate(widths):
            if low or high:
                positions = np.pad(np.arange(x.shape[axis]), (low, high), mode)  # type: ignore[call-overload]
                x = at_positions(x, axis, positions)
        return x

    return pad_with


_MODES = {
    "constant": _pad_constant,
    "empty": _pad_constant,
    **{mode: _pad_by_position(mode) for mode in ("edge", "reflect", "symmetric", "wrap")},
}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The modes are constant, empty (zeros), edge, reflect, symmetric and wrap."""
    x = as_tracer(array)
    if isinstance(pad_width, dict):
        widths: list[Any] = [(0, 0)] * x.ndim
        for axis, width in pad_width.items():
            widths[axis] = tuple(width) if is_sequence(width) else (width, width)
    else:
        widths = _pairs("pad_width", pad_width, x.ndim)
    pairs = [(operator.index(low), operator.index(high)) for low, high in widths]
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError("index can't contain negative values")
    if mode not in _MODES:
        raise ValueError(f"mode {mode!r} is not supported for tracers: use one of {sorted(_MODES)}")
    result = _MODES[mode](x, pairs, **kwargs)
    return same_array(result) if result is x else result
