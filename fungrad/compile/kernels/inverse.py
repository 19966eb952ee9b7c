"""Inverse trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.compile.kernels.exponentials import F4, F8, LN2
from fungrad.compile.kernels.floating import Coefficients, format_of, polynomial, power_of_two
from fungrad.compile.kernels.logarithms import split

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

# pi/4 in two parts, the multiples of the first one by 0, 1, ..., 4 being exact
QUARTER_PI = {
    F4: (0.785398006439209, 1.5695823663008923e-07),
    F8: (0.7853981633974483, 3.061616997868383e-17),
}
# (arctan(t) - t) / t^3 by t^2, |t| < tan(pi/6); relative error of the arctan 2^-29, 2^-60
ARCTAN: dict[np.dtype[Any], Coefficients] = {
    F4: (0.03157445, -0.07425919, 0.10779282, -0.14250915, 0.19998291, -0.33333305),
    F8: (
        0.0042870176939878695, -0.015316147071742324, 0.028584697108251095,
        -0.03911905243781332, 0.046402747625209094, -0.052382718253719776,
        0.05878628400814979, -0.06666263169365153, 0.07692276691120031, -0.09090907457965548,
        0.111111110552462, -0.14285714284578388, 0.19999999999988308, -0.3333333333333329,
    ),
}  # fmt: skip
# (arcsin(t) - t) / t^3 by t^2, |t| < 1/2; error 2^-27.6, 2^-59.8
ARCSIN: dict[np.dtype[Any], Coefficients] = {
    F4: (0.042218618, 0.024147572, 0.045477103, 0.074952416, 0.16666754),
    F8: (
        0.032676920679235534, -0.021077362227207012, 0.021763564784529517, 0.003683007549059966,
        0.010786540404051451, 0.01139777350682629, 0.013980961818688582, 0.017351600055021694,
        0.02237221566275458, 0.030381942683512922, 0.04464285717512345, 0.07499999999970258,
        0.16666666666666763,
    ),
}  # fmt: skip
# (artanh(t) - t) / t^3 by t^2, |t| < tan(pi/8); error 2^-33, 2^-60
ARCTANH: dict[np.dtype[Any], Coefficients] = {
    F4: (0.13765597, 0.07427851, 0.11322839, 0.14272377, 0.20000382, 0.33333328),
    F8: (
        0.12806731441773084, -0.011752615399027732, 0.06589772029406848, 0.048877807052173435,
        0.05933343783791989, 0.06661973143822009, 0.07692600450046558, 0.09090896968914608,
        0.11111111429701723, 0.14285714280817338, 0.20000000000037702, 0.3333333333333323,
    ),
}  # fmt: skip


Table = dict[np.dtype[Any], Coefficients]


def odd_series(s: Scalars, t: Scalar, table: Table) -> tuple[Scalar, Scalar]:
    """Return t and t^3 P(t^2), the terms of an odd function."""
    square = t * t
    return t, t * square * polynomial(s, square, table[t.dtype])


def quarters(s: Scalars, number: Scalar, terms: tuple[Scalar, Scalar]) -> Scalar:
    """Return number pi/4 plus two terms, the first one being the greater one."""
    high, low = QUARTER_PI[number.dtype]
    whole = number * high
    near = whole + terms[0]
    return near + (((whole - near) + terms[0]) + s.fma(number, low, terms[1]))


def octant(s: Scalars, low: Scalar, high: Scalar) -> tuple[Scalar, Scalar]:
    """Return the tangent of an angle, and a number of quarters of pi.

    The sum of the two angles is arctan(low / high), 0 <= low <= high > 0. For t > tan(pi/6) it is
    pi/4 + arctan((t - 1) / (t + 1)), from the addition theorem.
    """
    steep = low + low > 2 * math.tan(math.pi / 6) * high  # doubled for subnormal numbers
    t = s.where(steep, low - high, low) / s.where(steep, low + high, high)
    return t, s.where(steep, s.ones_like(low), 0.0)


def arctan(s: Scalars, x: Scalar) -> Scalar:
    """Return the inverse tangent. Error: 0.88, 0.84."""
    size = s.minimum(s.absolute(x), 2.0**60)  # the result is pi/2
    t, number = octant(s, s.minimum(size, 1.0), s.maximum(size, 1.0))
    beyond = size > 1.0  # pi/2 - arctan(1 / x)
    t, number = s.where(beyond, -t, t), s.where(beyond, 2.0 - number, number)
    return s.copysign(quarters(s, number, odd_series(s, t, ARCTAN)), x)


def arctan2(s: Scalars, y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of the point (x, y), with the special cases of C99 (annex F.9.1.4).

    Error: 1.49, 1.50.
    """
    a, b = s.absolute(x), s.absolute(y)
    low, high = s.minimum(a, b), s.maximum(a, b)
    zero, endless = high == 0.0, high == np.inf
    one = s.ones_like(x)
    low = s.where(endless, s.where(low == np.inf, one, 0.0), low)
    high = s.where(zero | endless, one, high)
    scale = s.where(high > float(np.finfo(x.dtype).max) / 4, 0.25, one)  # no sum overflows
    t, number = octant(s, low * scale, high * scale)
    upright, left = b > a, s.signbit(x)
    number = s.where(upright, 2.0 - number, number)
    number = s.where(left, 4.0 - number, number)
    t = s.where(upright ^ left, -t, t)
    return s.copysign(quarters(s, number, odd_series(s, t, ARCTAN)), y)


