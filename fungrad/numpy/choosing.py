"""Choosing elements: at indices, and between arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.config import settings
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import type_of
from fungrad.numpy import plans, promotion
from fungrad.numpy.at import default_fill
from fungrad.numpy.dispatch import implements
from fungrad.numpy.indexing import getitem, setitem_functional
from fungrad.numpy.joining import unstack
from fungrad.numpy.nearest import check_along, filled, known_outside, nearest, within
from fungrad.numpy.promotion import apply, as_array, as_tracer, cast, check_cast, strong
from fungrad.numpy.shaping import along, broadcast_arrays, is_sequence, reshaped
from fungrad.primitives import elementwise as e
from fungrad.primitives import indexing
from fungrad.primitives.shaping import full, zeros_like

# At indices


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    empty = type(indices) in (list, tuple) and not len(indices)
    x, index = as_tracer(a), np.zeros(0, np.intp) if empty else strong(indices)
    try:
        check_cast(index.dtype, np.dtype(np.intp), "same_kind")
    except TypeError as error:
        if type(index) is not Tracer:
            raise
        from fungrad.core.refusals import float_index  # only errors need it

        raise TypeError(f"{error}: indices are integers, and {float_index(index._type)}") from None
    if index.dtype.kind == "b":
        index = cast(as_tracer(index), np.dtype(np.int64))
    x, axis = along(x, axis)
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    if 0 in shape and 0 not in index.shape:  # nothing is taken: NumPy checks no index then
        return full(x._type.update(shape=shape), 0)
    if mode == "raise" and settings.get().clamps and x.shape[axis]:
        elements = getitem(x, (slice(None),) * axis + (index,))
        return filled(elements, index, x.shape[axis], axis, default_fill(x.dtype))
    index = within(index, x.shape[axis], mode)
    return getitem(x, (slice(None),) * axis + (index,))


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    x, index = as_tracer(arr), as_tracer(indices)
    check_along(index._type, axis, x.ndim)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    others = [(*s[:axis], 1, *s[axis + 1 :]) for s in (x.shape, index.shape)]
    common = np.broadcast_shapes(*others)
    x, index = (
        promotion.broadcast_to(y, (*common[:axis], y.shape[axis], *common[axis + 1 :]))
        for y in (x, index)
    )
    n = x.shape[axis]
    if settings.get().clamps and n:
        elements = indexing.take_along_axis(x, nearest(index, n), axis)
        return filled(elements, index, n, 0, default_fill(x.dtype))
    return indexing.take_along_axis(x, index, axis)


# Between arrays


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Where values are not known, indices out of bounds are not an error: the nearest is chosen."""
    index: Any = as_tracer(a)
    if type(choices) is Tracer:
        choices = unstack(choices)
    arrays = _promoted(list(choices))
    index = within(index, len(arrays), mode)
    if mode == "raise" and len(known_outside(index, len(arrays))):
        raise ValueError("invalid entry in choice array")
    result: Any = arrays[0]
    for i, option in enumerate(arrays[1:], 1):
        result = promotion.where(apply(e.greater_equal, (index, i)), option, result)
    return broadcast_arrays(index, result)[1]


@implements(np.select, zero_d=True)
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
    """Return arrays cast to their common dtype, which Python numbers do not widen."""
    arrays = [as_array(x) for x in arrays]
    types = tuple([type_of(x) for x in arrays])
    dtype, weak = plans.result_type(types, settings.get().dtypes)
    return [cast(as_tracer(x), dtype, weak) for x in arrays]


def _is_list_of_arrays(condlist: Any, ndim: int) -> bool:
    """Whether `condlist` is several conditions; a list of booleans is one, unless `x` has no axes."""
    if type(condlist) is Tracer:
        return condlist.ndim > 0 and ndim == 0
    return is_sequence(condlist) and (is_sequence(condlist[0]) or ndim == 0)


@implements(np.piecewise, zero_d=True)
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
        mask = known_value(condition)
        if mask is None:
            value = function(array, *args, **kw) if callable(function) else function
            wanted = apply(e.not_equal, (condition, False))
            result = promotion.where(wanted, cast(as_tracer(value), array.dtype), result)
        elif (mask := np.asarray(mask, bool)).any():
            value = function(getitem(array, mask), *args, **kw) if callable(function) else function
            result = setitem_functional(result, mask, value)
    return result
