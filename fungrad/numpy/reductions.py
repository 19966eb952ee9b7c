"""Reductions along axes: sums, products, extrema and their positions, means, variances.

A table says which primitive the `reduce` of a ufunc is; NumPy's functions are made of these.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.config import settings
from fungrad.core.primitive import Primitive
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, Shape, is_half, kind_of, type_of
from fungrad.numpy import promotion, ufuncs
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.parameters import parameters_of
from fungrad.numpy.promotion import apply, as_array, as_tracer, broadcast_to, cast
from fungrad.numpy.shaping import reshaped
from fungrad.primitives import elementwise as e
from fungrad.primitives import reductions
from fungrad.primitives.lengths import PowerNorm, RootMeanSquare
from fungrad.primitives.shaping import ReduceSum, permuted

DType = np.dtype[Any]

missing: Any = np._NoValue
"""Stands for an argument that is not given, where None means something."""


class Reduction(NamedTuple):
    """The `reduce` of a ufunc: a primitive, how to combine two results, the identity."""

    primitive: Callable[[tuple[int, ...]], Primitive]
    combine: e.Function
    identity: Any


REDUCTIONS: dict[np.ufunc, Reduction] = {
    np.add: Reduction(ReduceSum, e.add, 0),
    np.multiply: Reduction(reductions.ReduceProd, e.mul, 1),
    np.maximum: Reduction(reductions.ReduceMax, e.maximum, None),
    np.minimum: Reduction(reductions.ReduceMin, e.minimum, None),
    np.logical_and: Reduction(reductions.ReduceAnd, e.logical_and, True),
    np.logical_or: Reduction(reductions.ReduceOr, e.logical_or, False),
    np.logical_xor: Reduction(reductions.ReduceXor, e.logical_xor, False),
}


# Reducing with a ufunc


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes that NumPy's reductions read from their argument `axis`, in order."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, tuple):
        axes = [normalize_axis_index(operator.index(a), ndim) for a in axis]
        if len({*axes}) != len(axes):
            raise ValueError("duplicate value in 'axis'")
        return tuple(sorted(axes))
    if ndim == 0 and axis in (0, -1):
        return ()  # NumPy lets this pass
    return (normalize_axis_index(operator.index(axis), ndim),)


def with_axes(x: Tracer, shape: Shape, axes: tuple[int, ...]) -> Tracer:
    """Return a reduced array with the reduced axes of `shape` put back, of length 1."""
    return reshaped(x, tuple([1 if i in axes else n for i, n in enumerate(shape)]))


@functools.lru_cache(maxsize=1 << 10)
def dtype_of(method: Callable[..., Any], dtype: DType, asked: Any) -> DType:
    """Return the dtype of the result of a ufunc's `reduce` or `accumulate`, by asking NumPy."""
    return method(np.zeros(1, dtype), dtype=asked).dtype  # type: ignore[no-any-return]


_SUMS = (np.add, np.multiply)
"""Ufuncs whose two-byte numbers are summed in float32 by JAX's rules."""


@functools.lru_cache(maxsize=1 << 12, typed=True)
def _plan(
    ufunc: np.ufunc, type_: ArrayType, axis: Any, dtype: Any
) -> tuple[DType, Primitive, tuple[int, ...], tuple[ArrayType, ...] | None]:
    """Return the result's dtype, the primitive, its axes; and result types if nothing else is to be done."""
    axes = reduced_axes(axis, type_.ndim)
    make, _, identity = REDUCTIONS[ufunc]
    logical = isinstance(identity, bool)
    out_dtype = np.dtype(bool) if logical else dtype_of(ufunc.reduce, type_.dtype, dtype)
    primitive = make(axes)
    as_it_is = out_dtype == type_.dtype and not (identity is None and 0 in type_.shape)
    as_it_is = as_it_is and not (ufunc in _SUMS and is_half(out_dtype))
    return out_dtype, primitive, axes, primitive.infer((type_,)) if as_it_is else None


