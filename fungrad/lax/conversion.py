"""Conversions, rounding, parts of complex numbers, and choices among arrays."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.types import ArrayType, kind_of, type_of
from fungrad.lax.arguments import integer_of
from fungrad.lax.arithmetic import unary
from fungrad.lax.glossary import public, public_like
from fungrad.lax.operands import (
    FLOAT,
    INEXACT,
    aligned,
    array_type_of,
    brought_to,
    common_dtype,
    described,
    own_result,
)
from fungrad.primitives import elementwise as e
from fungrad.primitives.bits import Bitcast, ReducePrecision
from fungrad.transforms.stop import stop_gradient

__all__ = [
    "RoundingMethod",
    "bitcast_convert_type",
    "clamp",
    "complex",
    "conj",
    "convert_element_type",
    "imag",
    "real",
    "reduce_precision",
    "round",
    "select",
    "select_n",
    "stop_gradient",
]

# Dtypes


def _dtype(function: str, dtype: Any) -> np.dtype[Any]:
    """Return a dtype of numbers; Python's types are those of NumPy."""
    found: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
    if found is None or kind_of(found) not in "biufc":
        raise TypeError(f"lax.{function}: new_dtype is a dtype of numbers, got {dtype!r}")
    return found


@public
def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """Return an array in another dtype.

    Parameters
    ----------
    operand
        Array, number or tracer.
    new_dtype
        A dtype of numbers. Numbers with a fraction are cut to integers, and complex ones to their real
        part.

    Returns
    -------
    array
        Of the shape of `operand`.

    Raises
    ------
    TypeError
        If `new_dtype` is no dtype of numbers.

    Examples
    --------
    >>> lax.convert_element_type(np.array([1.7, -1.7]), np.int32)
    array([ 1, -1], dtype=int32)
    """
    array_type_of("convert_element_type", "operand", operand)
    return e.Cast(_dtype("convert_element_type", new_dtype))(operand)


@public
def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """Return the numbers of another dtype that have the same bits.

    Parameters
    ----------
    operand
        Array, number or tracer, neither boolean nor complex unless `new_dtype` is the same.
    new_dtype
        The dtype. If it is smaller, the result has an axis more, for the parts of each number; if it is larger,
        the last axis of `operand` holds the parts of one number, and the result lacks it.

    Returns
    -------
    array
        No derivatives go through it.

    Raises
    ------
    TypeError
        For booleans and complex numbers.
    ValueError
        If the last axis does not have the length that makes one number.

    Examples
    --------
    >>> lax.bitcast_convert_type(np.array([1.0, -2.0], np.float32), np.uint32)
    array([1065353216, 3221225472], dtype=uint32)
    """
    type_ = array_type_of("bitcast_convert_type", "operand", operand)
    dtype = _dtype("bitcast_convert_type", new_dtype)
    if dtype != type_.dtype and any(kind_of(d) in "bc" for d in (dtype, type_.dtype)):
        raise TypeError(
            f"lax.bitcast_convert_type: {type_} to {dtype}: booleans and complex numbers are not read as other "
            "dtypes. Take lax.real and lax.imag, or lax.convert_element_type."
        )
    parts, rest = divmod(dtype.itemsize, type_.dtype.itemsize)
    if parts > 1 and (rest or not type_.ndim or type_.shape[-1] != parts):
        raise ValueError(
            f"lax.bitcast_convert_type: {parts} numbers of {type_.dtype} make one of {dtype}, so the last axis "
            f"of operand must have length {parts}; got {type_}"
        )
    (operand,) = brought_to([operand], [type_.dtype], type_.shape)
    return own_result(Bitcast(dtype)(operand))


