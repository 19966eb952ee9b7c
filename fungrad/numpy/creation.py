"""Making arrays: from lists and numbers, filled, counting up, like others; matrices and diagonals."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.trace import current_trace
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, type_of
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implements, not_for_tracers
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import apply, as_array, as_tracer, cast, promote, standin, strong
from fungrad.numpy.shape import (
    as_shape,
    broadcast_arrays,
    expand_dims,
    moveaxis,
    permuted,
    reshaped,
    same_array,
)
from fungrad.primitives import elementwise as e
from fungrad.primitives import shaping
from fungrad.primitives.shaping import Pad, ReduceSum, Slice, slice_axis

# NumPy's own: there is nothing to trace in them. Lengths that are tracers must have known values.

zeros, ones, empty, eye, identity, tri = np.zeros, np.ones, np.empty, np.eye, np.identity, np.tri
indices, fromfunction = np.indices, np.fromfunction
diag_indices, diag_indices_from = np.diag_indices, np.diag_indices_from
tril_indices, triu_indices, mask_indices = np.tril_indices, np.triu_indices, np.mask_indices
mgrid, ogrid, s_, index_exp = np.mgrid, np.ogrid, np.s_, np.index_exp

# Conversion


def _converted(x: Any, dtype: Any, ndmin: int = 0) -> Tracer:
    result = as_tracer(x)
    if dtype is not None:
        result = cast(result, np.dtype(dtype))
    return reshaped(result, (1,) * (ndmin - result.ndim) + result.shape)


@implements(np.array)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Any:
    """Lists may hold tracers: they are stacked."""
    return same_array(_converted(object, dtype, ndmin))


@implements(np.asarray)
def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: Any = None,
    like: Any = None,
) -> Any:
    """Lists may hold tracers: they are stacked."""
    return _converted(a, dtype)


@implements(np.asanyarray)
def asanyarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: Any = None,
    like: Any = None,
) -> Any:
    """Lists may hold tracers: they are stacked."""
    return _converted(a, dtype)


@implements(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Tracers have no layout in memory."""
    return _converted(a, dtype, 1)