def reduce(
    ufunc: np.ufunc,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = missing,
    where: Any = True,
) -> Any:
    """Return ``ufunc.reduce`` of a tracer, with all its arguments; by default of all axes."""
    x = a if type(a) is Tracer and not a._type.weak else as_tracer(a)
    if x._type.weak:
        x = cast(x, x.dtype)
    if isinstance(axis, list):
        raise TypeError("'list' object cannot be interpreted as an integer")
    out_dtype, primitive, axes, types = _plan(ufunc, x._type, axis, dtype)
    where, initial = True if where is None else where, missing if initial is None else initial
    if types is not None and where is True and initial is missing and not keepdims:
        if (trace := x._owner).into is None:
            return trace.extend(primitive, (x._variable,), types)
        return primitive(x)
    if ufunc in _SUMS and is_half(out_dtype) and settings.get().jax_types:
        single = reduce(ufunc, x, axis, np.float32, out, keepdims, initial, where)
        return cast(single, out_dtype)
    x = cast(x, out_dtype)
    shape, identity = x.shape, REDUCTIONS[ufunc].identity
    if initial is not missing:
        initial = cast(as_tracer(initial), out_dtype)
    if where is not True:
        fill = identity if identity is not None else initial
        if fill is missing:
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a "
                "where mask one has to specify 'initial'"
            )
        if identity is None and kind_of(out_dtype) == "f":  # elements may tie with `initial`
            fill = -math.inf if ufunc is np.maximum else math.inf
        x = promotion.where(mask_of(where, shape), x, fill)
    if initial is missing:
        result = primitive(x)
    elif 0 in [shape[i] for i in axes]:  # as it is, even if it is -0.0
        result = broadcast_to(initial, tuple([n for i, n in enumerate(shape) if i not in axes]))
    else:
        result = apply(REDUCTIONS[ufunc].combine, (initial, primitive(x)))
    return with_axes(result, shape, axes) if keepdims else result


def mask_of(where: Any, shape: Shape) -> Any:
    """Return the argument `where` as an array; it must broadcast to the shape of the operand."""
    mask = as_array(where)
    if len(type_of(mask).shape) > len(shape):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    return mask


