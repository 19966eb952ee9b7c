"""Logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fungrad.compile.kernels.exponentials import F4, F8, LN2
from fungrad.compile.kernels.floating import Coefficients, format_of, polynomial, power_of_two

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

# (2 artanh(s) - 2 s) / s^3 by s^2, |s| < (sqrt(2) - 1) / (sqrt(2) + 1); error 2^-29.2, 2^-58.5
LOG: dict[np.dtype[Any], Coefficients] = {
    F4: (0.29873073, 0.39977497, 0.66666776),
    F8: (
        0.14797507658605685, 0.15313903297828368, 0.18183569735442331, 0.22222198476132016,
        0.28571428743260424, 0.39999999999411107, 0.6666666666666735,
    ),
}  # fmt: skip


class Split(NamedTuple):
    """A positive number 2^k m with sqrt(1/2) <= m < sqrt(2)."""

    k: Scalar
    m: Scalar
    stored: Scalar
    """k plus the bias, an unsigned integer."""


def split(s: Scalars, x: Scalar, subnormals: bool = True) -> Split:
    """Take a positive number apart; only if `subnormals`, a subnormal one too."""
    f = format_of(x)
    root = int(np.array(np.sqrt(0.5), x.dtype).view(f.integer))
    one = f.bias << f.mantissa
    large = 2.0**f.mantissa  # in its lowest bits the exponent becomes a number
    offset = s.constant(large + f.bias, x.dtype)
    if subnormals:
        places = f.mantissa + 2
        subnormal = x < float(np.finfo(x.dtype).tiny)
        x = x * s.where(subnormal, s.constant(2.0**places, x.dtype), 1.0)
        offset = s.where(subnormal, s.constant(large + f.bias + places, x.dtype), offset)
    i = x.view(f.integer) + (one - root)
    m = ((i & ((1 << f.mantissa) - 1)) + root).view(x.dtype)
    stored = s.arithmetic("shr", i.view(f.unsigned), f.mantissa)
    shifted = stored | int(np.array(large, x.dtype).view(f.integer))
    return Split(shifted.view(x.dtype) - offset, m, stored)


class Mercator(NamedTuple):
    """Terms of log(1 + f) = f - c."""

    c: Scalar
    outside: Scalar
    """Whether the argument is not positive."""
    pole: Scalar
    """The logarithm, if so: -inf or NaN."""


def log_of_sum(s: Scalars, x: Scalar, f: Scalar) -> Mercator:
    """Return the terms of log(1 + f), where 1 + f is `x` up to a power of 2.

    log(1 + f) = 2 artanh(q) with q = f / (2 + f), of which f - f^2/2 is taken out as in FreeBSD's
    `e_log.c`. For x = 0 and x < 0, q is -1/0 and 0/0, which set the flags.
    """
    zero, outside = x == 0.0, x <= 0.0
    dividend = s.where(outside, s.where(zero, s.constant(-1.0, x.dtype), 0.0), f)
    quotient = dividend / s.where(outside, 0.0, f + 2.0)
    square = quotient * quotient
    half = 0.5 * (f * f)
    rest = s.fma(square, polynomial(s, square, LOG[x.dtype]), half)
    return Mercator(s.fma(-quotient, rest, half), outside, quotient)


def log(s: Scalars, x: Scalar) -> Scalar:
    """Return the natural logarithm: k ln 2 + log(m) with x = 2^k m, m around 1.

    Error: 0.81, 0.82.
    """
    k, m, _ = split(s, x)
    f = m - 1.0
    high, low = LN2[x.dtype]
    result = s.fma(k, high, f - s.fma(k, -low, log_of_sum(s, x, f).c))
    return s.where(x < np.inf, result, x)


def log1p(s: Scalars, x: Scalar) -> Scalar:
    """Return log(1 + x), as `log`, with the rounding error of 1 + x added to m.

    As in FreeBSD's `s_log1p.c`, but for its division. Error: 1.42, 1.30.
    """
    inside = s.minimum(x, float(np.finfo(x.dtype).max))
    total = inside + 1.0
    lost = inside - (total - 1.0)
    k, m, stored = split(s, total, subnormals=False)
    # 2^(1 - k) is a number also for the greatest k, where nothing is to be added
    power = power_of_two(s, s.arithmetic("sub", 2 * format_of(x).bias + 1, stored), x.dtype)
    f = s.fma(lost, 0.5 * power, m - 1.0)
    high, low = LN2[x.dtype]
    series = log_of_sum(s, total, f)
    result = s.fma(k, high, f - s.fma(k, -low, series.c))
    result = s.where(series.outside, series.pole, s.where(x < np.inf, result, x))
    return s.copysign(result, x)


def log_of_base(
    s: Scalars, x: Scalar, unit: tuple[float, float], two: tuple[float, float]
) -> Scalar:
    """Return a logarithm from 1 / ln b and log_b(2), each in two parts.

    The sum of k log_b(2) and log(m) / ln b is nearly exact until it is rounded, so that logarithms
    which are integers come out as such.
    """
    k, m, _ = split(s, x)
    f = m - 1.0
    series = log_of_sum(s, x, f)
    high = f - series.c
    low = (f - high) - series.c
    product = high * unit[0]
    lost = s.fma(low, unit[0], s.fma(high, unit[1], s.fma(high, unit[0], -product)))
    whole = k * two[0] if two[0] != 1.0 else k  # exact
    total = whole + product
    lost = lost + ((whole - total) + product)
    result = total + (s.fma(k, two[1], lost) if two[1] else lost)
    return s.where(series.outside, series.pole, s.where(x < np.inf, result, x))


def log2(s: Scalars, x: Scalar) -> Scalar:
    """Return the logarithm to base 2, made as `log`; of powers of 2 it is exact.

    Error: 0.87, 0.84.
    """
    unit = {
        F4: (1.4426950216293335, 1.925963033500011e-08),
        F8: (1.4426950408889634, 2.0355273740931033e-17),
    }[x.dtype]
    return log_of_base(s, x, unit, (1.0, 0.0))


def log10(s: Scalars, x: Scalar) -> Scalar:
    """Return the logarithm to base 10, made as `log`; of powers of 10 it is exact.

    Error: 0.73, 0.71.
    """
    unit, two = {
        F4: (
            (0.4342944920063019, -1.0103049952192578e-08),
            (0.301025390625, 4.605039066518657e-06),
        ),
        F8: (
            (0.4342944819032518, 1.098319650216765e-17),
            (0.30102999566395283, 2.8363394551044964e-14),
        ),
    }[x.dtype]
    return log_of_base(s, x, unit, two)
