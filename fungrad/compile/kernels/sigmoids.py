"""The logistic function and its logarithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fungrad.compile.kernels.exponentials import exp
from fungrad.compile.kernels.logarithms import log1p

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars


def expit(s: Scalars, x: Scalar) -> Scalar:
    """Return 1 / (1 + e^-x), of a power that does not overflow, with corrected sum. Error: 1.25, 1.31."""
    falling = exp(s, -abs(x))
    divisor = 1.0 + falling
    lost = (1.0 - divisor) + falling
    inverse, dividend = 1.0 / divisor, s.where(x < 0.0, falling, 1.0)
    quotient = dividend * inverse
    missing = s.fma(-quotient, divisor, dividend) - quotient * lost
    return s.fma(missing, inverse, quotient)


def log_expit(s: Scalars, x: Scalar) -> Scalar:
    """Return the logarithm of `expit`. Error: 1.44, 1.43."""
    rest = log1p(s, exp(s, -abs(x)))
    return s.where(x < 0.0, x - rest, -rest)
