"""Powers, roots, and combinations of exponentials and logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.compile.kernels import exponentials
from fungrad.compile.kernels.exponentials import F4, F8, scaled
from fungrad.compile.kernels.floating import (
    Coefficients,
    flip_sign,
    format_of,
    polynomial,
    power_of_two,
    rounded,
)
from fungrad.compile.kernels.logarithms import split

Function = Callable[..., Any]

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

# (2 artanh(q) - 2 q) / (2/3 q^3) = 1 + q^2 P(q^2), |q| < 0.172; error of the artanh 2^-37, 2^-66
POWER_TAIL: dict[np.dtype[Any], Coefficients] = {
    F4: (0.35129732, 0.42820626, 0.6000023),
    F8: (
        0.19796620948804697, 0.19885003794067424, 0.23080145270790772, 0.27272676356224723,
        0.33333333782022434, 0.4285714285513789, 0.6000000000000341,
    ),
}  # fmt: skip
TWO_THIRDS = {
    F4: (0.6666666865348816, -1.9868215517249155e-08),
    F8: (0.6666666666666666, 3.700743415417188e-17),
}
# ln 2 in two parts, the multiples of the first one by exponents being exact
LN2_SHORT = {
    F4: (0.693145751953125, 1.428606765330187e-06),
    F8: (0.6931471805598903, 5.497923018708371e-14),
}


def long_log(s: Scalars, x: Scalar, reciprocal_of: Function) -> tuple[Scalar, Scalar]:
    """Return log(x) as a sum of two numbers, with an error of about 2^-35 or 2^-63.

    log(m) = 2 (q + q^3 / 3 + ...) with q = f / (2 + f): the first two terms are kept in two parts,
    as in FreeBSD's `e_pow.c`. `reciprocal_of` returns 1 / (2 + f).
    """
    third, ln2 = TWO_THIRDS[x.dtype], LN2_SHORT[x.dtype]
    k, m, _ = split(s, x)
    f = m - 1.0
    d = m + 1.0
    inverse = reciprocal_of(d)
    q = f * inverse
    q_low = s.fma(-q, f - (d - 2.0), s.fma(-q, d, f)) * inverse
    twice, twice_low = q + q, q_low + q_low
    square = q * q
    square_low = s.fma(twice, q_low, s.fma(q, q, -square))
    part = q * third[0]
    part_low = s.fma(q_low, third[0], s.fma(q, third[1], s.fma(q, third[0], -part)))
    cube = square * part
    cube_low = s.fma(square, part_low, s.fma(square_low, part, s.fma(square, part, -cube)))
    fifth = (cube + cube_low) * square
    cube_low = s.fma(fifth, polynomial(s, square, POWER_TAIL[x.dtype]), cube_low)
    near = twice + cube
    near_low = ((twice - near) + cube) + (twice_low + cube_low)
    whole = k * ln2[0]
    total = whole + near
    low = ((whole - total) + near) + s.fma(k, ln2[1], near_low)
    result = total + low
    return result, (total - result) + low


def power_of_positive(
    s: Scalars, x: Scalar, y: Scalar, limited: Function, reciprocal_of: Function
) -> Scalar:
    """Return e^(y log(x)); `limited` bounds y log(x)."""
    least, most, error = {F4: (-110.0, 95.0, 1e-4), F8: (-750.0, 720.0, 1e-9)}[x.dtype]
    log, log_low = long_log(s, x, reciprocal_of)
    product = y * log
    low = s.fma(y, log_low, s.fma(y, log, -product))
    inside = limited(product, least, most)
    k, i = rounded(s, inside, 1 / math.log(2), 2 * format_of(x).bias)
    first, second = exponentials.LN2[x.dtype]
    r = s.fma(k, -first, inside)  # exact
    r_low = s.fma(k, -second, s.clip(low, -error, error))
    near, rest = exponentials.long_exp(s, r, r_low)
    return scaled(s, near + rest, i)


def power(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return x^y, with the special cases of C99 (annex F.9.4.4).

    e^(y log |x|), with the logarithm in two parts. Error: 0.83, 1.04.
    """
    size = s.absolute(x)
    whole = s.rint(y) == y
    half = 0.5 * y
    odd = whole & (s.rint(half) != half)
    nan = s.isnan(x) | s.isnan(y)
    invalid = (x < 0.0) & (size < np.inf) & ~whole & ~nan
    pole = (size == 0.0) & (y < 0.0)
    steep = (s.absolute(y) == np.inf) & (size != 1.0)
    endless = (size == 0.0) | ~(size < np.inf) | steep

    def reciprocal_of(d: Scalar) -> Scalar:  # 0/0 and 1/0 set the flags
        dividend = s.where(invalid, s.constant(0.0, d.dtype), 1.0)
        return dividend / s.where(invalid | pole, 0.0, d)

    def limited(e: Scalar, low: float, high: float) -> Scalar:
        return s.clip(s.where(endless, 0.0, e), low, high)

    result = power_of_positive(s, size, s.clip(y, -(2.0**65), 2.0**65), limited, reciprocal_of)
    limit = s.where((size > 1.0) ^ (y < 0.0), s.constant(np.inf, x.dtype), 0.0)
    result = s.where(endless, limit, result)
    bits = s.bits(x)
    result = flip_sign(s, result, s.where(odd, bits, s.zeros_like(bits)))
    result = s.where(nan, np.nan, result)
    return s.where((x == 1.0) | (y == 0.0), 1.0, result)