@implements(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Tracers have no layout in memory."""
    return _converted(a, dtype, 1)


# Filled


def _full(shape: Any, value: Any, dtype: Any) -> Any:
    """Return an array of `shape` filled with a number, an array or a tracer."""
    lengths = as_shape(shape)
    if type(value) is not Tracer and not has_axes(value) and dtype is not None:
        return shaping.full(ArrayType(lengths, np.dtype(dtype)), value)
    filling = _converted(value, dtype)
    try:
        return promotion.broadcast_to(filling, lengths)
    except ValueError:
        np.full(lengths, standin(filling))  # raises NumPy's error
        raise


def has_axes(x: Any) -> bool:
    """Whether `x` is an array or a list of any number of axes but 0."""
    return bool(type_of(as_array(x)).shape)


@implements(np.full)
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    return _full(shape, fill_value, dtype)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    type_ = type_of(as_array(a))
    return _full(type_.shape if shape is None else shape, fill_value, dtype or type_.dtype)


@implements(np.zeros_like)
def zeros_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    return full_like(as_tracer(a), 0, dtype, shape=shape)


@implements(np.ones_like)
def ones_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    return full_like(as_tracer(a), 1, dtype, shape=shape)


@implements(np.empty_like)
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """Of tracers it is filled with zeros."""
    return full_like(as_tracer(prototype), 0, dtype, shape=shape)


# Counting up


@implements(np.arange)
def arange(
    start_or_stop: Any = None,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    like: Any = None,
    start: Any = None,
) -> Any:
    """The number of elements must be known when the function is traced."""
    first = start_or_stop if start is None else start
    begin, end = (0, first) if stop is None else (first, stop)
    step = 1 if step is None else step
    begin, end, step = as_array(begin), as_array(end), as_array(step)
    length = max(0, math.ceil((_number(end) - _number(begin)) / _number(step)))
    dtype = np.dtype(dtype or np.result_type(int, *[type_of(x).dtype for x in (begin, end, step)]))
    counter = _count(length, dtype)
    return cast(apply(e.add, (begin, apply(e.mul, (counter, step)))), dtype)


def _number(x: Any) -> Any:
    """Return the value of a number that may be a tracer; raise if it is not known."""
    if type(x) is not Tracer:
        return x
    return complex(x) if x.dtype.kind == "c" else float(x) if x.dtype.kind == "f" else int(x)


def _count(length: int, dtype: Any) -> Tracer:
    """Return 0, 1, 2, ... as a tracer of the innermost trace."""
    trace = current_trace.get()
    assert trace is not None  # some argument is a tracer
    return trace.lift(np.arange(length, dtype=dtype))


def _ends(start: Any, stop: Any) -> list[Any]:
    """Return both as tracers of one shape and floating-point dtype."""
    ends = [apply(e.mul, (as_tracer(x), 1.0)) for x in (start, stop)]
    return promote(*broadcast_arrays(*ends))


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    begin, end = _ends(start, stop)
    exact = begin.dtype
    div = num - 1 if endpoint else num
    step = (end - begin) / div if div > 0 else (end - begin) * np.asarray(np.nan, exact)[()]
    inner = num - 1 if endpoint and num > 1 else num  # the last one is the end, without rounding
    counter = reshaped(_count(inner, exact), (inner,) + (1,) * begin.ndim)
    result = counter * (step if div > 0 else end - begin) + begin
    if inner < num:
        result = joined([result, reshaped(end, (1, *end.shape))], 0)
    if dtype is not None and np.issubdtype(dtype, np.integer):
        result = e.floor(result)
    if axis != 0:
        result = moveaxis(result, 0, axis)
    result = cast(result, np.dtype(dtype or exact))
    return (result, step) if retstep else result


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    begin, end, base = broadcast_arrays(as_tracer(start), as_tracer(stop), as_tracer(base))
    exponents = linspace(begin, end, num, endpoint=endpoint, axis=axis)
    powers = apply(e.power, (expand_dims(base, axis), exponents))
    return powers if dtype is None else cast(powers, np.dtype(dtype))


@implements(np.geomspace)
def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    """Where an end is 0, traced calls give NaN instead of raising an error."""
    num = operator.index(num)
    begin, end = _ends(start, stop)
    sign = e.sign(begin)
    logs = [e.log10(e.div(x, sign)) for x in (begin, end)]
    powers = apply(e.power, (10, linspace(*logs, num, endpoint)))
    result: Any = apply(e.mul, (sign, powers))
    # The ends are exact.
    if num > 0:
        result = joined([expand_dims(begin, 0), slice_axis(result, 0, 1, num)], 0)
    if num > 1 and endpoint:
        result = joined([slice_axis(result, 0, 0, num - 1), expand_dims(end, 0)], 0)
    result = moveaxis(result, 0, axis)
    return result if dtype is None else cast(result, np.dtype(dtype))


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    x = as_tracer(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    dtype = np.promote_types(x.dtype, int)
    x = cast(x, dtype)
    n = x.size if N is None else operator.index(N)
    columns = [np.ones_like(x), x][:n]
    while len(columns) < n:
        columns.append(columns[-1] * x)
    if not columns:
        return shaping.full(ArrayType((x.size, 0), dtype), 0)
    columns = [reshaped(c, (x.size, 1)) for c in columns]
    return joined(columns if increasing else columns[::-1], 1)


# Triangles and diagonals


def _below(x: Tracer, k: Any) -> np.ndarray[Any, Any]:
    """Return where the last two axes of a matrix are on or below diagonal `k`."""
    rows, columns = (x.shape[-2:] * 2)[:2]  # of a vector NumPy makes a square matrix
    return np.tri(rows, columns, operator.index(k), bool)


def _keep(x: Tracer, mask: Any) -> Any:
    return promotion.where(mask, x, 0)


@implements(np.tril)
def tril(m: Any, k: Any = 0) -> Any:
    x = as_tracer(m)
    return _keep(x, _below(x, k))


@implements(np.triu)
def triu(m: Any, k: Any = 0) -> Any:
    x = as_tracer(m)
    return _keep(x, ~_below(x, k - 1))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    return np.tril_indices_from(standin(arr), k)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    return np.triu_indices_from(standin(arr), k)


@implements(np.diag)
def diag(v: Any, k: Any = 0) -> Any:
    x = as_tracer(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    k = operator.index(k)
    n = x.size + abs(k)
    if not x.size:
        return shaping.full(ArrayType((n, n), x.dtype), 0)
    # In the flattened matrix neighbours on the diagonal are n + 1 apart.
    low = k if k >= 0 else -k * n
    high = n * n - low - (x.size - 1) * (n + 1) - 1
    zero = np.zeros((), x.dtype)[()]
    return reshaped(Pad((low,), (high,), (n,))(x, zero), (n, n))


@implements(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Any:
    x = as_tracer(v)
    return diag(reshaped(x, (x.size,)), k)


@implements(np.diagonal)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    x = as_tracer(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first = normalize_axis_index(axis1, x.ndim, "axis1")
    second = normalize_axis_index(axis2, x.ndim, "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = operator.index(offset)
    others = tuple([i for i in range(x.ndim) if i not in (first, second)])
    x = permuted(x, (*others, first, second))
    *batch, m, n = x.shape
    low = offset if offset >= 0 else -offset * n
    length = max(0, min(m + min(offset, 0), n - max(offset, 0)))
    if not length:
        low = 0
    stop = low + (length - 1) * (n + 1) + 1 if length else 0
    flat = reshaped(x, (*batch, m * n))
    zeros = (0,) * len(batch)
    return Slice((*zeros, low), (*batch, stop), (*(1 for _ in batch), n + 1))(flat)


@implements(np.trace)
def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    not_for_tracers("trace", {"out": out})
    x: Any = diagonal(as_tracer(a), offset, axis1, axis2)
    wanted = np.dtype(dtype) if dtype else np.zeros(0, x.dtype).sum().dtype
    return ReduceSum((x.ndim - 1,))(cast(x, wanted))


# Of types; tracers have dtypes


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    return promotion.result_dtype(
        *[
            type_of(as_array(x)) if has_dtype(x) else ArrayType((), np.dtype(x))
            for x in arrays_and_dtypes
        ]
    )


def has_dtype(x: Any) -> bool:
    """Whether `x` is a value, not a dtype."""
    return isinstance(x, (Tracer, np.ndarray, np.generic, bool, int, float, complex))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> Any:
    return np.can_cast(from_.dtype if type(from_) is Tracer else from_, to, casting)  # type: ignore[arg-type]


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return strong(x).dtype.kind == "c"  # type: ignore[no-any-return]


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return strong(x).dtype.kind != "c"  # type: ignore[no-any-return]
