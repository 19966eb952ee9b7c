"""Joining, splitting, repeating and padding arrays."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy import plans
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.promotion import (
    as_array,
    as_tracer,
    ask_numpy,
    cast,
    check_cast,
    promote,
    strong,
)
from fungrad.numpy.shaping import as_shape, is_sequence, moveaxis, reshaped, same_array
from fungrad.numpy.whole import whole_of
from fungrad.primitives.joins import Concatenate, Stack
from fungrad.primitives.slices import index_axis, slice_axis

# Joining


def joined(
    arrays: Sequence[Any], axis: int, dtype: Any = None, casting: str = "same_kind"
) -> Tracer:
    """Concatenate arrays, promoted to one dtype, along an axis counted from the front."""
    xs = _of_one_dtype(arrays, dtype, casting)
    if len(xs) == 1:
        return same_array(xs[0])
    first = xs[0].shape
    for x in xs:
        if len(x.shape) != len(first) or any(
            m != n for i, (m, n) in enumerate(zip(x.shape, first, strict=True)) if i != axis
        ):
            ask_numpy("concatenate", lambda ys: np.concatenate(ys, axis), xs)
    return Concatenate(axis)(*xs)  # type: ignore[no-any-return]


def _of_one_dtype(arrays: Sequence[Any], dtype: Any, casting: str) -> list[Tracer]:
    """Return arrays promoted to one dtype, or cast to that which is asked for."""
    xs = promote(*arrays)
    if dtype is None:
        return xs
    dtype = np.dtype(dtype)
    for x in xs:
        check_cast(x.dtype, dtype, casting)
    return [cast(x, dtype) for x in xs]


def _have_one_shape(arrays: Sequence[Any], ndim: int) -> bool:
    """Whether all arrays have the same shape, with `ndim` axes."""
    shapes = {x.shape for x in arrays}
    return len(shapes) == 1 and len(*shapes) == ndim


def _sequence(arrays: Any) -> list[Any]:
    return list(unstack(arrays)) if type(arrays) is Tracer else [as_array(x) for x in arrays]


@implements(np.concatenate, np.concat)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    arrays = _sequence(arrays)
    if axis is None:
        axis = 0
        dtype = dtype or plans.result_dtype(*map(type_of, arrays))
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
    plain = type(arrays) in (list, tuple) and arrays and not axis and dtype is None
    if plain and (whole := whole_of(arrays)) is not None:
        return promote(whole)[0]
    xs = [as_tracer(x) for x in _sequence(arrays)]
    shapes = {x.shape for x in xs}
    if len(shapes) != 1:
        raise ValueError(f"all input arrays must have the same shape, got {sorted(shapes)}")
    axis = normalize_axis_index(axis, xs[0].ndim + 1)
    return Stack(axis)(*_of_one_dtype(xs, dtype, casting))


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    arrays = [strong(x) for x in _sequence(tup)]
    if _have_one_shape(arrays, 1):
        return Stack(0)(*_of_one_dtype(arrays, dtype, casting))
    return joined([np.atleast_2d(x) for x in arrays], 0, dtype, casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    arrays = [strong(x) for x in _sequence(tup)]
    if _have_one_shape(arrays, 0):
        return Stack(0)(*_of_one_dtype(arrays, dtype, casting))
    arrays = [np.atleast_1d(x) for x in arrays]
    return joined(arrays, min(1, arrays[0].ndim - 1), dtype, casting)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    return joined([np.atleast_3d(strong(x)) for x in _sequence(tup)], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    arrays = [strong(x) for x in _sequence(tup)]
    if _have_one_shape(arrays, 1):
        return Stack(1)(*promote(*arrays))
    return joined([np.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in arrays], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return joined([np.ravel(strong(arr)), np.ravel(strong(values))], 0)
    return concatenate((as_tracer(arr), values), axis=axis)


@implements(np.block, zero_d=True)
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


@implements(np.array_split, view=True)
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


@implements(np.split, view=True)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    x = as_tracer(ary)
    if not is_sequence(indices_or_sections):
        sections = operator.index(indices_or_sections)
        if x.shape[normalize_axis_index(axis, x.ndim)] % sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


def _split_along(numpy_function: Any, dimensions: int, axis: int) -> Any:
    def rule(ary: Any, indices_or_sections: Any) -> Any:
        x = as_tracer(ary)
        if x.ndim < dimensions:
            name = numpy_function.__name__
            raise ValueError(f"{name} only works on arrays of {dimensions} or more dimensions")
        return split(x, indices_or_sections, axis if x.ndim > 1 else 0)

    return implemented(rule, numpy_function, view=True)


hsplit, vsplit = _split_along(np.hsplit, 1, 1), _split_along(np.vsplit, 2, 0)
dsplit = _split_along(np.dsplit, 3, 2)


@implements(np.unstack, view=True, zero_d=False)
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    x = as_tracer(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    x = moveaxis(x, axis, 0)
    return tuple([index_axis(x, 0, i) for i in range(len(x))])
