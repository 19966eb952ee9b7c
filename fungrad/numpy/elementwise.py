"""Elementwise functions that are no ufuncs: choice, rounding, complex parts, comparison."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.core.types import PYTHON_SCALARS, type_of
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.extended import extended, extends
from fungrad.numpy.keys import hold_keys
from fungrad.numpy.plans import loop_dtypes
from fungrad.numpy.promotion import (
    apply,
    as_array,
    as_tracer,
    cast,
    check_cast,
    promote,
    strong,
)
from fungrad.numpy.reductions import all, is_exact, missing
from fungrad.numpy.selecting import nonzero
from fungrad.numpy.shaping import same_array
from fungrad.numpy.storing import store, writable_out
from fungrad.numpy.views import copied, is_scalar, read_only
from fungrad.primitives import elementwise as e
from fungrad.primitives.shaping import zeros_like

# Choice


@extends(np.where, first="size", zero_d=True)
def where(
    condition: Any, x: Any = None, y: Any = None, /, *, size: Any = None, fill_value: Any = None
) -> Any:
    """With the condition alone it takes `size` and `fill_value`, as `nonzero` does."""
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None:
        raise ValueError("where: size is for the condition alone, without x and y")
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return promotion.where(condition, x, y)


@implements(np.clip)
def _clip(
    a: Any,
    a_min: Any = missing,
    a_max: Any = missing,
    out: Any = None,
    *,
    min: Any = missing,
    max: Any = missing,
    dtype: Any = None,
) -> Any:
    """An element at a bound shares the derivative with it in halves, as in `minimum` and `maximum`."""
    if a_min is missing and a_max is missing:
        a_min = None if min is missing else min
        a_max = None if max is missing else max
    elif a_min is missing or a_max is missing:
        absent = "a_min" if a_min is missing else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{absent}'")
    elif not (min is missing and max is missing):
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
        )
    x, low, high = strong(a), a_min, a_max
    if dtype is not None:
        x, low, high = (
            None if y is None else _safely(as_tracer(y), np.dtype(dtype)) for y in (x, low, high)
        )
    dtype = type_of(x).dtype
    if dtype.kind in "iu":
        # A Python integer beyond the dtype's range is no bound; it could not be converted.
        if type(low) is int and low <= np.iinfo(dtype).min:
            low = None
        if type(high) is int and high >= np.iinfo(dtype).max:
            high = None
    if low is None and high is None:
        return apply(e.positive, (as_tracer(x),))
    if low is None:
        return apply(e.minimum, (x, high))
    if high is None:
        return apply(e.maximum, (x, low))
    return apply(e.clamp, (low, x, high))


@extended(_clip)
def clip(
    a: Any,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    *,
    a_min: Any = missing,
    a_max: Any = missing,
    **kwargs: Any,
) -> Any:
    """Bounds are `min` and `max`, by position or name, as in the array API standard; None is no bound.

    Both together may also be called `a_min` and `a_max`, as in NumPy.
    """
    if a_min is missing and a_max is missing:
        return _clip(a, min, max, out, **kwargs)
    bounds = {"a_min": a_min, "a_max": a_max}
    bounds |= {k: x for k, x in (("min", min), ("max", max)) if x is not None}
    return _clip(a, out=out, **{k: x for k, x in bounds.items() if x is not missing}, **kwargs)


@implements(np.nan_to_num, view=True, zero_d=False)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    array = as_tracer(x)
    if not issubclass(array.dtype.type, np.inexact):
        return array
    if not copy and not is_scalar(array):
        return store(
            writable_out("nan_to_num", array), nan_to_num(array, True, nan, posinf, neginf)
        )
    if array.dtype.kind == "c":
        parts = [nan_to_num(f(array), True, nan, posinf, neginf) for f in (e.real, e.imag)]
        return e.complex_(*parts)
    limits = np.finfo(array.dtype)
    replacements = [
        (e.isnan(array), nan),
        (apply(e.equal, (array, math.inf)), limits.max if posinf is None else posinf),
        (apply(e.equal, (array, -math.inf)), limits.min if neginf is None else neginf),
    ]
    for mask, value in replacements:
        array = promotion.where(mask, cast(as_tracer(value), array.dtype), array)
    return copied(as_tracer(x), array, "K")


def _safely(x: Tracer, dtype: np.dtype[Any]) -> Any:
    """Return a tracer in a dtype of the same kind or a wider one."""
    check_cast(x.dtype, dtype, "same_kind")
    return cast(x, dtype)


# Rounding


@implements(np.round, np.around)
def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    x, decimals = as_tracer(a), operator.index(decimals)
    if x.dtype.kind == "c":
        return e.complex_(round(e.real(x), decimals), round(e.imag(x), decimals))
    if x.dtype.kind in "iu" and decimals >= 0:
        return same_array(x)
    if decimals == 0:
        return apply(e.rint, (x,))
    if x.dtype.kind == "b":
        raise TypeError("booleans cannot be rounded to decimals: convert them with .astype(int)")
    # As NumPy computes it; 10 to a negative power would not be exact.
    scale, unscale = (e.mul, e.div) if decimals > 0 else (e.div, e.mul)
    factor = 10.0 ** (decimals if decimals > 0 else -decimals)
    return cast(apply(unscale, (apply(e.rint, (apply(scale, (x, factor)),)), factor)), x.dtype)


around = round


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    return apply(e.trunc, (as_tracer(x),))


# Complex parts


@implements(np.real, view=True)
def real(val: Any) -> Any:
    x = as_tracer(val)
    return e.real(x) if x.dtype.kind == "c" else same_array(x)


@implements(np.imag, view=True)
def imag(val: Any) -> Any:
    x = as_tracer(val)
    if x.dtype.kind == "c":
        return e.imag(x)
    return zeros_like(x) if is_scalar(x) else read_only(copied(x, zeros_like(x), "A"))


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    x = as_tracer(z)
    parts = (e.imag(x), e.real(x)) if x.dtype.kind == "c" else (0, x)
    result = apply(e.arctan2, parts)
    return apply(e.mul, (result, 180 / math.pi)) if deg else result


isreal = implemented(lambda x: apply(e.equal, (e.imag(as_tracer(x)), 0)), np.isreal)
iscomplex = implemented(lambda x: apply(e.not_equal, (e.imag(as_tracer(x)), 0)), np.iscomplex)


# Functions


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """Differentiable at 0 too."""
    array = as_tracer(x)
    dtype, _ = loop_dtypes(np.multiply, (array._type, PYTHON_SCALARS[float]))  # that of pi * x
    return e.sinc(cast(array, dtype))


# Comparison


def _is_infinity(numpy_function: Any, infinity: float) -> Any:
    def rule(x: Any, out: Any = None) -> Any:
        array = as_tracer(x)
        if array.dtype.kind == "c":
            raise TypeError(
                f"This operation is not supported for {array.dtype} values because it would be ambiguous."
            )
        return apply(e.equal, (array, infinity))

    return implemented(rule, numpy_function)


isposinf, isneginf = _is_infinity(np.isposinf, math.inf), _is_infinity(np.isneginf, -math.inf)


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> Any:
    x, y = as_array(a), as_array(b)
    if hold_keys((x, y)):
        return np.equal(x, y)
    if type(y) is int:
        y = float(y)
    elif not isinstance(y, bool | float | complex) and is_exact(y.dtype):
        y = cast(as_tracer(y), np.dtype(np.float64))
    finite: Any = np.isfinite(y)
    # No difference of infinities, which would warn.
    compared = np.where(finite, y, 0)
    distance = np.absolute(np.subtract(x, compared))
    near = np.less_equal(distance, np.add(atol, np.multiply(rtol, np.absolute(compared))))
    result = np.logical_or(np.logical_and(near, finite), np.equal(x, y))
    if equal_nan:
        result = np.logical_or(result, np.logical_and(np.isnan(x), np.isnan(y)))
    return result


@implements(np.allclose)
def allclose(
    a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False
) -> Any:
    return all(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if np.shape(a1) != np.shape(a2):
        return np.False_
    x, y = promote(as_tracer(a1), as_tracer(a2))
    same = apply(e.equal, (x, y))
    if equal_nan and not is_exact(x.dtype):
        same = e.logical_or(same, e.logical_and(e.isnan(x), e.isnan(y)))
    return all(same)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    x, y = as_array(a1), as_array(a2)
    try:
        np.broadcast_shapes(np.shape(x), np.shape(y))
    except ValueError:
        return np.False_
    return all(apply(e.equal, (as_tracer(x), as_tracer(y))))
