"""Exponentials, and the hyperbolic tangent, which is made of one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fungrad.compile.kernels.floating import (
    Coefficients,
    format_of,
    polynomial,
    power_of_two,
    rounded,
)

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)

# ln 2 in two parts, each as long as the mantissa: for |x| > (ln 2)/2, x minus a multiple k of the
# first one is exact if the multiplication and the subtraction are rounded once.
LN2 = {
    F4: (0.6931471824645996, -1.9046542121259336e-09),
    F8: (0.6931471805599453, 2.3190468138462996e-17),
}
# (exp(r) - 1 - r) / r^2 on |r| < 0.5 ln 2; relative error of exp(r) - 1: 2^-26.1, 2^-55.1
EXP: dict[np.dtype[Any], Coefficients] = {
    F4: (0.0013940651, 0.008366438, 0.041666403, 0.16666545, 0.5),
    F8: (
        2.511239183356937e-08, 2.762234629662575e-07, 2.755723515783943e-06,
        2.4801516148138724e-05, 0.00019841269894148422, 0.0013888888920580518,
        0.008333333333319128, 0.04166666666662004, 0.16666666666666677, 0.5,
    ),
}  # fmt: skip
# (sinh(r) - r) / r^3 and (cosh(r) - 1 - r^2 / 2) / r^4 by r^2, |r| < 1.05; error 2^-33, 2^-62
SINH: dict[np.dtype[Any], Coefficients] = {
    F4: (2.8238385e-06, 0.00019834936, 0.008333356, 0.16666666),
    F8: (
        7.770896114295852e-13, 1.6056849574143847e-10, 2.5052128526247878e-08,
        2.7557319122442215e-06, 0.00019841269841543567, 0.008333333333332983, 0.16666666666666669,
    ),
}  # fmt: skip
COSH: dict[np.dtype[Any], Coefficients] = {
    F4: (2.5463545e-05, 0.0013883899, 0.041666783),
    F8: (
        1.1671859931975778e-11, 2.0873398433841883e-09, 2.7557347571718394e-07,
        2.480158717553872e-05, 0.0013888888889163902, 0.04166666666666443,
    ),
}  # fmt: skip
# (tanh(r) - r) / r^3 by r^2, |r| < 0.55; error 2^-29.8, 2^-60.5
TANH: dict[np.dtype[Any], Coefficients] = {
    F4: (-0.0062664323, 0.021067109, -0.05385145, 0.1333258, -0.33333316),
    F8: (
        -1.941962875118733e-05, 8.319945698494587e-05, -0.0002333032554782887,
        0.0005884150577303634, -0.0014555360333399544, 0.0035920910274698866,
        -0.008863232507839942, 0.021869488380507767, -0.05396825396358723,
        0.13333333333326347, -0.333333333333333,
    ),
}  # fmt: skip


def scaled(s: Scalars, x: Scalar, i: Scalar) -> Scalar:
    """Return x 2^k, where the lowest bits of `i` are k plus twice the bias.

    Done in two steps: neither factor overflows or underflows, and the product is rounded once.
    """
    half = s.arithmetic("shr", i.view(format_of(x).unsigned), 1).view(i.dtype)
    return x * power_of_two(s, half, x.dtype) * power_of_two(s, i - half, x.dtype)


def remainder(s: Scalars, x: Scalar, k: Scalar) -> Scalar:
    """Return x - k ln 2."""
    high, low = LN2[x.dtype]
    return s.fma(k, -low, s.fma(k, -high, x))


def exp_near_zero(s: Scalars, r: Scalar) -> Scalar:
    """Return e^r, for |r| < 0.5 ln 2."""
    return s.fma(r, s.fma(r, polynomial(s, r, EXP[r.dtype]), 1.0), 1.0)


def long_exp(s: Scalars, r: Scalar, low: Scalar) -> tuple[Scalar, Scalar]:
    """Return e^(r + low) as a sum of two numbers, for a reduced r and its rounding error."""
    rest = r * r * polynomial(s, r, EXP[r.dtype])
    near = 1.0 + r
    return near, ((1.0 - near) + r) + s.fma(low, near + rest, rest)


def exp(s: Scalars, x: Scalar) -> Scalar:
    """Return e^x.

    x = k ln 2 + r, and e^r is a polynomial (J.-M. Muller, "Elementary Functions", 2016, section
    11.2). Where the result overflows, r grows with x, so that infinity is met without a flag.
    Error: 0.90, 0.91.
    """
    low, high = {F4: (-105.0, 89.0), F8: (-746.0, 710.0)}[x.dtype]
    inside = s.maximum(x, low)
    k, i = rounded(s, s.minimum(inside, high), 1 / math.log(2), 2 * format_of(x).bias)
    return scaled(s, exp_near_zero(s, remainder(s, inside, k)), i)


def exp2(s: Scalars, x: Scalar) -> Scalar:
    """Return 2^x, as `exp`: powers of integers are exact. Error: 0.92, 0.98."""
    low, high = {F4: (-151.0, 128.0), F8: (-1076.0, 1024.0)}[x.dtype]
    inside = s.maximum(x, low)
    k, i = rounded(s, s.minimum(inside, high), 1.0, 2 * format_of(x).bias)
    return scaled(s, exp_near_zero(s, (inside - k) * math.log(2)), i)


def expm1(s: Scalars, x: Scalar) -> Scalar:
    """Return e^x - 1: 2^k u + (2^k - 1) with u = e^r - 1, x = k ln 2 + r.

    Halves are computed, as 2^k may overflow where the result does not. Error: 1.61, 1.74.
    """
    low, high = {F4: (-20.0, 89.0), F8: (-40.0, 710.0)}[x.dtype]
    inside = s.maximum(x, low)  # below, the result is -1
    k, i = rounded(s, s.minimum(inside, high), 1 / math.log(2), format_of(x).bias - 1)
    high, low = LN2[x.dtype]
    near = s.fma(k, -high, inside)  # exact
    r = s.fma(k, -low, near)
    lost = s.fma(k, -low, s.minimum(near, 1.0) - s.minimum(r, 1.0))  # also where x is infinite
    grown = r + s.fma(r * r, polynomial(s, r, EXP[x.dtype]), lost)
    power = power_of_two(s, i, x.dtype)
    half = s.fma(power, grown, power - 0.5)
    tiny = s.absolute(x) < float(np.finfo(x.dtype).eps) / 4  # and 0, which keeps its sign
    return s.where(tiny, x, half + half)


class Parts(NamedTuple):
    """Powers 2^(k - 1) plus and minus 2^(-k - 1), sinh(r) and cosh(r) - 1, for |x| = k ln 2 + r."""

    plus: Scalar
    minus: Scalar
    sinh: Scalar
    cosh: Scalar


def parts(s: Scalars, x: Scalar) -> Parts:
    """Split sinh and cosh of a sum; k is 0 for |x| < 1.04."""
    high, one, many = {F4: (89.0, 1.04, 13.0), F8: (710.0, 1.04, 30.0)}[x.dtype]
    bias, size = format_of(x).bias, s.absolute(x)
    k, i = rounded(s, s.minimum(size, high), 1 / math.log(2), 0)
    small = size < one
    k, i = s.where(small, 0.0, k), s.where(small, 0, i)
    r = remainder(s, size, k)
    power = power_of_two(s, i + (bias - 1), x.dtype)
    inverse = s.where(size < many, power_of_two(s, (bias - 1) - i, x.dtype), 0.0)
    z = r * r
    sine = s.fma(r * z, polynomial(s, z, SINH[x.dtype]), r)
    cosine = z * s.fma(z, polynomial(s, z, COSH[x.dtype]), 0.5)
    return Parts(power + inverse, power - inverse, sine, cosine)


def sinh(s: Scalars, x: Scalar) -> Scalar:
    """Return the hyperbolic sine: sinh(k ln 2) cosh(r) + cosh(k ln 2) sinh(r).

    Error: 1.50, 1.60.
    """
    p = parts(s, x)
    return s.copysign(p.minus + s.fma(p.minus, p.cosh, p.plus * p.sinh), x)


def cosh(s: Scalars, x: Scalar) -> Scalar:
    """Return the hyperbolic cosine: cosh(k ln 2) cosh(r) + sinh(k ln 2) sinh(r).

    Error: 1.77, 1.50.
    """
    p = parts(s, x)
    return p.plus + s.fma(p.plus, p.cosh, p.minus * p.sinh)


def tanh(s: Scalars, x: Scalar) -> Scalar:
    """Return the hyperbolic tangent.

    An odd polynomial where it is below 1/2, elsewhere 1 - 2 / (e^(2 |x|) + 1), where little of the
    error of the quotient is left. Error: 1.56, 1.56.
    """
    size = s.absolute(x)
    double = s.minimum(size, {F4: 10.0, F8: 20.0}[x.dtype])  # there it is 1
    double = double + double
    k, i = rounded(s, double, 1 / math.log(2), format_of(x).bias)
    grown = exp_near_zero(s, remainder(s, double, k))
    large = 1.0 - 2.0 / s.fma(power_of_two(s, i, x.dtype), grown, 1.0)
    within = s.minimum(size, 1.0)
    square = within * within
    small = s.fma(within * square, polynomial(s, square, TANH[x.dtype]), within)
    return s.copysign(s.where(size < 0.5494, small, large), x)
