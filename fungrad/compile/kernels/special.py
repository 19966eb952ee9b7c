"""Error functions, and the logarithm of the gamma function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.compile.kernels.exponentials import (
    F4,
    F8,
    LN2,
    exp_near_zero,
    long_exp,
    remainder,
    scaled,
)
from fungrad.compile.kernels.floating import (
    Coefficients,
    format_of,
    polynomial,
    power_of_two,
    quotient,
    rounded,
)
from fungrad.compile.kernels.powers import long_log

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

# Polynomials have the highest power first. Where two numbers are given, in bounds or errors, they are for float32 and
# float64. Errors of polynomials are relative, and those of functions in units in the last place.

# 2 / sqrt(pi) in two parts
SLOPE = {
    F4: (1.128379225730896, -5.8635382771399236e-08),
    F8: (1.1283791670955126, 1.533545961316588e-17),
}
# (erf(x) / x - 2 / sqrt(pi)) / x^2 as a polynomial in x^2, |x| < 1; error of erf 2^-29.5, 2^-56.9
ERF: dict[np.dtype[Any], Coefficients] = {
    F4: (7.933117e-05, -0.0008035035, 0.005191292, -0.026855484, 0.1128363, -0.37612632),
    F8: (
        -7.816800428801385e-10, 1.3731927256153419e-08, -1.6211406260323757e-07,
        1.6447834268713639e-06, -1.4924772858398491e-05, 0.00012055296955864952,
        -0.0008548326051777871, 0.005223977608933453, -0.02686617064349976, 0.1128379167094708,
        -0.37612638903183615,
    ),
}  # fmt: skip
# -log(1 - erf(x)) as a polynomial in x, 1 < x < 3.9, 5.9, where erf(x) rounds to 1; error of erf 2^-29.8, 2^-57
LOG_ERFC: dict[np.dtype[Any], Coefficients] = {
    F4: (
        -0.00018569305, 0.002940825, -0.021810396, 0.103048414, 0.63821244, 1.1270484,
        0.00035159735,
    ),
    F8: (
        4.883040553691225e-12, -2.0273379312397736e-10, 3.902665805431294e-09,
        -4.607419597682631e-08, 3.706492596329921e-07, -2.12089995178933e-06,
        8.604809550106627e-06, -2.261887248082398e-05, 1.9745615053928203e-05,
        0.00013610103818844526, -0.0007723129581645883, 0.0019180230609569028,
        -0.0004126334464147045, -0.018988712692991443, 0.10270265470353289, 0.6366439179935712,
        1.1283740234797823, 5.098227371157359e-07,
    ),
}  # fmt: skip
# (1 + 2 x) e^(x^2) erfc(x) as a polynomial in (x - c) / (x + c), 1/4 < x < 11, 28; error 2^-28.4, 2^-58
ERFC: dict[np.dtype[Any], Coefficients] = {
    F4: (
        0.00013861744, -0.00028588268, -0.001383853, 0.0011918677, 0.00869383, -0.008016674,
        -0.05421531, 0.16404969, -0.16603066, -0.09276378, 1.2769784,
    ),
    F8: (
        -1.0571842730436011e-08, -1.2071643247229557e-08, 1.0599940294415168e-07,
        6.657602493394736e-08, -8.230073830995716e-07, 3.001195113869322e-07,
        5.708986180240857e-06, -1.12251217509823e-05, -2.439914118538823e-05,
        0.00015062265829393932, -0.00019925666922573107, -0.0007577734909151508,
        0.005031969968107955, -0.016197734031629326, 0.037167515538916306,
        -0.06633036581420325, 0.09373283499825175, -0.10103906603622674, 0.06809705425469549,
        0.015379652102618557, -0.13962111684056253, 1.2329951186255526,
    ),
}  # fmt: skip
# log gamma(2 + t) / (t (1 + t)) as a polynomial in t, -3/4 < t < 1/4; error 2^-30, 2^-59
LOG_GAMMA: dict[np.dtype[Any], Coefficients] = {
    F4: (
        -0.0003448531, -0.00012603386, -0.0005205971, 0.00092849357, -0.0020925216, 0.0049997675,
        -0.012384773, 0.032964952, -0.10031729, 0.42278433,
    ),
    F8: (
        -8.389469056845306e-07, -2.478093267166857e-06, -3.901757231927939e-06,
        -2.3821326000914932e-06, -1.7535354288892298e-06, 1.968687933323001e-06,
        -3.6187024126887602e-06, 8.273126641216103e-06, -1.7673867914794597e-05,
        3.816222106642794e-05, -8.309530243113924e-05, 0.0001825529618078982,
        -0.0004057073634894657, 0.0009153769148516978, -0.0021081308349983397,
        0.004998641164777911, -0.012384192193359766, 0.03296500062115546,
        -0.10031730167435396, 0.42278433509846713,
    ),
}  # fmt: skip
# x (log gamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) as a polynomial in 1 / x^2, x > 3.25; error of log gamma
# 2^-31, 2^-60
STIRLING: dict[np.dtype[Any], Coefficients] = {
    F4: (0.00069410977, -0.0027719515, 0.083333224),
    F8: (
        -0.06277811366040995, 0.0467979875982308, -0.01832874626461103, 0.005693956821363555,
        -0.0018849982510602361, 0.0008407446428833322, -0.0005952179470406345,
        0.0007936505523504297, -0.0027777777762822953, 0.08333333333332991,
    ),
}  # fmt: skip


def near_zero(s: Scalars, size: Scalar) -> Scalar:
    """Return erf of 0 <= size <= 1, by an odd polynomial."""
    high, low = SLOPE[size.dtype]
    square = size * size
    return s.fma(size, high, size * s.fma(square, polynomial(s, square, ERF[size.dtype]), low))


def erf(s: Scalars, x: Scalar) -> Scalar:
    """Return the error function. Greatest error: 1.11, 1.07.

    For |x| > 1 it is 1 - e^-P(x) with a polynomial P, a form that N. Juffa gave.
    """
    size = s.minimum(s.absolute(x), {F4: 3.95, F8: 5.95}[x.dtype])  # beyond, erf rounds to 1
    exponent = -polynomial(s, size, LOG_ERFC[x.dtype])
    k, i = rounded(s, exponent, 1 / math.log(2), format_of(x).bias)
    grown = exp_near_zero(s, remainder(s, exponent, k))
    far = s.fma(-power_of_two(s, i, x.dtype), grown, 1.0)
    return s.copysign(s.where(size < 1.0, near_zero(s, s.minimum(size, 1.0)), far), x)


def erfc(s: Scalars, x: Scalar) -> Scalar:
    """Return 1 - erf(x).

    For |x| > 0.476 it is e^(-x^2) g / (1 + 2 x), where g is a polynomial in (x - c) / (x + c)
    (M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in
    0 <= x < oo", 1981); rounding errors of the square, the products and the quotient are added again.
    Greatest error: 1.49, 1.66.
    """
    end, centre = {F4: (10.5, 2.0), F8: (27.5, 4.0)}[x.dtype]
    size = s.minimum(s.absolute(x), end)  # beyond, erfc rounds to 0 or 2
    square = size * size
    # Two times the bias: `scaled` multiplies by 2^k in two halves, so that subnormal results are right.
    k, i = rounded(s, -square, 1 / math.log(2), 2 * format_of(x).bias)
    high, low = LN2[x.dtype]
    r = s.fma(k, -high, -square)  # exact
    r_low = s.fma(k, -low, -s.fma(size, size, -square))
    near, rest = long_exp(s, r, r_low)
    grown = near + rest
    grown_low = (near - grown) + rest
    g = polynomial(s, (size - centre) / (size + centre), ERFC[x.dtype])
    dividend = g * grown
    dividend_low = s.fma(g, grown_low, s.fma(g, grown, -dividend))
    divisor = s.fma(size, 2.0, 1.0)
    divisor_low = s.fma(size, 2.0, 1.0 - divisor)
    far = scaled(s, quotient(s, (dividend, dividend_low), (divisor, divisor_low)), i)
    small = 1.0 - s.copysign(near_zero(s, s.minimum(size, 1.0)), x)
    return s.where(size < 0.476, small, s.where(x < 0.0, 2.0 - far, far))


def gammaln(s: Scalars, x: Scalar) -> Scalar:
    """Return the logarithm of the gamma function of a positive number.

    Let n = rint(x + 1/4). For n <= 3 it is log gamma(2 + t) with t = x - n, a polynomial times t (t + 1), and a term of the
    recurrence: -log(x (x + 1)), -log(x), 0 or log(x - 1) for n = 0, 1, 2, 3. Else it is (x - 1/2) (log(x) - 1) plus
    Stirling's series. Logarithms are in two parts, and rounding errors of their products are added again.
    Greatest error: 1.61, 1.60.
    """
    top, overflowing, least = {F4: (4.085e36, 84.0, 1e-37), F8: (2.556348e305, 704.0, 1e-300)}[
        x.dtype
    ]
    inside = s.minimum(x, top)  # beyond, the result overflows
    one, n = s.ones_like(x), s.rint(inside + 0.25)
    large, is_0, to_1, is_2 = n > 3.0, n == 0.0, n <= 1.0, n == 2.0
    small = s.minimum(inside, 1.0)
    product = s.fma(small, small, small)
    a = s.where(to_1, inside, s.where(is_2, one, inside - 1.0))  # argument of the logarithm
    a = s.where(large, inside, s.where(is_0, product, a))
    inverse = 1.0 / s.maximum(a, least)
    lost = s.where(is_0, -s.fma(small, small, small - product) * inverse, 0.0)
    log, log_low = long_log(s, a, lambda d: 1.0 / d)
    log = log - s.where(large, one, 0.0)  # exact
    factor = s.where(large, inside - 0.5, s.where(to_1, -one, s.where(is_2, 0.0, one)))
    term = factor * log
    lost = s.fma(factor, log_low, s.fma(factor, log, -term)) + lost
    w = s.minimum(inverse, 1.0)
    series = s.fma(w, polynomial(s, w * w, STIRLING[x.dtype]), 0.5 * math.log(2 * math.pi) - 0.5)
    t = inside - n
    zeros, slow = t * (t + 1.0), polynomial(s, t, LOG_GAMMA[x.dtype])
    near = zeros * slow
    near_low = s.fma(zeros, slow, -near) + s.fma(t, t + 1.0, -zeros) * slow
    lost = lost + s.where(large, 0.0, near_low)
    result = term + (s.where(large, series, near) + lost)
    return s.where(x > top, x * overflowing, result)


def positive(s: Scalars, x: Scalar) -> Scalar:
    """Whether `gammaln` has a value for `x` in kernels: x is positive, or NaN."""
    return (x > 0.0) | s.isnan(x)
