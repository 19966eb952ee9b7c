"""Cumulative operations: the method `accumulate` of ufuncs, and functions built on it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.config import settings
from fungrad.core.primitive import Primitive
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, is_half
from fungrad.numpy import ufuncs
from fungrad.numpy.dispatch import implemented
from fungrad.numpy.parameters import parameters_of
from fungrad.numpy.promotion import as_tracer, cast
from fungrad.numpy.reductions import dtype_of, merged, reduced_axes, with_axes
from fungrad.numpy.shaping import reshaped
from fungrad.primitives import cumulative
from fungrad.primitives.shaping import full
from fungrad.primitives.slices import index_axis

ACCUMULATIONS: dict[np.ufunc, Callable[[int], Primitive]] = {
    np.add: cumulative.CumSum,
    np.multiply: cumulative.CumProd,
    np.maximum: cumulative.CumMax,
    np.minimum: cumulative.CumMin,
    np.logaddexp: cumulative.CumLogSumExp,
}
"""For each ufunc, the primitive that its `accumulate` is."""


_ROUNDING = (np.add, np.multiply, np.logaddexp)
"""Ufuncs whose two-byte numbers are computed in float32 by JAX's rules, and rounded once."""


def accumulated(array: Any, axis: Any) -> tuple[Tracer, int]:
    """Return the array and the axis that the method `accumulate` of a ufunc is given."""
    x = as_tracer(array)
    if not x.ndim:
        raise TypeError("cannot accumulate on a scalar")
    return x, normalize_axis_index(axis, x.ndim)


def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Return ``ufunc.accumulate`` of a tracer."""
    x, place = accumulated(array, axis)
    wanted = dtype_of(ufunc.accumulate, x.dtype, dtype)
    if ufunc in _ROUNDING and is_half(wanted) and settings.get().jax_types:
        return cast(ACCUMULATIONS[ufunc](place)(cast(x, np.dtype(np.float32))), wanted)
    return ACCUMULATIONS[ufunc](place)(cast(x, wanted))


def _logaddexp_reduce(
    array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    """Return the last element of `accumulate`, as NumPy computes it too."""
    x = as_tracer(array)
    axes = reduced_axes(axis, x.ndim)
    if not x.size:
        dtype = dtype_of(np.logaddexp.reduce, x.dtype, dtype)
        kept = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        return full(ArrayType(kept, dtype), -np.inf)
    flat = merged(x, axes)
    last = flat.ndim - 1
    sums = accumulate(np.logaddexp, flat, last, dtype, out)
    result = index_axis(sums, last, sums.shape[last] - 1)
    return with_axes(result, x.shape, axes) if keepdims else result


for _ufunc in ACCUMULATIONS:
    ufuncs.ufunc_methods["accumulate"][_ufunc] = functools.partial(accumulate, _ufunc)
ufuncs.ufunc_methods["reduce"][np.logaddexp] = _logaddexp_reduce


def _cumulative(numpy_function: Any, ufunc: np.ufunc) -> Any:
    def rule(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = as_tracer(a)
        if dtype is None and x.dtype.kind in "iu" and settings.get().jax_types:
            dtype = x.dtype  # JAX's stays, NumPy's is no narrower than int64
        if axis is None or not x.ndim:
            x, axis = reshaped(x, (x.size,)), axis or 0
        return accumulate(ufunc, x, axis, dtype, out)

    return implemented(rule, numpy_function)


cumsum, cumprod = _cumulative(np.cumsum, np.add), _cumulative(np.cumprod, np.multiply)


def _with_initial(numpy_function: Any, ufunc: np.ufunc) -> Any:
    @parameters_of(numpy_function)
    def rule(x: Any, /, *, axis: Any = None, include_initial: bool = False, **kwargs: Any) -> Any:
        x = np.atleast_1d(as_tracer(x))
        if axis is None and x.ndim > 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        result = ufunc.accumulate(x, axis or 0, **kwargs)
        if not include_initial:
            return result
        before = [(1, 0) if i == (axis or 0) % x.ndim else (0, 0) for i in range(x.ndim)]
        return np.pad(result, before, constant_values=ufunc.identity)

    return implemented(rule, numpy_function)


cumulative_sum = _with_initial(np.cumulative_sum, np.add)
cumulative_prod = _with_initial(np.cumulative_prod, np.multiply)
