"""Selecting elements: at indices, where conditions hold, between arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import type_of
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implements, not_for_tracers
from fungrad.numpy.indexing import getitem, setitem_functional
from fungrad.numpy.joining import at_positions, pad_axis, stack, unstack
from fungrad.numpy.promotion import apply, as_array, as_tracer, cast, strong
from fungrad.numpy.shape import broadcast_arrays, is_sequence, ravel, reshaped, same_array
from fungrad.numpy.sorting import value_needed
from fungrad.primitives import elementwise as e
from fungrad.primitives import indexing
from fungrad.primitives.shaping import slice_axis, zeros_like
from fungrad.primitives.sorting import ArgSort

# At indices


def _within(index: Any, n: int, mode: str) -> Any:
    """Bring indices into [0, n) as NumPy's `mode` says; "raise" leaves them as they are."""
    if mode == "raise":
        return index
    if mode == "wrap":
        return np.remainder(index, n)
    if mode == "clip":
        return np.minimum(np.maximum(index, 0), n - 1)
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')")


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    not_for_tracers("take", {"out": out})
    x, index = as_tracer(a), strong(indices)
    if not np.can_cast(index.dtype, np.intp, "same_kind"):
        raise TypeError(
            f"Cannot cast array data from {index.dtype!r} to dtype('int64') according to the rule "
            "'same_kind'"
        )
    if index.dtype.kind == "b":
        index = cast(as_tracer(index), np.dtype(np.int64))
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    index = _within(index, x.shape[axis], mode)
    return getitem(x, (slice(None),) * axis + (index,))


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    x, index = as_tracer(arr), as_tracer(indices)
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    if x.ndim != index.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    others = [(*s[:axis], 1, *s[axis + 1 :]) for s in (x.shape, index.shape)]
    common = np.broadcast_shapes(*others)
    x, index = (
        promotion.broadcast_to(y, (*common[:axis], y.shape[axis], *common[axis + 1 :]))
        for y in (x, index)
    )
    return indexing.take_along_axis(x, index, axis)


# Where conditions hold


_SIZE = (
    "Give a fixed size=n (and fill_value), or keep the shape: choose with fungrad.numpy.where(condition, "
    "x, y), or leave elements out of a reduction with its argument where=condition."
)


def _true_positions(condition: Any, what: str) -> np.ndarray[Any, Any]:
    """Return the positions of the nonzero elements of a flattened array."""
    x = as_array(condition)
    value = value_needed(x, what, _SIZE) if type(x) is Tracer else np.asarray(x)
    return value.reshape(-1).nonzero()[0]


@implements(np.nonzero)
def _nonzero(a: Any) -> Any:
    x = as_tracer(a)
    if x.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead."
        )
    return np.unravel_index(_true_positions(x, "nonzero"), x.shape)


@implements(np.flatnonzero)
def _flatnonzero(a: Any) -> Any:
    return _true_positions(a, "flatnonzero")


@implements(np.argwhere)
def _argwhere(a: Any) -> Any:
    return np.argwhere(value_needed(as_tracer(a), "argwhere", _SIZE))


def _first_true(condition: Any, size: int) -> Any:
    """Return the first `size` positions of nonzero elements of a flattened array, -1 for the rest."""
    x = as_array(condition)
    if type(x) is not Tracer:
        found = np.flatnonzero(x)[:size]
        return np.concatenate([found, np.full(size - found.size, -1)])
    is_true = cast(reshaped(x, (x.size,)), np.dtype(bool))
    # Sorting by "is false" stably brings the true ones to the front in their order.
    order: Any = ArgSort(0)(e.logical_not(is_true))
    order = slice_axis(order, 0, 0, min(size, x.size))
    order = promotion.where(getitem(is_true, order), order, np.int64(-1))
    return pad_axis(order, 0, 0, size - order.shape[0], -1)


def nonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """Return the indices of the elements that are non-zero.

    This is `numpy.nonzero`, for tracers too. Where values are not known, under `jit` and `vmap`, give
    `size`: so many indices are returned, with `fill_value` (or one for each axis, by default 0) in
    place of those that do not exist.
    """
    if size is None:
        return _nonzero(a)
    lengths = np.shape(a)
    found = _first_true(a, operator.index(size))
    place = np.maximum(found, 0)
    axes: list[Any] = []
    fills = np.broadcast_to(0 if fill_value is None else fill_value, (len(lengths),))
    for n, fill in zip(lengths[::-1], fills[::-1].tolist(), strict=True):
        axes.insert(0, where(found < 0, fill, place % n))
        place = place // n
    return tuple(axes)


def flatnonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """Return the indices that are non-zero in the flattened array.

    This is `numpy.flatnonzero`, for tracers too; `size` and `fill_value` as in `nonzero`.
    """
    if size is None:
        return _flatnonzero(a)
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """Find the indices of the elements that are non-zero, grouped by element.

    This is `numpy.argwhere`, for tracers too; `size` and `fill_value` as in `nonzero`.
    """
    if size is None:
        return _argwhere(a)
    return stack(nonzero(a, size=size, fill_value=fill_value), 1)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The values of the condition must be known when the function is traced."""
    x = as_tracer(arr)
    found = _true_positions(condition, "extract")
    return at_positions(reshaped(x, (x.size,)), 0, found)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The values of the condition must be known when the function is traced."""
    not_for_tracers("compress", {"out": out})
    x = as_tracer(a)
    if len(type_of(as_array(condition)).shape) != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    found = _true_positions(condition, "compress")
    n = x.shape[axis]
    if found.size and found[-1] >= n:
        wrong = found[found >= n][0]
        raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {n}")
    return at_positions(x, axis, found)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """The values must be known when the function is traced."""
    x = as_tracer(filt)
    value = value_needed(x, "trim_zeros", "Call it outside of jit and vmap.")
    where = np.argwhere(value)
    if not len(where):
        return getitem(x, (slice(0, 0),) * x.ndim)
    low, high = where.min(0), where.max(0) + 1
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis) % x.ndim
    for i in axes:
        start = int(low[i]) if "f" in trim.lower() else 0
        stop = int(high[i]) if "b" in trim.lower() else x.shape[i]
        x = slice_axis(x, i, start, stop)
    return same_array(x)


# Between arrays


@implements(np.where)
def _where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return _nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return promotion.where(condition, x, y)


def where(
    condition: Any, x: Any = None, y: Any = None, /, *, size: Any = None, fill_value: Any = None
) -> Any:
    """Return elements chosen from `x` or `y` depending on `condition`.

    This is `numpy.where`, for tracers too. With a condition only it is `nonzero`, which has `size` and
    `fill_value`.
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    return _where(condition, x, y)


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Where values are not known, indices out of bounds are not an error: the nearest is chosen."""
    not_for_tracers("choose", {"out": out})
    index: Any = as_tracer(a)
    if type(choices) is Tracer:
        choices = unstack(choices)
    arrays = _promoted(list(choices))
    if mode == "raise":
        value = known_value(index)
        if (
            value is not None
            and np.size(value)
            and not 0 <= np.min(value) <= np.max(value) < len(arrays)
        ):
            raise ValueError("invalid entry in choice array")
    else:
        index = _within(index, len(arrays), mode)
    result: Any = arrays[0]
    for i, option in enumerate(arrays[1:], 1):
        result = promotion.where(apply(e.greater_equal, (index, i)), option, result)
    return broadcast_arrays(index, result)[1]


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    conditions = [strong(x) for x in condlist]
    for i, condition in enumerate(conditions):
        if condition.dtype != bool:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    *choices, result = _promoted([*choicelist, default])
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        result = promotion.where(condition, choice, result)
    return result


def _promoted(arrays: Sequence[Any]) -> list[Any]:
    """Return arrays and tracers of the dtype they have together, Python numbers being weak."""
    arrays = [as_array(x) for x in arrays]
    dtype = promotion.result_dtype(*[type_of(x) for x in arrays])
    return [cast(as_tracer(x), dtype) for x in arrays]


def _is_list_of_arrays(condlist: Any, ndim: int) -> bool:
    if type(condlist) is Tracer:
        return condlist.ndim > 0 and ndim == 0
    return is_sequence(condlist) and (is_sequence(condlist[0]) or ndim == 0)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Where values are not known, each function is called with all of `x`."""
    array: Any = as_tracer(x)
    if type(condlist) is Tracer and condlist.ndim > 1:
        condlist = unstack(condlist)
    if not _is_list_of_arrays(condlist, array.ndim):
        condlist = [condlist]
    conditions = [as_array(c) for c in condlist]
    n = len(conditions)
    functions = list(funclist)
    if len(functions) == n + 1:
        covered = conditions[0]
        for condition in conditions[1:]:
            covered = np.logical_or(covered, condition)
        conditions.append(np.logical_not(covered))
    elif len(functions) != n:
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result: Any = zeros_like(array)
    for condition, function in zip(conditions, functions, strict=True):
        mask = known_value(condition) if type(condition) is Tracer else condition
        if mask is None:
            value = function(array, *args, **kw) if callable(function) else function
            wanted = apply(e.not_equal, (condition, False))
            result = promotion.where(wanted, cast(as_tracer(value), array.dtype), result)
        elif (mask := np.asarray(mask, bool)).any():
            value = function(getitem(array, mask), *args, **kw) if callable(function) else function
            result = setitem_functional(result, mask, value)
    return result