@public
def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Return numbers rounded to those of a floating-point format with fewer bits.

    Parameters
    ----------
    operand
        Array or number, floating-point.
    exponent_bits, mantissa_bits
        The bits of the format: 5 and 10 for float16, 8 and 7 for bfloat16. What is too large for it becomes
        infinite, what is below its normal numbers 0.

    Returns
    -------
    array
        Of the shape and dtype of `operand`. The derivative is that of the identity.

    Raises
    ------
    TypeError
        If `operand` is not floating-point.
    ValueError
        If there is no bit for the exponent, or the number for the mantissa is negative.

    Examples
    --------
    >>> lax.reduce_precision(np.array([3.14159, 1e5]), exponent_bits=5, mantissa_bits=10)
    array([3.140625,      inf])
    """
    name = "reduce_precision"
    exponent = integer_of(name, "exponent_bits", exponent_bits)
    mantissa = integer_of(name, "mantissa_bits", mantissa_bits)
    if exponent < 1:
        raise ValueError(f"lax.reduce_precision: exponent_bits must be positive, got {exponent}")
    if mantissa < 0:
        raise ValueError(f"lax.reduce_precision: mantissa_bits is negative: {mantissa}")
    rounded = ReducePrecision(exponent, mantissa)
    return rounded(*aligned(name, FLOAT, (operand,), ("operand",)))


class RoundingMethod(enum.IntEnum):
    """How `round` decides between two whole numbers that are equally near.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad import lax
    >>> lax.round(np.array([0.5, 1.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
    array([0., 2.])
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


@public
def round(x: Any, rounding_method: int = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """Return the nearest whole numbers.

    Parameters
    ----------
    x
        Array or number, floating-point.
    rounding_method
        A `RoundingMethod`: what halves are rounded to.

    Returns
    -------
    array
        Of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        If `x` is not floating-point.
    ValueError
        If `rounding_method` is none.

    Examples
    --------
    >>> lax.round(np.array([0.5, 1.5, -2.4]))
    array([ 1.,  2., -2.])
    """
    (x,) = aligned("round", FLOAT, (x,), ("x",))
    if RoundingMethod(rounding_method) is RoundingMethod.TO_NEAREST_EVEN:
        return e.rint(x)
    # With the number next below a half, sums that are not halves stay below the next whole number, also after
    # rounding, in every binade.
    dtype = type_of(x).dtype
    half = np.nextafter(dtype.type(0.5), dtype.type(0))
    return e.trunc(x + e.copysign(*brought_to((half, x), [dtype] * 2, type_of(x).shape)))


# Complex numbers


@public
def complex(x: Any, y: Any) -> Any:
    """Return ``x + 1j * y``, which keeps infinities and signs of zeros.

    Parameters
    ----------
    x, y
        Arrays or numbers, both float32 or both float64, of one shape.

    Returns
    -------
    array
        Of the same shape, complex64 or complex128.

    Raises
    ------
    TypeError
        If dtypes are others, or differ, or if shapes differ.

    Examples
    --------
    >>> lax.complex(np.array([1.0, 2.0]), np.array([0.5, -1.0]))
    array([1.+0.5j, 2.-1.j ])
    """
    return e.complex_(*aligned("complex", FLOAT, (x, y), ("x", "y")))


def _conj(x: Any) -> Any:
    if e.is_complex(x):
        return e.conj(x)
    (zero,) = brought_to((0.0,), [type_of(x).dtype], ())
    return complex(x, zero)


real = unary("real", lambda x: own_result(e.real(x)), "c", "the real part")
imag = unary("imag", lambda x: own_result(e.imag(x)), "c", "the imaginary part")
conj = unary("conj", _conj, INEXACT, "the conjugate, as a complex number")

# Choices


@public
def clamp(min: Any, x: Any, max: Any) -> Any:
    """Return `x` with `min` in place of what is below it, and `max` of what is above.

    Parameters
    ----------
    min, max
        Bounds of the dtype of `x` and of its shape, or without axes.
    x
        Array or number, integer or floating-point.

    Returns
    -------
    array
        Of the shape and dtype of `x`; `max` where `min` is above it. An element at a bound shares the
        derivative with it in halves, so derivatives sum to one (in JAX all are 0 there).

    Raises
    ------
    TypeError
        If dtypes or shapes differ.

    Examples
    --------
    >>> lax.clamp(0.0, np.array([-1.0, 0.5, 3.0]), 1.0)
    array([0. , 0.5, 1. ])
    """
    names, arguments = ("min", "x", "max"), (min, x, max)
    types = [array_type_of("clamp", n, v) for n, v in zip(names, arguments, strict=True)]
    dtype = common_dtype("clamp", "iuf", types, names)
    shape = types[1].shape
    if any(t.shape not in ((), shape) for t in types):
        raise TypeError(
            f"lax.clamp takes bounds of the shape of x or without axes, got {described(types, names)}. Use "
            "fungrad.numpy.clip, which broadcasts."
        )
    return e.clamp(*brought_to(arguments, [dtype] * 3, shape))


def _cases(function: str, which: ArrayType, cases: Sequence[Any]) -> list[ArrayType]:
    """Return the types of the cases; raise TypeError if they do not agree."""
    names = [f"case {i}" for i in range(len(cases))]
    types = [array_type_of(function, n, x) for n, x in zip(names, cases, strict=True)]
    if len({t.shape for t in types}) > 1 or which.shape not in ((), types[0].shape):
        raise TypeError(
            f"lax.{function} takes cases of one shape and a choice of that shape or without axes, got "
            f"{described([which, *types], ['choice', *names])}. Broadcast them, or use fungrad.numpy.where."
        )
    return types


def _choose(function: str, which: Any, cases: Sequence[Any]) -> Any:
    which_type = array_type_of(function, "the choice", which)
    types = _cases(function, which_type, cases)
    names = [f"case {i}" for i in range(len(cases))]
    dtype, shape = common_dtype(function, "biufc", types, names), types[0].shape
    dtypes = [which_type.dtype, *[dtype] * len(cases)]
    which, *cases = brought_to([which, *cases], dtypes, shape)
    chosen = cases[0]
    for number, case in enumerate(cases[1:], 1):
        # By comparison, so that the last case is taken for what is beyond, and the first below 0.
        later = which if dtypes[0].kind == "b" else which >= number
        chosen = e.select(later, case, chosen)
    return own_result(chosen)


@public
def select_n(which: Any, *cases: Any) -> Any:
    """Return for each element that of one of several arrays.

    Parameters
    ----------
    which
        Booleans (False takes the first of two cases, True the second) or integers, the number of the case;
        of the shape of the cases or without axes. Numbers out of range take the nearest case.
    *cases
        Arrays of one shape and dtype.

    Returns
    -------
    array
        Of the shape and dtype of the cases.

    Raises
    ------
    TypeError
        If `which` holds neither booleans nor integers, or cases differ in shape or dtype.

    Examples
    --------
    >>> lax.select_n(np.array([0, 2, 1]), np.zeros(3), np.ones(3), np.full(3, 2.0))
    array([0., 2., 1.])
    """
    type_ = array_type_of("select_n", "which", which)
    if not cases:
        raise ValueError("lax.select_n needs a case")
    if type_.dtype.kind not in "biu":
        raise TypeError(f"lax.select_n: which holds booleans or integers, got {type_}")
    if type_.dtype.kind == "b" and len(cases) > 2:
        raise TypeError(
            f"lax.select_n: booleans choose among two cases, got {len(cases)}; give which as integers"
        )
    return _choose("select_n", which, cases)


@public_like(select_n)
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Return the elements of one array where a condition holds, and else those of another.

    Parameters
    ----------
    pred
        Booleans, of the shape of the cases or without axes.
    on_true, on_false
        Arrays of one shape and dtype.

    Raises
    ------
    TypeError
        If `pred` does not hold booleans, or cases differ in shape or dtype.

    Examples
    --------
    >>> lax.select(np.array([True, False]), np.array([1, 2]), np.array([3, 4]))
    array([1, 4])
    """
    type_ = array_type_of("select", "pred", pred)
    if type_.dtype.kind != "b":
        raise TypeError(
            f"lax.select: pred holds booleans, got {type_}; compare it with lax.ne(pred, 0)"
        )
    return _choose("select", pred, (on_false, on_true))