def half_angle(s: Scalars, x: Scalar) -> tuple[Scalar, Scalar]:
    """Return the argument t of the inverse sine, and whether |x| > 1/2.

    It is |x|, or for |x| > 1/2 sqrt((1 - |x|) / 2), the sine of half of arccos(|x|). Outside of
    [-1, 1] the root is of a negative number, which sets the flag.
    """
    size = s.absolute(x)
    large = size > 0.5
    return s.where(large, s.sqrt(s.where(large, s.fma(size, -0.5, 0.5), 0.0)), size), large


def arcsin(s: Scalars, x: Scalar) -> Scalar:
    """Return the inverse sine: pi/2 - 2 arcsin(sqrt((1 - x) / 2)) for x > 1/2, as in FreeBSD's.

    Error: 1.19, 1.14.
    """
    t, large = half_angle(s, x)
    factor, two = s.where(large, s.constant(-2.0, x.dtype), 1.0), s.constant(2.0, x.dtype)
    first, second = odd_series(s, t, ARCSIN)
    angle = quarters(s, s.where(large, two, 0.0), (first * factor, second * factor))
    return s.copysign(angle, x)


def arccos(s: Scalars, x: Scalar) -> Scalar:
    """Return the inverse cosine: 2 arcsin(sqrt((1 - x) / 2)) for x > 1/2, as in FreeBSD's.

    Error: 1.16, 1.12.
    """
    t, large = half_angle(s, x)
    negative = x < 0.0
    two = s.constant(2.0, x.dtype)
    number = s.where(large, s.where(negative, s.constant(4.0, x.dtype), 0.0), two)
    factor = s.where(large, two, 1.0)
    # pi/2 - arcsin(x), but for x < -1/2 pi - 2 t and for x > 1/2 2 t
    factor = s.where(large ^ negative, factor, -factor)
    first, second = odd_series(s, t, ARCSIN)
    return quarters(s, number, (first * factor, second * factor))


def logarithm(s: Scalars, k: Scalar, terms: tuple[Scalar, Scalar]) -> Scalar:
    """Return k (ln 2) / 2 + artanh(t), the inverse hyperbolic tangent in two terms."""
    high, low = LN2[k.dtype]
    return s.fma(k, 0.5 * high, terms[0] + s.fma(k, 0.5 * low, terms[1]))


