"""Reductions along axes and cumulative operations: sums, products, extrema, means, variances.

The first two tables say which primitive the `reduce` and the `accumulate` of a ufunc are; NumPy's functions are
made of these.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.primitive import Primitive
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, Shape, type_of
from fungrad.numpy import dispatch, promotion
from fungrad.numpy.dispatch import implements, not_for_tracers
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import apply, as_array, as_tracer, broadcast_to, cast, strong
from fungrad.numpy.shape import reshaped, same_array
from fungrad.primitives import cumulative, reductions
from fungrad.primitives import elementwise as e
from fungrad.primitives.shaping import ReduceSum, full, slice_axis

DType = np.dtype[Any]

REDUCTIONS: dict[np.ufunc, tuple[Callable[[tuple[int, ...]], Primitive], Any]] = {
    np.add: (ReduceSum, 0),
    np.multiply: (reductions.ReduceProd, 1),
    np.maximum: (reductions.ReduceMax, None),
    np.minimum: (reductions.ReduceMin, None),
    np.logical_and: (reductions.ReduceAnd, True),
    np.logical_or: (reductions.ReduceOr, False),
    np.logical_xor: (reductions.ReduceXor, False),
}
"""For each ufunc, the primitive that its `reduce` is, and the identity."""

ACCUMULATIONS: dict[np.ufunc, Callable[[int], Primitive]] = {
    np.add: cumulative.CumSum,
    np.multiply: cumulative.CumProd,
    np.maximum: cumulative.CumMax,
    np.minimum: cumulative.CumMin,
    np.logaddexp: cumulative.CumLogSumExp,
}
"""For each ufunc, the primitive that its `accumulate` is."""

missing: Any = object()
"""Stands for an argument that is not given, where None means something."""


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes that NumPy's reductions read from their argument `axis`, in order."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is tuple:
        axes = [normalize_axis_index(a, ndim) for a in axis]
        if len({*axes}) != len(axes):
            raise ValueError("duplicate value in 'axis'")
        return tuple(sorted(axes))
    if ndim == 0 and axis in (0, -1):
        return ()  # NumPy lets this pass
    return (normalize_axis_index(axis, ndim),)


def with_axes(x: Tracer, shape: Shape, axes: tuple[int, ...]) -> Tracer:
    """Return a reduced array with the reduced axes of `shape` put back, of length 1."""
    return reshaped(x, tuple([1 if i in axes else n for i, n in enumerate(shape)]))


@functools.lru_cache(maxsize=1 << 10)
def _dtype_of(method: Callable[..., Any], dtype: DType, asked: Any) -> DType:
    """Return the dtype of the result of a ufunc's `reduce` or `accumulate`, by asking NumPy."""
    return method(np.zeros(1, dtype), dtype=asked).dtype  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1 << 12, typed=True)
def _plan(
    ufunc: np.ufunc, type_: ArrayType, axis: Any, dtype: Any
) -> tuple[DType, Primitive, tuple[int, ...]]:
    axes = reduced_axes(axis, type_.ndim)
    found = np.dtype(bool) if "logical" in ufunc.__name__ else _dtype_of(ufunc.reduce, type_.dtype, dtype)
    return found, REDUCTIONS[ufunc][0](axes), axes


def reduce(
    ufunc: np.ufunc,
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = missing,
    where: Any = True,
) -> Any:
    """Return what ``ufunc.reduce`` of a tracer is, with all its arguments."""
    if out is not None:
        not_for_tracers(f"{ufunc.__name__}.reduce", {"out": out})
    x = a if type(a) is Tracer and not a.type.weak else as_tracer(a)
    if type(axis) is list:
        raise TypeError("'list' object cannot be interpreted as an integer")
    found, primitive, axes = _plan(ufunc, x.type, axis, dtype)
    x = cast(x, found)
    if initial is not missing:
        initial = cast(as_tracer(initial), found)
    if where is not True:
        x = _masked(ufunc, x, where, initial)
    shape = x.shape
    if initial is missing:
        result = primitive(x)
    else:
        if 0 not in shape or REDUCTIONS[ufunc][1] is not None:
            result = apply(dispatch_primitives[ufunc], (initial, primitive(x)))
        else:
            kept = tuple([n for i, n in enumerate(shape) if i not in axes])
            result = broadcast_to(initial, kept)
    return with_axes(result, shape, axes) if keepdims else result


dispatch_primitives: dict[np.ufunc, e.Function] = {
    np.add: e.add,
    np.multiply: e.mul,
    np.maximum: e.maximum,
    np.minimum: e.minimum,
    np.logical_and: e.logical_and,
    np.logical_or: e.logical_or,
    np.logical_xor: e.logical_xor,
}