def merged(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Return `x` with `axes` merged into one, which is the last."""
    kept = [i for i in range(x.ndim) if i not in axes]
    length = math.prod([x.shape[i] for i in axes])
    x = permuted(x, (*kept, *axes))
    return reshaped(x, (*x.shape[: len(kept)], length))


for _ufunc in REDUCTIONS:
    ufuncs.ufunc_methods["reduce"][_ufunc] = functools.partial(reduce, _ufunc)


# Sums, products, extrema, truth


def _total(numpy_function: Any, ufunc: np.ufunc) -> Any:
    @parameters_of(numpy_function)
    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        return reduce(ufunc, a, *args, **kwargs)

    return implemented(rule, numpy_function, alone=functools.partial(reduce, ufunc))


sum, prod = _total(np.sum, np.add), _total(np.prod, np.multiply)


def _extremum(numpy_function: Any, alias: Any, ufunc: np.ufunc) -> Any:
    @parameters_of(numpy_function)
    def rule(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Elements that tie for it share the derivative equally."""
        return reduce(ufunc, a, axis, None, *args, **kwargs)

    return implemented(rule, numpy_function, alias, alone=functools.partial(reduce, ufunc))


max, min = _extremum(np.max, np.amax, np.maximum), _extremum(np.min, np.amin, np.minimum)
amax, amin = max, min


def _truth(numpy_function: Any, ufunc: np.ufunc) -> Any:
    def rule(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        return reduce(ufunc, a, axis, None, out, keepdims, missing, where)

    return implemented(rule, numpy_function)


all, any = _truth(np.all, np.logical_and), _truth(np.any, np.logical_or)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    nonzero = cast(as_tracer(a), np.dtype(bool))
    return reduce(np.add, nonzero, axis, np.intp, keepdims=keepdims)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    x = as_tracer(a)
    return apply(e.sub, (max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims)))


# Positions of extrema


def _position(numpy_function: Any, primitive: type[reductions.ArgMax | reductions.ArgMin]) -> Any:
    def rule(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        x = as_tracer(a)
        axes: tuple[int, ...] = tuple(range(x.ndim))
        if axis is None or not x.ndim:
            normalize_axis_index(axis or 0, 1)
            result = primitive(0)(reshaped(x, (x.size,)))
        else:
            axes = (normalize_axis_index(axis, x.ndim),)
            result = primitive(axes[0])(x)
        return with_axes(result, x.shape, axes) if keepdims else result

    return implemented(rule, numpy_function)


argmax, argmin = _position(np.argmax, reductions.ArgMax), _position(np.argmin, reductions.ArgMin)


# Means and variances


def count(x: Tracer, axis: Any, where: Any, keepdims: Any) -> Any:
    """Return how many elements are reduced to one; an array of counts if there is a mask."""
    if where is True:
        return math.prod([x.shape[i] for i in reduced_axes(axis, x.ndim)])
    mask = cast(as_tracer(mask_of(where, x.shape)), np.dtype(bool))
    return reduce(np.add, broadcast_to(mask, x.shape), axis, np.intp, keepdims=keepdims)


# In half precision the count may be infinite; complex numbers of single precision are divided as NumPy does.
_DIVIDED_IN: dict[Any, DType] = {np.dtype("f2"): np.dtype("f4"), np.dtype("c8"): np.dtype("c16")}


def divided(total: Tracer, number: Any) -> Tracer:
    """Return a sum divided by a count, in the dtype of the sum."""
    wide = _DIVIDED_IN.get(total.dtype)
    if wide is not None:
        return cast(divided(cast(total, wide), number), total.dtype)  # type: ignore[no-any-return]
    return cast(total / number, total.dtype)  # type: ignore[no-any-return]


def is_exact(dtype: DType) -> bool:
    """Whether the dtype holds booleans or integers: their means are of dtype float64."""
    return dtype.kind in "biu"


@implements(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    x = as_tracer(a)
    half = dtype is None and x.dtype == np.float16
    if dtype is None and (half or is_exact(x.dtype)):
        dtype = np.float32 if half else np.float64
    total = reduce(np.add, x, axis, dtype, out, keepdims, where=where)
    result = divided(total, count(x, axis, where, keepdims))
    return cast(result, x.dtype) if half else result


def degrees_of_freedom(ddof: Any, correction: Any) -> Any:
    """Return `ddof`, also when it is given by its newer name."""
    if correction is not missing and ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return ddof if correction is missing else correction


def squared_magnitude(x: Tracer) -> Any:
    """Return |x|^2, a real array."""
    if x.dtype.kind == "c":
        return e.add(e.square(e.real(x)), e.square(e.imag(x)))
    return e.square(x)


@implements(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = missing,
    correction: Any = missing,
) -> Any:
    x = as_tracer(a)
    if dtype is None and is_exact(x.dtype):
        dtype = np.float64
    deviations = _deviations(x, axis, dtype, where, mean)
    total = reduce(np.add, squared_magnitude(deviations), axis, dtype, out, keepdims, where=where)
    ddof = degrees_of_freedom(ddof, correction)
    return divided(total, _freedom(count(x, axis, where, keepdims), ddof))


def _deviations(x: Tracer, axis: Any, dtype: Any, where: Any, mean: Any) -> Tracer:
    """Return the deviations of `x` from the `mean`, by default that of its counted elements."""
    if mean is missing:
        total = reduce(np.add, x, axis, dtype, keepdims=True, where=where)
        mean = divided(total, count(x, axis, where, True))
    return apply(e.sub, (x, mean))  # type: ignore[no-any-return]


def _freedom(number: Any, ddof: Any) -> Any:
    """Return the divisor of a sum of so many squares."""
    freedom = np.maximum(number - ddof, 0)
    return freedom if type(freedom) is Tracer else freedom.item()


@implements(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = missing,
    correction: Any = missing,
) -> Any:
    """The first derivative is 0 where the deviation is.

    Further ones are 0 there in directions in which the deviation stays 0, and NaN in others, in which they do not exist.
    """
    x = as_tracer(a)
    if where is True and dtype is None and mean is missing and x.dtype.kind in "fc":
        number = count(x, axis, True, keepdims)
        freedom = number - degrees_of_freedom(ddof, correction)
        if number and freedom > 0 and x.dtype.name not in ("float16", "bfloat16"):
            x = e.stop_gradient(x) if number == 1 else x  # whose deviation is 0 wherever it moves
            center = divided(reduce(np.add, x, axis, keepdims=True), number)
            return length(apply(e.sub, (x, center)), axis, keepdims, freedom)
    if dtype is None and is_exact(x.dtype):
        dtype = np.float64
    deviations = _deviations(x, axis, dtype, where, mean)
    if where is not True:
        deviations = promotion.where(mask_of(where, x.shape), deviations, 0)
    freedom = _freedom(count(x, axis, where, keepdims), degrees_of_freedom(ddof, correction))
    return deviation(deviations, axis, dtype, keepdims, freedom)


def deviation(x: Tracer, axis: Any, dtype: Any, keepdims: Any, number: Any) -> Tracer:
    """Return the root of the sum of squared deviations, divided by a number."""
    if dtype is None:
        dtype = np.zeros((), x.dtype).real.dtype
    if is_exact(x.dtype) or x.dtype.itemsize < 4:
        x = cast(x, np.dtype(np.float64 if is_exact(x.dtype) else np.float32))
    if type(number) is not Tracer and number > 0:
        return cast(length(x, axis, keepdims, number), np.dtype(dtype))  # type: ignore[no-any-return]
    root = length(x, axis, keepdims)
    return cast(root / np.sqrt(cast(as_tracer(number), root.dtype)), np.dtype(dtype))  # type: ignore[no-any-return]


def length(x: Tracer, axis: Any, keepdims: Any = False, number: float = 1, order: float = 2) -> Any:
    """Return the root of the sum of ``abs(x)**2``, divided by a number; or a norm of greater order."""
    axes = reduced_axes(axis, x.ndim)
    parts = (e.real(x), e.imag(x)) if x.dtype.kind == "c" else (x,)
    measure = RootMeanSquare(axes, number) if order == 2 else PowerNorm(axes, order)
    result = measure(*parts)
    return with_axes(result, x.shape, axes) if keepdims else result