def arctanh(s: Scalars, x: Scalar) -> Scalar:
    """Return the inverse hyperbolic tangent.

    It is log((1 + x) / (1 - x)) / 2 = (log(2^k) + log(n / d)) / 2 with n = 1 + x, d = 2^k (1 - x),
    and log(n / d) / 2 = artanh((n - d) / (n + d)); small x are that quotient for k = 0.
    Error: 1.34, 1.34.
    """
    f = format_of(x)
    size = s.absolute(x)
    small, outside = size < math.tan(math.pi / 8), size >= 1.0
    one = s.ones_like(x)
    n, d = size + 1.0, 1.0 - size
    n_lost, d_lost = size - (n - 1.0), (1.0 - d) - size
    distance = s.bits(n) - s.bits(d) + (1 << (f.mantissa - 1))  # about the logarithm of n / d
    shift = s.arithmetic("shr", distance, f.mantissa)
    power = power_of_two(s, shift + f.bias, x.dtype)
    large = int(np.array(f.magic, x.dtype).view(f.integer))
    k = s.where(small, 0.0, (shift + large).view(x.dtype) - f.magic)
    d = s.where(outside, 0.0, d) * power
    dividend = s.where(small, size, (n - d) + s.fma(-power, d_lost, n_lost))
    dividend = s.where(outside, s.where(size == 1.0, one, 0.0), dividend)
    divisor = s.where(outside, 0.0, s.where(small, one, n + d))
    return s.copysign(logarithm(s, k, odd_series(s, dividend / divisor, ARCTANH)), x)


def logarithm_of_sum(
    s: Scalars, long: Scalar, short: Scalar, small: Scalar, near: tuple[Scalar, Scalar, Scalar]
) -> Scalar:
    """Return log(long + short), long >= short >= 1/2, or if `small`, 2 artanh of a quotient.

    With the sum 2^k m it is k ln 2 + 2 artanh((m - 1) / (m + 1)). `near` has the dividend of the
    other quotient, the divisor and what is lost of it. What is lost of either quotient is added.
    """
    eighth = 0.125 * long
    u = s.fma(short, 0.125, eighth)  # which does not overflow, nor does what is added to it
    lost = s.fma(short, 0.125, eighth - u)
    k, _, stored = split(s, u, subnormals=False)
    power = power_of_two(s, stored, u.dtype)
    dividend = s.where(small, near[0], u - power)
    divisor = s.where(small, near[1], u + power)
    inverse = 1.0 / divisor
    t = dividend * inverse
    changes = s.fma(-t, s.where(small, near[2], lost), s.where(small, 0.0, lost))
    missing = s.fma(-t, divisor, dividend) + changes
    first, second = odd_series(s, t, ARCTANH)
    k = s.where(small, 0.0, k + 3.0)
    return 2.0 * logarithm(s, k, (first, s.fma(missing, inverse, second)))


def arcsinh(s: Scalars, x: Scalar) -> Scalar:
    """Return the inverse hyperbolic sine.

    It is log(x + r) with r = sqrt(x^2 + 1), and for x < 1 2 artanh(x / (1 + r)).
    Error: 1.52, 1.57.
    """
    size = s.absolute(x)
    finite = s.minimum(size, float(np.finfo(x.dtype).max))
    near = s.minimum(size, 2.0**30)
    square = s.fma(near, near, 1.0)
    root = s.sqrt(square)
    divisor = root + 1.0
    # what is lost of the square and of its root, which is divided by 2 r, about
    lost = s.fma(near, near, 1.0 - square) + s.fma(-root, root, square)
    lost = s.fma(lost, s.fma(root, -0.354, 0.854), (1.0 - divisor) + root)
    small = (size, divisor, lost)
    result = logarithm_of_sum(s, s.maximum(root, finite), finite, size < 1.0, small)
    return s.copysign(s.where(size < np.inf, result, size), x)


def arccosh(s: Scalars, x: Scalar) -> Scalar:
    """Return the inverse hyperbolic cosine.

    It is log(x + sqrt(x^2 - 1)), and for x < sqrt(2) 2 artanh(sqrt((x - 1) / (x + 1))).
    Error: 1.84, 1.75.
    """
    finite = s.minimum(x, float(np.finfo(x.dtype).max))
    near = s.clip(x, 0.0, 2.0**30)
    small = near < math.sqrt(2)
    square = s.where(small, (near - 1.0) / (near + 1.0), s.fma(near, near, -1.0))
    root = s.sqrt(s.where(x < 1.0, -1.0, square))
    short = s.where(near < 2.0**30, root, finite)
    one = s.ones_like(x)
    quotient = (root, one, s.zeros_like(x))
    result = logarithm_of_sum(s, s.maximum(finite, one), short, small, quotient)
    return s.where(x < np.inf, result, x)
