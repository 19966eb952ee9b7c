"""The gamma function and its relatives.

DLMF is the NIST Digital Library of Mathematical Functions.

Derivatives: DLMF 5.2.2, 5.12.1, 5.15.1. Quotients of gamma functions have products for derivatives in which a pole
meets a zero, and differences in which all digits cancel. `Rise` and `rgamma_slope` are what keeps them exact.
"""

from __future__ import annotations

import math
from typing import Any

from fungrad.core.primitive import primitive
from fungrad.primitives.elementwise import (
    absolute,
    cos,
    div,
    is_complex,
    less,
    logical_and,
    logical_not,
    logical_or,
    masked,
    mul,
    neg,
    real,
    select,
    sin,
)
from fungrad.primitives.scipy_ufunc import RealFunction, constant, library, special
from fungrad.primitives.ufunc import Function, total
from fungrad.primitives.zeta import BERNOULLI, polygamma

digamma: Function = special("psi", lambda t, out, x: mul(t, polygamma(1, x)), label="digamma")
gamma = special("gamma", lambda t, out, x: mul(t, out * digamma(x)))
gammaln = special("gammaln", lambda t, out, x: mul(t, digamma(x)))
loggamma = special("loggamma", lambda t, out, x: mul(t, digamma(x)))
gammasgn = special("gammasgn")


def is_left(x: Any) -> Any:
    """Whether x is to the left of 1/2, where the poles of the gamma function are."""
    bound = constant(0.5, x.real if is_complex(x) else x)
    return less(real(x) if is_complex(x) else x, bound)


def rgamma_slope(x: Any, out: Any) -> Any:
    """Return the derivative of ``out = 1 / gamma(x)``.

    To the left it is that of gamma(1 - x) sin(pi x) / pi (DLMF 5.5.3), as -digamma(x) / gamma(x) is infinity times 0
    at the poles.
    """
    left = is_left(x)
    y = select(left, x, constant(0, x))
    wave, slope = sin(math.pi * y) / math.pi, cos(math.pi * y)
    reflected = gamma(1 - y) * (slope - digamma(1 - y) * wave)
    return select(left, reflected, neg(out * digamma(select(left, constant(1, x), x))))


rgamma: Function = special("rgamma", lambda t, out, x: mul(t, rgamma_slope(x, out)))


@primitive
class Rise(RealFunction):
    """psi_n(x + m) - psi_n(x), of the derivative of order `n` of the digamma function, also for small m.

    Where the two differ by little, both are moved up by the recurrence DLMF 5.15.5 to where the asymptotic series, DLMF
    5.11.2 and 5.15.8, is exact, and differences are taken term by term.
    """

    n: int

    def in_double(self, xp: Any, *operands: Any) -> Any:
        x, m = xp.broadcast_arrays(*operands)
        low, high = self.of(xp, x), self.of(xp, x + m)
        rise = high - low
        far = -60.0  # further to the left, nothing is moved up
        close = (abs(rise) < 0.5 * abs(low)) & (x > far) & (x + m > far)
        if close.any():
            rise = xp.asarray(rise)
            rise[close] = self.termwise(xp, x[close], m[close])
        return rise

    def of(self, xp: Any, x: Any) -> Any:
        """Return psi_n(x)."""
        if self.n == 0:
            return library(xp, "psi")(x)
        return (-1) ** (self.n + 1) * math.factorial(self.n) * library(xp, "zeta")(self.n + 1.0, x)

    def termwise(self, xp: Any, x: Any, m: Any) -> Any:
        """Return the sum of the differences of the terms."""
        n, sign = self.n, (-1) ** (self.n + 1)
        top = 12 + 2 * n
        steps = max(0, math.ceil(top - float(min(x.min(), (x + m).min()))))
        rise = 0.0
        for k in range(steps):
            rise = rise + sign * math.factorial(n) * power_rise(xp, x + k, m, n + 1)
        y = x + steps
        rise = rise + sign * math.factorial(n) / 2 * power_rise(xp, y, m, n + 1)
        if n == 0:
            rise = rise + xp.log1p(m / y)
        else:
            rise = rise + sign * math.factorial(n - 1) * power_rise(xp, y, m, n)
        for k, bernoulli in enumerate(BERNOULLI[:10], 1):
            factor = bernoulli * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
            rise = rise + sign * factor * power_rise(xp, y, m, 2 * k + n)
        return rise

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_x, t_m), (x, m) = tangents, operands
        terms = []
        if t_x is not None:
            terms.append(mul(t_x, Rise(self.n + 1)(x, m)))
        if t_m is not None:
            terms.append(mul(t_m, polygamma(self.n + 1, x + m)))
        return total(terms)


