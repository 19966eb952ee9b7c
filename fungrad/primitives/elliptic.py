"""Elliptic integrals and functions. DLMF is the NIST Digital Library of Mathematical Functions."""

from __future__ import annotations

import math
from typing import Any

from fungrad.core.primitive import primitive
from fungrad.primitives.elementwise import div, greater, keep_dtype, mul, neg, select, sin, sqrt
from fungrad.primitives.hypergeometric import gauss
from fungrad.primitives.quadrature import integrate
from fungrad.primitives.scipy_ufunc import RealFunction, constant, library, no_derivative, special
from fungrad.primitives.ufunc import Function, Rule, elementwise, total

# The complete integrals are hypergeometric functions (DLMF 19.5.1, 19.5.2), whose derivatives have no
# removable singularity at m = 0 as those of DLMF 19.4.1 have.

ellipk: Function = special("ellipk", lambda t, out, m: mul(t, math.pi / 8 * gauss(1.5, 1.5, 2, m)))
ellipe: Function = special("ellipe", lambda t, out, m: mul(t, -math.pi / 8 * gauss(0.5, 1.5, 2, m)))


def ellipkm1_partial(t: Any, out: Any, p: Any) -> Any:
    """Return the derivative of K(1 - p), near p = 0 by DLMF 19.4.1."""
    near = greater(constant(0.5, p), p)
    q = select(near, p, constant(0.25, p))
    by_integrals = neg((ellipem1(q) - q * ellipkm1(q)) / (2 * q * (1 - q)))
    by_series = -math.pi / 8 * gauss(1.5, 1.5, 2, 1 - select(near, constant(1, p), p))
    return mul(t, select(near, by_integrals, by_series))


ellipkm1: Function = special("ellipkm1", ellipkm1_partial)
ellipem1 = elementwise(  # E(1 - p), by DLMF 19.4.2
    "ellipem1",
    lambda t, out, p: mul(t, (ellipkm1(p) - out) / (2 * (1 - p))),
    function=lambda xp, p: library(xp, "ellipe")(1 - p),
    dtype=keep_dtype,
)


# The incomplete integrals, by their parameter under the integral sign: DLMF 19.4.5 and 19.4.6 are again
# singular at m = 0.


@primitive
class EllipticByParameter(RealFunction):
    """The derivative, `n` times by m, of the integral of (1 - m sin(t)^2)^(power) from 0 to phi.

    With `power` -1/2 the integral is `ellipkinc`, with 1/2 `ellipeinc` (DLMF 19.2.4, 19.2.5).
    """

    power: float
    n: int

    def integrand(self, sine: Any, m: Any) -> Any:
        """Return the derivative of the integrand, from sin(t)."""
        square = sine * sine
        factor = math.prod(j - self.power for j in range(self.n))
        rest = (1 - m * square) ** (self.power - self.n)
        return factor * square**self.n * rest if self.n else rest

    def in_double(self, xp: Any, *operands: Any) -> Any:
        phi, m = operands

        def up_to(end: Any) -> Any:
            return integrate(xp, lambda t: self.integrand(xp.sin(t), m), 0.0, end)

        turns = xp.rint(phi / math.pi)
        result = up_to(phi - math.pi * turns)
        if (turns != 0).any():
            result = result + xp.where(
                turns == 0, 0.0, 2 * turns * up_to(xp.full_like(phi, math.pi / 2))
            )
        return result

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_phi, t_m), (phi, m) = tangents, operands
        terms = []
        if t_phi is not None:
            terms.append(mul(t_phi, self.integrand(sin(phi), m)))
        if t_m is not None:
            terms.append(mul(t_m, EllipticByParameter(self.power, self.n + 1)(phi, m)))
        return total(terms)


def delta(phi: Any, m: Any) -> Any:
    """Return sqrt(1 - m sin(phi)^2)."""
    s = sin(phi)
    return sqrt(1 - m * s * s)


ellipkinc: Function = special(
    "ellipkinc",
    lambda t, out, phi, m: div(t, delta(phi, m)),
    lambda t, out, phi, m: mul(t, EllipticByParameter(-0.5, 1)(phi, m)),
)
ellipeinc: Function = special(
    "ellipeinc",
    lambda t, out, phi, m: mul(t, delta(phi, m)),
    lambda t, out, phi, m: mul(t, EllipticByParameter(0.5, 1)(phi, m)),
)

# Jacobi's elliptic functions: DLMF 22.13.1-22.13.3 and 22.16.1.


def jacobi(label: str, result: int, slope: Rule) -> Function:
    """Declare one of the results of `ellipj`; `slope` is its derivative as a function of u and m."""
    return special(
        "ellipj",
        lambda t, out, u, m: mul(t, slope(u, m)),
        no_derivative("ellipj", "the parameter m"),
        label=label,
        result=result,
    )


jacobi_sn: Function = jacobi("jacobi_sn", 0, lambda u, m: jacobi_cn(u, m) * jacobi_dn(u, m))
jacobi_cn: Function = jacobi("jacobi_cn", 1, lambda u, m: -jacobi_sn(u, m) * jacobi_dn(u, m))
jacobi_dn: Function = jacobi("jacobi_dn", 2, lambda u, m: -m * jacobi_sn(u, m) * jacobi_cn(u, m))
jacobi_am: Function = jacobi("jacobi_am", 3, lambda u, m: jacobi_dn(u, m))