# x^(-1/3) on sqrt(1/2) < x < sqrt(2), with a relative error of 2^-17.4, 2^-14.7
ROOT: dict[np.dtype[Any], Coefficients] = {
    F4: (
        -0.10806343, 0.70073407, -1.8981206, 2.7921969, -2.4859121, 1.999169,
    ),
    F8: (
        0.12836929602455222, -0.7023861445644946, 1.5613053525359284, -1.8618310481221247,
        1.8745191296995947,
    ),
}  # fmt: skip


def cbrt(s: Scalars, x: Scalar) -> Scalar:
    """Return the cube root.

    A polynomial for its reciprocal t, in double precision a step t (1 + h/3 + 2 h^2/9) with
    h = 1 - x t^3, and Newton's step for y = x t^2; y^2 is kept in two parts. Error: 0.51, 0.50.
    """
    size = s.absolute(x)
    k, m, _ = split(s, size)
    j, i = rounded(s, k, 1 / 3, format_of(x).bias)
    third = s.fma(j, -3.0, k)
    up, down = third > 0.0, third < 0.0
    one = s.ones_like(x)
    w = m * s.where(up, 2.0, s.where(down, 0.5, one))
    t = polynomial(s, m, ROOT[x.dtype])
    t = t * s.where(up, 2.0 ** (-1 / 3), s.where(down, 2.0 ** (1 / 3), one))
    if x.dtype == F8:
        h = s.fma(w * t, -(t * t), 1.0)
        t = s.fma(t * h, s.fma(h, 2 / 9, 1 / 3), t)
    inverse_square = t * t
    y = w * inverse_square
    square = y * y
    missing = s.fma(-square, y, w) - s.fma(y, y, -square) * y
    y = s.fma(missing, inverse_square * (1 / 3), y) * power_of_two(s, i, x.dtype)
    ordinary = (size > 0.0) & (size < np.inf)
    return s.where(ordinary, s.copysign(y, x), x)


def hypot(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return the square root of x^2 + y^2.

    In single precision computed in double precision, in double precision with numbers scaled.
    Error: 0.50, 0.98.
    """
    a, b = s.absolute(x), s.absolute(y)
    infinite = (a == np.inf) | (b == np.inf)
    if x.dtype == F4:
        a, b = a.astype(F8), b.astype(F8)
        return s.where(infinite, np.inf, s.sqrt(s.fma(a, a, b * b)).astype(F4))
    long, short = s.maximum(a, b), s.minimum(a, b)
    large, small = long > 2.0**500, long < 2.0**-459
    one = s.ones_like(x)
    scale = s.where(large, 2.0**-600, s.where(small, 2.0**600, one))
    back = s.where(large, 2.0**600, s.where(small, 2.0**-600, one))
    long, short = long * scale, short * scale
    return s.where(infinite, np.inf, s.sqrt(s.fma(long, long, short * short)) * back)


# (2 artanh(q) - 2 q) / q^3 by q^2, 0 <= q <= 1/3; error 2^-27.7, 2^-59.4
LOG_OF_SUM: dict[np.dtype[Any], Coefficients] = {
    F4: (0.2803127, 0.27997866, 0.4002177, 0.6666641),
    F8: (
        0.17028943794320842, 0.08334652582765711, 0.12107298265666021, 0.13300825079283268,
        0.15386570849638656, 0.1818174343155016, 0.22222223983129316, 0.28571428547649,
        0.4000000000015877, 0.666666666666663,
    ),
}  # fmt: skip


def log_of_powers(s: Scalars, x: Scalar, y: Scalar, power: Function, unit: float) -> Scalar:
    """Return the logarithm of a sum of two powers: the greater exponent plus a correction.

    That is log(1 + e) = 2 artanh(e / (2 + e)), where e <= 1 is the quotient of the powers. As
    NumPy's, the result has the error of the greater exponent where it cancels with the rest.
    """
    # no infinite numbers are subtracted; beside one so large, the rest vanishes in any case
    apart = x - s.clip(y, -(2.0**100), 2.0**100)
    e = power(s, -s.absolute(apart))
    divisor = e + 2.0
    inverse = 1.0 / divisor
    q = e * inverse
    missing = s.fma(-q, divisor, e) - q * (e - (divisor - 2.0))
    square = q * q
    low = s.fma(q * square, polynomial(s, square, LOG_OF_SUM[x.dtype]), 2.0 * missing * inverse)
    rest, greater = (q + q) + low, s.maximum(x, y)
    total = greater + rest if unit == 1.0 else s.fma(rest, unit, greater)
    return s.where(x == y, greater + unit * math.log(2), total)


def logaddexp(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return log(e^x + e^y). Error: 1.42, 1.12."""
    return log_of_powers(s, x, y, exponentials.exp, 1.0)


def logaddexp2(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return log2(2^x + 2^y). Error: 1.25, 1.20."""
    return log_of_powers(s, x, y, exponentials.exp2, 1 / math.log(2))


def neither_nan(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Whether neither number is a NaN: NumPy warns of those in `logaddexp`."""
    return ~(s.isnan(x) | s.isnan(y))
