"""Exact quotients and remainders of floating-point numbers, as of C's fmod and NumPy's functions.

A quotient that is rounded before its fraction is dropped is too great by one at most, and what is left then is a number of the dtype:
Sterbenz, Floating-Point Computation (1974), section 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fungrad.compile.kernels.floating import format_of

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars


def divisible(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Whether the quotient is small enough to have a fraction, or NaN, and the divisor is finite."""
    bound = 2.0 ** (format_of(x).mantissa - 1)
    return s.logical_not(s.logical_or(abs(x / y) >= bound, s.isinf(y)))


def fmod(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return the remainder of `x`, with the sign of `x`."""
    rest = s.fma(-s.trunc(x / y), y, x)
    over = s.logical_and(rest != 0.0, s.signbit(rest) != s.signbit(x))
    return s.copysign(s.where(over, rest + s.copysign(y, x), rest), x)


def remainder(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return the remainder of `x`, with the sign of `y`."""
    rest = fmod(s, x, y)
    moved = s.where((rest < 0.0) != (y < 0.0), rest + y, rest)
    return s.where(rest == 0.0, s.copysign(rest, y), moved)


def floor_divide(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return the quotient rounded down, as NumPy does: from the remainder."""
    rest = fmod(s, x, y)
    quotient = (x - rest) / y
    apart = s.logical_and(rest != 0.0, (rest < 0.0) != (y < 0.0))
    quotient = s.where(apart, quotient - 1.0, quotient)
    down = s.floor(quotient)
    down = s.where(quotient - down > 0.5, down + 1.0, down)
    return s.where(quotient == 0.0, s.copysign(0.0 * quotient, x / y), down)
