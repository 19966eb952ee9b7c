"""Incomplete gamma and beta functions and their inverses, differentiable by every argument.

By the parameters there is no closed form. With p the density that P(a, x) or I_x(a, b) is the distribution
function of, the derivatives are integrals of p times a polynomial in the derivatives of log p,

    d/da P(a, x) = int_0^x (log t - psi(a)) p(t) dt,

over one tail; over both they are 0, so the smaller tail is taken and no digits cancel. In log t (or the logit of t)
the integrand is smooth, and log-concave up to the polynomial. So double exponential quadrature is nearly fully
precise for all arguments and all higher derivatives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.primitive import family, primitive
from fungrad.primitives.elementwise import (
    div,
    exp,
    isinf,
    keep_dtype,
    less,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    masked,
    mul,
    neg,
    nonzero,
    power,
    select,
)
from fungrad.primitives.gamma import betaln, digamma, digamma_rise, rgamma
from fungrad.primitives.quadrature import integrate
from fungrad.primitives.scipy_ufunc import RealFunction, constant, library, special
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.special import zero_over
from fungrad.primitives.ufunc import Function, elementwise, total
from fungrad.primitives.zeta import polygamma

Index = tuple[int, ...]

NEGLIGIBLE = 44.0
"""Where the density has fallen by exp(-44) = 8e-20, the tail ends."""


def quotients(order: Index, slope: Callable[[Index], Any]) -> Any:
    """Return the derivative of p of the given orders, divided by p.

    `slope` gives the derivatives of log p. This is the recurrence of the complete Bell polynomials (L. Comtet,
    "Advanced Combinatorics", 1974, section 3.3) in several variables.
    """
    slopes: dict[Index, Any] = {}
    known: dict[Index, Any] = {(0,) * len(order): 1.0}
    for index, terms in _recurrence(order):
        total: Any = 0.0
        for ways, raised, other in terms:
            if raised not in slopes:
                slopes[raised] = slope(raised)
            total = total + ways * slopes[raised] * known[other]
        known[index] = total
    return known[order]


@functools.lru_cache(64)
def _recurrence(order: Index) -> list[tuple[Index, list[tuple[int, Index, Index]]]]:
    """Return the terms of each polynomial up to an order.

    A term is a factor, and the orders of the slope and of the polynomial that it multiplies.
    """
    found = []
    for index in np.ndindex(*[n + 1 for n in order]):
        if not any(index):
            continue
        axis = next(i for i, n in enumerate(index) if n)
        rest = tuple(n - (i == axis) for i, n in enumerate(index))
        terms = []
        for k in np.ndindex(*[n + 1 for n in rest]):
            ways = math.prod(math.comb(n, j) for n, j in zip(rest, k, strict=True))
            raised = tuple(j + (i == axis) for i, j in enumerate(k))
            terms.append((ways, raised, tuple(n - j for n, j in zip(rest, k, strict=True))))
        found.append((index, terms))
    return found


def integrate_tail(
    xp: Any,
    fall: Callable[[Any], Any],
    rate: Callable[[Any], Any],
    beyond: Any,
    factor: Callable[[Any], Any],
    bend: Any = None,
) -> Any:
    """Return int_0^inf exp(-fall(d)) factor(d) dd for a convex `fall` with fall(0) = 0.

    `rate` is the derivative of `fall`, and `beyond` a point where `fall` is above `NEGLIGIBLE`. `bend` is the point,
    if any, where functions that are straight elsewhere turn within a unit: the interval is cut there.
    """

    def integrand(d: Any) -> Any:
        return xp.exp(-fall(d)) * factor(d)

    end = beyond
    for _ in range(40):  # Newton's method for a convex function, from the right: never too short
        end = end - (fall(end) - NEGLIGIBLE) / rate(end)
    if bend is None:
        return integrate(xp, integrand, 0.0, end)
    bend = xp.clip(bend, 0.0, end)
    return integrate(xp, integrand, 0.0, bend) + integrate(xp, integrand, bend, end)


def psi(xp: Any, k: int, x: Any) -> Any:
    """Return the derivative, `k` times, of the digamma function of an array."""
    if k == 0:
        return library(xp, "psi")(x)
    return (-1) ** (k + 1) * math.factorial(k) * library(xp, "zeta")(k + 1.0, x)


@family
class ByParameters(RealFunction):
    """The derivative of a distribution function by its parameters, `order` times by each."""

    order: Index

    def density(self, *operands: Any) -> Any:
        """Return the derivative by the last operand, that of the density by the parameters."""
        raise NotImplementedError

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        terms = []
        for i, t in enumerate(tangents):
            if t is None:
                continue
            if i == len(self.order):
                slope = self.density(*operands)
            else:
                raised = tuple(n + (j == i) for j, n in enumerate(self.order))
                slope = type(self)(raised)(*operands)
            terms.append(mul(t, slope))
        return total(terms)


@primitive
class GammaincByParameter(ByParameters):
    """The derivative of P(a, x), `order` times by a. DLMF 8.2.4, 8.8.13."""

    def in_double(self, xp: Any, a: Any, x: Any) -> Any:
        inner = (x > 0) & (x < xp.inf) & (a > 0)
        a, x = xp.where(inner, a, 1.0), xp.where(inner, x, 1.0)
        logx = xp.log(x)
        centres = [psi(xp, k, a) for k in range(self.order[0])]
        lower = logx < centres[0]
        side = xp.where(lower, -1.0, 1.0)

        def fall(d: Any) -> Any:  # of log t = log x + side * d
            return x * xp.expm1(side * d) - side * a * d

        def rate(d: Any) -> Any:
            return side * (x * xp.exp(side * d) - a)

        def factor(d: Any) -> Any:
            first = logx + side * d - centres[0]
            return quotients(self.order, lambda k: first if k == (1,) else -centres[k[0] - 1])

        excess = a * xp.log(xp.maximum(2 * a / x, 1.0))
        beyond = xp.where(lower, (NEGLIGIBLE + x) / a, xp.log1p(2 * (NEGLIGIBLE + excess) / x))
        height = xp.exp(a * logx - x - library(xp, "gammaln")(a))
        # The upper tail is flat up to t = 1; far from its start, that is a sharp bend.
        bend = xp.where(lower, 0.0, -logx)
        cut = bend if bool((bend > 2).any()) else None
        derivative = -side * height * integrate_tail(xp, fall, rate, beyond, factor, cut)
        return xp.where(inner, derivative, xp.where(a > 0, 0.0, xp.nan))

    def density(self, a: Any, x: Any) -> Any:
        first = log_between(x) - digamma(a)
        bell = quotients(self.order, lambda k: first if k == (1,) else -polygamma(k[0] - 1, a))
        return gamma_density(a, x) * bell


@primitive
class BetaincByParameters(ByParameters):
    """The derivative of I_x(a, b), `order` times by a and by b. DLMF 8.17.2."""

    def in_double(self, xp: Any, a: Any, b: Any, x: Any) -> Any:
        inner = (x > 0) & (x < 1) & (a > 0) & (b > 0)
        valid = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
        a, b, x = (xp.where(inner, v, w) for v, w in ((a, 1.0), (b, 1.0), (x, 0.5)))
        n = sum(self.order)
        of_a, of_b, of_sum = ([psi(xp, k, v) for k in range(n)] for v in (a, b, a + b))
        lower = xp.log(x) < of_a[0] - of_sum[0]
        # The upper tail is the lower one of the mirror image: t -> 1 - t, a <-> b.
        near, far = xp.where(lower, a, b), xp.where(lower, b, a)
        u, v = xp.where(lower, x, 1 - x), xp.where(lower, 1 - x, x)

        def growth(d: Any) -> Any:
            return xp.log(v + u * xp.exp(-d))

        def fall(d: Any) -> Any:  # of logit t = logit u - d
            return near * d + (near + far) * growth(d)

        def rate(d: Any) -> Any:
            moved = u * xp.exp(-d)
            return near - (near + far) * moved / (v + moved)

        def factor(d: Any) -> Any:
            grown = growth(d)
            below, above = xp.log(u) - d - grown, xp.log(v) - grown
            logs = (xp.where(lower, below, above), xp.where(lower, above, below))
            return quotients(self.order, lambda k: log_density(k, logs, of_a, of_b, of_sum))

        bend = xp.log(u) - xp.log(v)  # at t = 1/2
        beyond = (NEGLIGIBLE - (near + far) * xp.log(v)) / near
        height = xp.exp(near * xp.log(u) + far * xp.log(v) - library(xp, "betaln")(a, b))
        tail = height * integrate_tail(xp, fall, rate, beyond, factor, bend)
        return xp.where(inner, xp.where(lower, tail, -tail), xp.where(valid, 0.0, xp.nan))

    def density(self, a: Any, b: Any, x: Any) -> Any:
        def psis(y: Any) -> list[Any]:
            return [digamma(y) if k == 0 else polygamma(k, y) for k in range(sum(self.order))]

        known = psis(a), psis(b), psis(a + b)
        logs = (log(nonzero(x)), log_rest(x))
        return beta_density(a, b, x) * quotients(self.order, lambda k: log_density(k, logs, *known))


def log_density(k: Index, logs: Any, of_a: Any, of_b: Any, of_sum: Any) -> Any:
    """Return the derivative, k times, of (a-1) log t + (b-1) log(1-t) - log B(a, b) by a and b.

    The last three arguments hold the derivatives of the digamma function at a, b and a + b.
    """
    n = sum(k)
    total = of_sum[n - 1]
    for i, own in enumerate((of_a, of_b)):
        if k[i] == n:  # all derivatives are by this parameter
            total = total - own[n - 1] + (logs[i] if n == 1 else 0.0)
    return total


# The densities x^(a-1) exp(-x) / Gamma(a) and x^(a-1) (1-x)^(b-1) / B(a, b). They are primitives because where they are 0
# so are their derivatives by the parameters, which would be 0 times log(0).


def gamma_density_of(xp: Any, a: Any, x: Any) -> Any:
    """Return the density of the gamma distribution; at infinity too it is 0."""
    x = xp.minimum(x, 1e38)
    return xp.exp(library(xp, "xlogy")(a - 1, x) - x - library(xp, "gammaln")(a))


def beta_density_of(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """Return the density of the beta distribution."""
    powers = library(xp, "xlogy")(a - 1, x) + library(xp, "xlog1py")(b - 1, -x)
    return xp.exp(powers - library(xp, "betaln")(a, b))


def lowered(out: Any, p: Any, x: Any, rest: Callable[[Any], Any]) -> Any:
    """Return p out / x where out = x^p rest(x); at x = 0 that is no 0 / 0 but p x^(p-1) rest(x)."""
    edge = logical_and(x == 0, less(zeros_like(p), p))
    y, q = masked(edge, x), select(edge, p, constant(2, p))
    away = out * zero_over(p, select(edge, constant(1, x), x))
    return select(edge, q * power(y, q - 1) * rest(y), away)


def gamma_density_slope(out: Any, a: Any, x: Any) -> Any:
    """Return the derivative by x."""
    return lowered(out, a - 1, x, lambda y: exp(neg(y)) * rgamma(a)) - out


def beta_density_slope(out: Any, a: Any, b: Any, x: Any) -> Any:
    """Return the derivative by x."""
    scale, p, q = exp(neg(betaln(a, b))), a - 1, b - 1
    rise = lowered(out, p, x, lambda y: scale * power(1 - y, q))
    return rise - lowered(out, q, 1 - x, lambda y: scale * power(1 - y, p))


gamma_density: Function = elementwise(
    "gamma_density",
    lambda t, out, a, x: mul(t, out * (log_between(x) - digamma(a))),
    lambda t, out, a, x: mul(t, gamma_density_slope(out, a, x)),
    function=gamma_density_of,
    dtype=keep_dtype,
)
beta_density: Function = elementwise(
    "beta_density",
    lambda t, out, a, b, x: mul(t, out * (log(nonzero(x)) + digamma_rise(a, b))),
    lambda t, out, a, b, x: mul(t, out * (log_rest(x) + digamma_rise(b, a))),
    lambda t, out, a, b, x: mul(t, beta_density_slope(out, a, b, x)),
    function=beta_density_of,
    dtype=keep_dtype,
)


def log_between(x: Any) -> Any:
    """Return log(x), and 0 at x = 0 and infinity, where it is the factor of 0."""
    return log(select(gamma_ends(x), constant(1, x), x))


def log_rest(x: Any) -> Any:
    """Return log(1 - x), and 0 at x = 1, where it is the factor of 0."""
    return log1p(neg(masked(x != 1, x)))


gamma_a = GammaincByParameter((1,))
beta_a, beta_b = BetaincByParameters((1, 0)), BetaincByParameters((0, 1))

gammainc = special(
    "gammainc",
    lambda t, out, a, x: mul(t, gamma_a(a, x)),
    lambda t, out, a, x: mul(t, gamma_density(a, x)),
)
gammaincc = special(
    "gammaincc",
    lambda t, out, a, x: mul(t, neg(gamma_a(a, x))),
    lambda t, out, a, x: mul(t, neg(gamma_density(a, x))),
)
betainc = special(
    "betainc",
    lambda t, out, a, b, x: mul(t, beta_a(a, b, x)),
    lambda t, out, a, b, x: mul(t, beta_b(a, b, x)),
    lambda t, out, a, b, x: mul(t, beta_density(a, b, x)),
)
betaincc = special(
    "betaincc",
    lambda t, out, a, b, x: mul(t, neg(beta_a(a, b, x))),
    lambda t, out, a, b, x: mul(t, neg(beta_b(a, b, x))),
    lambda t, out, a, b, x: mul(t, neg(beta_density(a, b, x))),
)


# Inverses: the implicit function theorem. The ends of the range do not depend on the parameters.


def moved(density: Any, end: Any, change: Any) -> Any:
    """Return the derivative -change / density of an inverse by a parameter, and 0 where it is at an end."""
    inner = logical_not(end)
    return neg(masked(inner, change) / select(inner, density, constant(1, density)))


def gamma_ends(x: Any) -> Any:
    """Whether x is 0 or infinite."""
    return logical_or(x == 0, isinf(x))


def beta_ends(x: Any) -> Any:
    """Whether x is 0 or 1."""
    return logical_or(x == 0, x == 1)


def gamma_inverse(name: str, sign: int) -> Function:
    """Declare the inverse by x of P(a, x), or of 1 - P(a, x) with `sign` -1."""
    return special(
        name,
        lambda t, out, a, y: mul(t, moved(gamma_density(a, out), gamma_ends(out), gamma_a(a, out))),
        lambda t, out, a, y: div(t, sign * gamma_density(a, out)),
    )


def beta_inverse(name: str, sign: int) -> Function:
    """Declare the inverse by x of I_x(a, b), or of 1 - I_x(a, b) with `sign` -1."""
    return special(
        name,
        lambda t, out, a, b, y: mul(
            t, moved(beta_density(a, b, out), beta_ends(out), beta_a(a, b, out))
        ),
        lambda t, out, a, b, y: mul(
            t, moved(beta_density(a, b, out), beta_ends(out), beta_b(a, b, out))
        ),
        lambda t, out, a, b, y: div(t, sign * beta_density(a, b, out)),
    )


gammaincinv = gamma_inverse("gammaincinv", 1)
gammainccinv = gamma_inverse("gammainccinv", -1)
betaincinv = beta_inverse("betaincinv", 1)
betainccinv = beta_inverse("betainccinv", -1)
