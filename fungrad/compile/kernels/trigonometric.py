"""Sine, cosine and tangent as operations of kernels, for float32 and float64.

Errors are those of float32 and of float64, in units of the last place, as in `floating.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fungrad.compile.kernels.floating import Coefficients, flip_sign, polynomial, quotient, rounded

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)

# pi/2 in three parts, each as long as the mantissa
HALF_PI = {
    F4: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    F8: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
# (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 by r^2, |r| < pi/4
SIN: dict[np.dtype[Any], Coefficients] = {
    F4: (-0.00019514076, 0.008332155, -0.16666655),
    F8: (
        1.5895209584869608e-10, -2.5050731543254223e-08, 2.755731352768009e-06,
        -0.00019841269829351616, 0.008333333333321867, -0.1666666666666663,
    ),
}  # fmt: skip
COS: dict[np.dtype[Any], Coefficients] = {
    F4: (2.4434838e-05, -0.0013887337, 0.041666646),
    F8: (
        -1.135856170085902e-11, 2.0875702931571258e-09, -2.7557314207718e-07,
        2.4801587289000487e-05, -0.0013888888888873385, 0.041666666666666595,
    ),
}  # fmt: skip

REDUCED = {F4: 2.0**17, F8: 2.0**30}
"""The largest |x| that `turned` reduces exactly enough."""


class Turn(NamedTuple):
    """Reduction of an angle, |x| = k pi/2 + r + e with |r| <= pi/4: sin(r + e), cos(r + e), low bits of k.

    Sine and cosine are unevaluated sums of two numbers, high and low.
    """

    sine: tuple[Scalar, Scalar]
    cosine: tuple[Scalar, Scalar]
    quadrant: Scalar


def turned(s: Scalars, x: Scalar) -> Turn:
    """Reduce an angle (W. J. Cody and W. Waite, "Software Manual", 1980).

    Without rounding between multiplication and subtraction the first of the three steps is exact;
    e has the errors of the second one.
    """
    first, second, third = HALF_PI[x.dtype]
    angle = s.absolute(x)
    k, quadrant = rounded(s, angle, 2 / math.pi, 0)
    near = s.fma(k, -first, angle)
    step = k * second
    r = near - step
    e = s.fma(k, -third, ((near - r) - step) - s.fma(k, second, -step))
    square = r * r
    cube = square * r
    # sin(r + e) is about sin(r) + e (1 - r^2 / 2); see FreeBSD's `k_sin.c` and `k_cos.c`
    half = 0.5 * square
    low = s.fma(cube, polynomial(s, square, SIN[x.dtype]), s.fma(-half, e, e))
    rest = s.fma(square * square, polynomial(s, square, COS[x.dtype]), -(r * e))
    high = 1.0 - half
    return Turn((r, low), (high, ((1.0 - high) - half) + rest), quadrant)


def sin(s: Scalars, x: Scalar) -> Scalar:
    """Return the sine. Error: 0.77, 0.77."""
    turn = turned(s, x)
    odd = (turn.quadrant & 1) != 0
    bits = s.bits(x)
    negative = s.arithmetic("shl", turn.quadrant, 8 * x.dtype.itemsize - 2) ^ bits
    return flip_sign(s, s.where(odd, sum_(turn.cosine), sum_(turn.sine)), negative)


def cos(s: Scalars, x: Scalar) -> Scalar:
    """Return the cosine. Error: 0.78, 0.77."""
    turn = turned(s, x)
    odd = (turn.quadrant & 1) != 0
    negative = s.arithmetic("shl", turn.quadrant + 1, 8 * x.dtype.itemsize - 2)
    return flip_sign(s, s.where(odd, sum_(turn.sine), sum_(turn.cosine)), negative)


def sum_(parts: tuple[Scalar, Scalar]) -> Scalar:
    """Return the sum of two numbers."""
    return parts[0] + parts[1]


def tan(s: Scalars, x: Scalar) -> Scalar:
    """Return the tangent: the quotient of sine and cosine, both in two parts, with its rounding error.

    Error: 0.98, 0.93.
    """
    turn = turned(s, x)
    odd = (turn.quadrant & 1) != 0
    sine, cosine = sum_(turn.sine), sum_(turn.cosine)
    sine_low = (turn.sine[0] - sine) + turn.sine[1]
    cosine_low = (turn.cosine[0] - cosine) + turn.cosine[1]
    dividend, dividend_low = s.where(odd, cosine, sine), s.where(odd, cosine_low, sine_low)
    divisor, divisor_low = s.where(odd, sine, cosine), s.where(odd, sine_low, cosine_low)
    tangent = quotient(s, (dividend, dividend_low), (divisor, divisor_low))
    negative = s.arithmetic("shl", turn.quadrant, 8 * x.dtype.itemsize - 1) ^ s.bits(x)
    return flip_sign(s, tangent, negative)


def moderate(s: Scalars, x: Scalar) -> Scalar:
    """Whether `turned` handles an angle: |x| is at most `REDUCED`, or x is infinite or NaN."""
    size = s.absolute(x)
    return (size <= REDUCED[x.dtype]) | ~(size < np.inf)
