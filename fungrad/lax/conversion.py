"""Conversions, rounding, and parts of complex numbers."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from fungrad.core.types import kind_of, type_of
from fungrad.lax.arithmetic import elementwise, unary
from fungrad.lax.checks import integer_of
from fungrad.lax.glossary import public
from fungrad.lax.operands import FLOAT, INEXACT, aligned, array_type_of, brought_to, own_result
from fungrad.primitives import elementwise as e
from fungrad.primitives.bits import Bitcast, ReducePrecision
from fungrad.transforms.stop import stop_gradient as stop_gradient

# Dtypes


def _dtype(function: str, dtype: Any) -> np.dtype[Any]:
    """Return a dtype of numbers; Python's types are those of NumPy."""
    new_dtype: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
    if new_dtype is None or kind_of(new_dtype) not in "biufc":
        raise TypeError(f"lax.{function}: new_dtype is a dtype of numbers, got {dtype!r}")
    return new_dtype


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
        The dtype. If it is smaller, the result has an axis more, for the parts of each number. If it is larger, the
        last axis of `operand` holds the parts of one number, and the result lacks it.

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


@elementwise(INEXACT, "the conjugate, as a complex number")
def conj(x: Any) -> Any:
    if e.is_complex(x):
        return e.conj(x)
    (zero,) = brought_to((0.0,), [type_of(x).dtype], ())
    return complex(x, zero)


real = unary("real", lambda x: own_result(e.real(x)), "c", "the real part")
imag = unary("imag", lambda x: own_result(e.imag(x)), "c", "the imaginary part")