def power_rise(xp: Any, y: Any, m: Any, p: int) -> Any:
    """Return (y + m)^-p - y^-p, without cancellation."""
    ratio = m / y
    near = ratio > -0.5
    rise = xp.expm1(-p * xp.log1p(xp.where(near, ratio, 0.0)))
    return y**-p * xp.where(near, rise, (1 + xp.where(near, 1.0, ratio)) ** -p - 1)


digamma_rise = Rise(0)


beta = special(
    "beta",
    lambda t, out, a, b: mul(t, neg(out * digamma_rise(a, b))),
    lambda t, out, a, b: mul(t, neg(out * digamma_rise(b, a))),
)
betaln = special(
    "betaln",
    lambda t, out, a, b: mul(t, neg(digamma_rise(a, b))),
    lambda t, out, a, b: mul(t, neg(digamma_rise(b, a))),
)


# Pochhammer symbols gamma(a + m) / gamma(a), and binomials gamma(n + 1) / (gamma(k + 1) gamma(y)), y = n - k + 1. Where the
# argument of a reciprocal is to the left, where it may be 0, its derivative stands for itself, unless the digamma functions
# cancel.


def poch_by_base(t: Any, out: Any, a: Any, m: Any) -> Any:
    """Return the term by a."""
    low = digamma(a)  # infinite or NaN at a pole
    cancels = less(absolute(digamma(a + m) - low), absolute(low) / 2)
    left = logical_and(is_left(a), logical_not(cancels))
    b, up = select(left, a, constant(0.25, a)), select(left, a + m, constant(1, a))
    r = rgamma(b)
    of_left = gamma(up) * (digamma(up) * r + rgamma_slope(b, r))
    x = select(left, constant(1, a), a)
    return mul(t, select(left, of_left, out * digamma_rise(x, m)))


poch: Function = special("poch", poch_by_base, lambda t, out, a, m: mul(t, out * digamma(a + m)))


def binom_by_total(t: Any, out: Any, n: Any, k: Any) -> Any:
    """Return the term by n."""
    y = n - k + 1
    low = digamma(y)
    cancels = less(absolute(digamma(n + 1) - low), absolute(low) / 2)
    left = logical_and(is_left(y), logical_not(cancels))
    of_left = at_zero(left, n, n - k, n + 1)
    return mul(t, select(left, of_left, out * digamma_rise(select(left, constant(1, y), y), k)))


def binom_by_choice(t: Any, out: Any, n: Any, k: Any) -> Any:
    """Return the term by k; in k and n - k the function is symmetric."""
    y = n - k + 1
    first, second = is_left(k + 1), is_left(y)
    left = logical_or(first, second)
    x, m = select(left, constant(1, k), k + 1), select(left, constant(0, k), n - 2 * k)
    away = out * digamma_rise(x, m)
    of_first, of_second = at_zero(first, n, k, y), at_zero(second, n, n - k, k + 1)
    return mul(t, select(first, of_first, select(second, neg(of_second), away)))


def at_zero(left: Any, n: Any, k: Any, other: Any) -> Any:
    """Return ``gamma(n+1) / gamma(n-k+1) * (gamma(other) / gamma(k+1))' / gamma(other)``.

    It is 0 where not `left`. The quotient, the reciprocal of a Pochhammer symbol, does not overflow.
    """
    n, k = masked(left, n), select(left, k, constant(-0.75, k))
    other = select(left, other, constant(1, other))
    r = rgamma(k + 1)
    return masked(left, div(digamma(other) * r + rgamma_slope(k + 1, r), poch(n + 1, neg(k))))


binom = special("binom", binom_by_total, binom_by_choice)
