"""The table of special functions: error functions, exponential integrals, entropies.

Laid out as `elementwise/`: ``lambda t, out, *operands`` for each operand. Gamma functions are in `gamma.py`, Bessel
functions in `bessel.py`, hypergeometric functions in `hypergeometric.py`, incomplete gamma and beta functions in
`incomplete.py`, losses and power transforms in `losses.py`. DLMF is the NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fungrad.core.backend import target_of
from fungrad.core.primitive import primitive
from fungrad.primitives.elementwise import (
    LN2,
    LN10,
    absolute,
    cast,
    cos,
    div,
    exp,
    greater_equal,
    imag,
    is_complex,
    keep_dtype,
    less,
    log,
    log1p,
    log_for_power,
    logical_and,
    logical_not,
    logical_or,
    masked,
    mul,
    neg,
    power,
    power_rule_for_base,
    real,
    select,
    sigmoid_slope,
    sin,
    sinc,
)
from fungrad.primitives.gamma import digamma, gamma
from fungrad.primitives.hypergeometric import gauss, hyp0f1, kummer
from fungrad.primitives.lacking import not_in_cupy
from fungrad.primitives.scipy_ufunc import constant, library, no_derivative, special
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.ufunc import Function, OfOneDtype, elementwise
from fungrad.primitives.zeta import Zeta

ROOT_PI, ROOT_2PI, ROOT_HALF = math.sqrt(math.pi), math.sqrt(2 * math.pi), math.sqrt(0.5)


@primitive
class RiemannZeta(OfOneDtype):
    """zeta(s), also for s < 1 and for complex s."""

    def impl(self, xp: Any, s: Any) -> Any:
        if not target_of(xp).on_host:
            raise not_in_cupy("zeta of one argument", "special")
        return library(xp, "zeta")(s)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t,), (s,) = tangents, operands
        if is_complex(s):
            no_derivative("zeta", "complex s")()
        one = constant(1, s)
        reflect = less(s, zeros_like(s))
        # The derivative of 2 (2 pi)^(s-1) sin(pi s / 2) Gamma(1 - s) zeta(1 - s): DLMF 25.4.2.
        u = select(reflect, 1 - s, constant(2, s))
        wave, slope = sin(math.pi / 2 * (1 - u)), math.pi / 2 * cos(math.pi / 2 * (1 - u))
        scale = 2 * exp(neg(u) * math.log(2 * math.pi)) * gamma(u)
        known = Zeta()(u, one)
        change = (math.log(2 * math.pi) - digamma(u)) * known - Zeta(1)(u, one)
        reflected = scale * (wave * change + slope * known)
        direct = Zeta(1)(select(reflect, constant(2, s), s), one)
        return mul(t, select(reflect, reflected, direct))


# Error functions: DLMF 7.2, 7.10; inverses by the derivative of an inverse.


def gaussian(x: Any) -> Any:
    """Return the density of the standard normal distribution."""
    return exp(-0.5 * (x * x)) / ROOT_2PI


def real_part(z: Any) -> Any:
    """Return the real part of a real or complex number."""
    return real(z) if is_complex(z) else z


def far_right(z: Any) -> Any:
    """Whether the real part is above 8, where the series of `over_far` ends below rounding."""
    return less(constant(8, z.real), real_part(z))


def far_along(z: Any) -> Any:
    """Whether the real part of z^2 is above 64."""
    if is_complex(z):
        x, y = real(z), imag(z)
        return less(constant(64, x), (x - y) * (x + y))  # where z * z at infinity is invalid
    return less(constant(8, z), absolute(z))


def over_far(far: Any, x: Any, signs: int, near: Callable[[Any], Any]) -> Any:
    """Return u + s 1 3 u^2 + s^2 1 3 5 u^3 + ... with u = 1 / (2 x^2) where x is far, else near(x).

    This is what the leading terms of the error functions leave: DLMF 7.12.1, alternating with `signs` -1.
    """
    inverse = 1 / select(far, x, constant(8, x))
    u, tail = inverse * inverse / 2, constant(1, x)
    for k in range(35, 1, -2):
        tail = 1 + signs * k * u * tail
    return select(far, u * tail, near(masked(logical_not(far), x)))


def erfcx_slope(x: Any, out: Any) -> Any:
    """Return 2 x out - 2 / sqrt(pi)."""
    return -2 / ROOT_PI * over_far(far_right(x), x, -1, lambda x: 1 - ROOT_PI * x * out)


def dawsn_slope(x: Any, out: Any) -> Any:
    """Return 1 - 2 x out."""
    return neg(over_far(far_along(x), x, 1, lambda x: 2 * x * out - 1))


def wofz_slope(z: Any, out: Any) -> Any:
    """Return 2i / sqrt(pi) - 2 z out."""
    far = logical_or(far_along(z), less(constant(8, z.real), imag(z)))
    return -2j / ROOT_PI * over_far(far, z, 1, lambda z: neg(1j * ROOT_PI * z * out) - 1)


erf = special("erf", lambda t, out, x: mul(t, 2 / ROOT_PI * exp(neg(x * x))))
erfc = special("erfc", lambda t, out, x: mul(t, -2 / ROOT_PI * exp(neg(x * x))))
erfcx = special("erfcx", lambda t, out, x: mul(t, erfcx_slope(x, out)))
erfi = special("erfi", lambda t, out, x: mul(t, 2 / ROOT_PI * exp(x * x)))
dawsn = special("dawsn", lambda t, out, x: mul(t, dawsn_slope(x, out)))
wofz = special("wofz", lambda t, out, z: mul(t, wofz_slope(z, out)))
erfinv = special("erfinv", lambda t, out, y: mul(t, ROOT_PI / 2 * exp(out * out)))
erfcinv = special("erfcinv", lambda t, out, y: mul(t, -ROOT_PI / 2 * exp(out * out)))
ndtr = special("ndtr", lambda t, out, x: mul(t, gaussian(x)))
ndtri = special("ndtri", lambda t, out, y: mul(t, ROOT_2PI * exp(0.5 * (out * out))))


@primitive
class InverseMills(OfOneDtype):
    """The ratio of density to distribution function of the standard normal distribution.

    By the scaled error function neither of the two underflows.
    """

    def impl(self, xp: Any, x: Any) -> Any:
        return math.sqrt(2 / math.pi) / library(xp, "erfcx")(-math.sqrt(0.5) * x)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (x,) = operands
        return mul(tangents[0], neg(mills_fall(x, out)))


def mills_fall(x: Any, out: Any) -> Any:
    """Return out (x + out), far to the left by the reciprocal -x - s / x of the series of Mills' ratio.

    That series is M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 26.2.12.
    """
    far = less(real_part(x), constant(-50, x.real))
    inverse = 1 / select(far, x, constant(-50, x))
    u = inverse * inverse
    s = 1 + u * (-2 + u * (10 + u * (-74 + u * 706)))
    x, out = masked(logical_not(far), x), masked(logical_not(far), out)
    return select(far, s * (1 + u * s), out * (x + out))


log_ndtr = special("log_ndtr", lambda t, out, x: mul(t, InverseMills()(x)))
ndtri_exp = special(
    "ndtri_exp", lambda t, out, y: mul(t, ROOT_PI * ROOT_HALF * erfcx(-ROOT_HALF * out))
)
owens_t = special(
    "owens_t",  # D. B. Owen, "A table of normal integrals", 1980
    lambda t, out, h, a: mul(t, -0.5 * gaussian(h) * erf(math.sqrt(0.5) * a * h)),
    lambda t, out, h, a: mul(t, exp(-0.5 * (h * h) * (1 + a * a)) / (2 * math.pi * (1 + a * a))),
)

# Exponential integrals and their kin: DLMF 6.2, 7.2(iii), 8.19.13, 25.12.1, 4.13.4.


def quotient(x: Any) -> Any:
    """Return log(x) / (x - 1), also at 1 (DLMF 15.4.1)."""
    # Further away SciPy's function is inaccurate, and around 1 + exp(+-i pi / 3).
    near = less(absolute(x - 1), constant(0.5, x.real if is_complex(x) else x))
    inner, outer = select(near, x - 1, constant(0.25, x)), select(near, constant(2, x), x)
    return select(near, gauss(1, 1, 2, neg(inner)), log(outer) / (outer - 1))


def expn_partial(t: Any, out: Any, n: Any, x: Any) -> Any:
    """Return the term -E_(n-1)(x); for n < 2 by the recurrence DLMF 8.19.12."""
    ahead = n > 1
    below = (exp(neg(x)) - (cast(n, x) - 1) * out) / select(ahead, constant(1, x), x)
    return mul(t, neg(select(ahead, expn(select(ahead, n - 1, n), x), below)))


exp1 = special("exp1", lambda t, out, x: mul(t, neg(exp(neg(x)) / x)))
expi = special("expi", lambda t, out, x: mul(t, exp(x) / x))
expn: Function = special("expn", no_derivative("expn", "the order n"), expn_partial)
exprel = special("exprel", lambda t, out, x: mul(t, kummer(2, 3, x) / 2))  # DLMF 13.6.2
si = special("sici", lambda t, out, x: mul(t, sinc(x / math.pi)), label="si", result=0)
ci = special("sici", lambda t, out, x: mul(t, cos(x) / x), label="ci", result=1)
shi = special("shichi", lambda t, out, x: mul(t, sinhc(x)), label="shi", result=0)
chi = special(
    "shichi", lambda t, out, x: mul(t, (exp(x) + exp(neg(x))) / (2 * x)), label="chi", result=1
)
fresnel_s = special(
    "fresnel", lambda t, out, x: mul(t, sin(math.pi / 2 * (x * x))), label="fresnel_s", result=0
)
fresnel_c = special(
    "fresnel", lambda t, out, x: mul(t, cos(math.pi / 2 * (x * x))), label="fresnel_c", result=1
)
spence = special("spence", lambda t, out, x: mul(t, neg(quotient(x))))
part_of_sum: Function = elementwise(
    "part_of_sum",
    lambda t, out, w: div(t, (1 + w) * (1 + w)),
    function=lambda xp, w: w / (1 + w),
    dtype=keep_dtype,
)
wrightomega = special("wrightomega", lambda t, out, z: mul(t, part_of_sum(out)))


def sinhc(x: Any) -> Any:
    """Return sinh(x) / x, also at 0, where its derivative loses no digits."""
    if is_complex(x):
        return sinc(1j / math.pi * x)
    return hyp0f1(constant(1.5, x), x * x / 4)  # DLMF 10.39.9


@primitive
class LambertW(OfOneDtype):
    """Branch `k` of the function W with W exp(W) = z, for complex z; derivative: DLMF 4.13.4."""

    k: int
    tol: float

    kinds = "c"

    def impl(self, xp: Any, z: Any) -> Any:
        return library(xp, "lambertw")(z, self.k, self.tol).astype(z.dtype)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return mul(tangents[0], exp(neg(out)) / (1 + out))


# Elementary functions that keep digits where the obvious formulas lose them.

exp2 = special("exp2", lambda t, out, x: mul(t, LN2 * out), label="special_exp2")
exp10 = special("exp10", lambda t, out, x: mul(t, LN10 * out))
expm1 = special("expm1", lambda t, out, x: mul(t, exp(x)), label="special_expm1")
special_log1p = special("log1p", lambda t, out, x: div(t, 1 + x), label="special_log1p")
cbrt = special("cbrt", lambda t, out, x: div(t, 3 * (out * out)), label="special_cbrt")
cosm1 = special("cosm1", lambda t, out, x: mul(t, neg(sin(x))))
powm1 = special(
    "powm1",
    power_rule_for_base,
    lambda t, out, x, y: mul(t, power(x, y) * log_for_power(x, y)),
)
expit: Function = special("expit", lambda t, out, x: mul(t, sigmoid_slope(x)))
logit = special("logit", lambda t, out, x: div(t, x * (1 - x)))
log_expit = special("log_expit", lambda t, out, x: mul(t, expit(neg(x))))

# Entropies: 0 log(0) is 0, and stays so under differentiation by what is not 0.


def zero_over(x: Any, y: Any) -> Any:
    """Return x / y, and 0 for x = y = 0."""
    return x / select(logical_and(x == 0, y == 0), constant(1, y), y)


def inside(x: Any, value: Any) -> Any:
    """Return `value` where x >= 0, else 0: there the function is an infinite constant."""
    return masked(greater_equal(x, zeros_like(x)), value)


def positive(x: Any) -> Any:
    """Return `x`, and 1 where it is negative: an argument for a logarithm."""
    return select(less(x, zeros_like(x)), constant(1, x), x)


xlogy = special(
    "xlogy",
    lambda t, out, x, y: mul(t, log(y)),
    lambda t, out, x, y: mul(t, zero_over(x, y)),
)
xlog1py = special(
    "xlog1py",
    lambda t, out, x, y: mul(t, log1p(y)),
    lambda t, out, x, y: mul(t, zero_over(x, 1 + y)),
)
entr = special("entr", lambda t, out, x: mul(t, inside(x, -1 - log(positive(x)))))
rel_entr = special(
    "rel_entr",
    lambda t, out, x, y: mul(t, inside(x, 1 + log(positive(x / y)))),
    lambda t, out, x, y: mul(t, inside(x, neg(zero_over(x, y)))),
)
kl_div = special(
    "kl_div",
    lambda t, out, x, y: mul(t, inside(x, log(positive(x / y)))),
    lambda t, out, x, y: mul(t, inside(x, 1 - zero_over(x, y))),
)
