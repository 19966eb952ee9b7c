"""Shared parts of elementary functions: the layout of floating-point numbers, and polynomials.

Coefficients are minimax ones (Remez's algorithm, run with 60 digits). The errors that functions tell are the greatest ones met
with, in single and in double precision, in units of the last place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

Coefficients = tuple[float, ...]
"""Of a polynomial, those of the highest powers first."""


class Format(NamedTuple):
    """The layout of a floating-point dtype."""

    integer: np.dtype[Any]
    unsigned: np.dtype[Any]
    mantissa: int
    """How many bits of the mantissa are stored."""
    bias: int
    """Offset of the stored exponent."""

    @property
    def magic(self) -> float:
        """A number whose neighbours are 1 apart: a smaller one, added to it, is rounded."""
        return 1.5 * 2.0**self.mantissa


FORMATS = {
    np.dtype(np.float32): Format(np.dtype(np.int32), np.dtype(np.uint32), 23, 127),
    np.dtype(np.float64): Format(np.dtype(np.int64), np.dtype(np.uint64), 52, 1023),
}


def format_of(x: Scalar) -> Format:
    """Return the layout of the dtype of a scalar."""
    return FORMATS[x.dtype]


def quotient(s: Scalars, dividend: tuple[Scalar, Scalar], divisor: tuple[Scalar, Scalar]) -> Scalar:
    """Return the quotient of two sums of two numbers, with its rounding error added."""
    inverse = 1.0 / divisor[0]
    estimate = dividend[0] * inverse
    missing = s.fma(-estimate, divisor[0], dividend[0]) + s.fma(-estimate, divisor[1], dividend[1])
    return s.fma(missing, inverse, estimate)


def polynomial(s: Scalars, x: Scalar, coefficients: Coefficients) -> Scalar:
    """Return the value of a polynomial, by Horner's rule."""
    value = s.constant(coefficients[0], x.dtype)
    for c in coefficients[1:]:
        value = s.fma(value, x, c)
    return value


def power_of_two(s: Scalars, i: Scalar, dtype: np.dtype[Any]) -> Scalar:
    """Return the number whose stored exponent is the lowest bits of `i`."""
    return s.arithmetic("shl", i, FORMATS[dtype].mantissa).view(dtype)


def rounded(s: Scalars, x: Scalar, factor: float, offset: int) -> tuple[Scalar, Scalar]:
    """Return x factor, rounded to an integer: as a number, and plus `offset` in the lowest bits.

    Holds for numbers below 2^51 (2^22 in single precision); no node truncates to an integer.
    """
    f = format_of(x)
    shifted = s.fma(x, factor, f.magic + offset)
    return shifted - (f.magic + offset), shifted.view(f.integer)


def flip_sign(s: Scalars, x: Scalar, bits: Scalar) -> Scalar:
    """Return `x` with the other sign where the sign bit of `bits` is set."""
    f = format_of(x)
    sign = bits & (-(2 ** (8 * x.dtype.itemsize - 1)))
    flipped: Scalar = x.view(f.integer) ^ sign
    return flipped.view(x.dtype)
