"""Bessel functions and their kin. DLMF is the NIST Digital Library of Mathematical Functions.

Functions that SciPy scales by an exponential have the product rule's second term. By the order only
`kv` and `kve` are differentiable, through an integral; there is no closed form (DLMF 10.15, 10.38).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.primitive import primitive
from fungrad.primitives.elementwise import cast, exp, imag, is_complex, maximum, real, sign
from fungrad.primitives.quadrature import weighted_sum
from fungrad.primitives.scipy_ufunc import RealFunction, constant, library, no_derivative, special
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.ufunc import DType, Elementwise, Function, Rule, total


def order(name: str) -> Rule:
    """Return the rule of an order by which there is no derivative."""
    return no_derivative(name, "the order v", "; kv and kve have a derivative by the order")


def neighbours(f: Any, v: Any, x: Any, sign: int) -> Any:
    """Return (f_(v-1) + sign f_(v+1)) / 2, the form of a derivative (DLMF 10.6.1, 10.29.1)."""
    below, above = f(v - 1, x), f(v + 1, x)
    return (below + above if sign > 0 else below - above) / 2


def decay(t: Any, out: Any, x: Any, part: Any = real) -> Any:
    """Return the tangent by exp(-|Re x|), a factor of `out`; `part` is `imag` for exp(-|Im x|)."""
    if not is_complex(x):
        return t * (-sign(x) * out)
    return cast(part(t) * -sign(part(x)), out) * out


# Of any order: DLMF 10.6.1 and 10.29.1.

jv: Function = special("jv", order("jv"), lambda t, out, v, x: t * neighbours(jv, v, x, -1))
yv: Function = special("yv", order("yv"), lambda t, out, v, x: t * neighbours(yv, v, x, -1))
iv: Function = special("iv", order("iv"), lambda t, out, v, x: t * neighbours(iv, v, x, 1))


def jve_partial(f: Any) -> Rule:
    """Return the rule of a function scaled by exp(-abs(Im x)), which is constant for real x."""

    def partial(t: Any, out: Any, v: Any, x: Any) -> Any:
        tangent = t * neighbours(f(), v, x, -1)
        return tangent + decay(t, out, x, imag) if is_complex(x) else tangent

    return partial


jve: Function = special("jve", order("jve"), jve_partial(lambda: jve), holomorphic=False)
yve: Function = special("yve", order("yve"), jve_partial(lambda: yve), holomorphic=False)
ive: Function = special(
    "ive",
    order("ive"),
    lambda t, out, v, x: t * neighbours(ive, v, x, 1) + decay(t, out, x),
    holomorphic=False,
)
hankel1: Function = special(
    "hankel1", order("hankel1"), lambda t, out, v, x: t * neighbours(hankel1, v, x, -1)
)
hankel2: Function = special(
    "hankel2", order("hankel2"), lambda t, out, v, x: t * neighbours(hankel2, v, x, -1)
)
hankel1e: Function = special(  # scaled by exp(-i x)
    "hankel1e",
    order("hankel1e"),
    lambda t, out, v, x: t * (neighbours(hankel1e, v, x, -1) - 1j * out),
)
hankel2e: Function = special(  # scaled by exp(i x)
    "hankel2e",
    order("hankel2e"),
    lambda t, out, v, x: t * (neighbours(hankel2e, v, x, -1) + 1j * out),
)

# The second kind, modified: by the order, too.


@primitive
class MacdonaldByOrder(RealFunction):
    """The derivative, `n` times by the order, of exp(x) K_v(x) for real x > 0.

    K_v(x) = int_0^inf exp(-x cosh t) cosh(v t) dt (DLMF 10.32.9) is differentiated under the integral
    sign. The integrand is even and falls doubly exponentially, so the trapezoidal rule converges
    exponentially (L. N. Trefethen and J. A. C. Weideman, SIAM Review 56, 2014).
    """

    n: int

    NODES = 320

    def in_double(self, xp: Any, *operands: Any) -> Any:
        v, x = operands
        # Up to where exp(|v| t - x (cosh t - 1)) is below 1e-17 of its maximum.
        end = xp.arccosh(1 + 80 / x) + 2 * xp.arcsinh(2 * abs(v) / x)
        step = end / self.NODES
        parity = -1 if self.n % 2 else 1

        def integrand(node: Any) -> Any:
            t = node * step
            fall = -2 * x * xp.sinh(t / 2) ** 2
            wave = xp.exp(fall + v * t) + parity * xp.exp(fall - v * t)
            return t**self.n * wave / 2

        nodes = np.arange(self.NODES + 1.0)
        integral = weighted_sum(xp, integrand, nodes, np.where(nodes == 0, 0.5, 1.0), end)
        return xp.where(x > 0, step * integral, xp.nan)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_v, t_x), (v, x) = tangents, operands
        terms = []
        if t_v is not None:
            terms.append(t_v * MacdonaldByOrder(self.n + 1)(v, x))
        if t_x is not None:
            terms.append(t_x * (out - neighbours(self, v, x, 1)))
        return total(terms)


def by_order(name: str, scaled: bool) -> Rule:
    """Return the rule of the order of `kv` and `kve`."""

    def partial(t: Any, out: Any, v: Any, x: Any) -> Any:
        if is_complex(x):
            return no_derivative(name, "the order v at complex x", "")()
        slope = MacdonaldByOrder(1)(v, x)
        return t * (slope if scaled else slope * exp(-x))

    return partial


kv: Function = special(
    "kv", by_order("kv", False), lambda t, out, v, x: t * -neighbours(kv, v, x, 1)
)
kve: Function = special(  # scaled by exp(x)
    "kve", by_order("kve", True), lambda t, out, v, x: t * (out - neighbours(kve, v, x, 1))
)

# Of orders 0 and 1: DLMF 10.6.3 and 10.29.3; the derivative of order 1 in a form that is good at 0.


def half(f: Any, g: Any, x: Any, sign: int) -> Any:
    """Return (f_0(x) + sign f_2(x)) / 2, for `f` of order 0 and `g` of any order."""
    first, second = f(x), g(constant(2, x), x)
    return (first + second if sign > 0 else first - second) / 2


j0: Function = special("j0", lambda t, out, x: t * -j1(x))
j1: Function = special("j1", lambda t, out, x: t * half(j0, jv, x, -1))
y0: Function = special("y0", lambda t, out, x: t * -y1(x))
y1: Function = special("y1", lambda t, out, x: t * half(y0, yv, x, -1))
i0: Function = special("i0", lambda t, out, x: t * i1(x))
i1: Function = special("i1", lambda t, out, x: t * half(i0, iv, x, 1))
i0e: Function = special("i0e", lambda t, out, x: t * (i1e(x) - sign(x) * out))
i1e: Function = special("i1e", lambda t, out, x: t * (half(i0e, ive, x, 1) - sign(x) * out))
k0: Function = special("k0", lambda t, out, x: t * -k1(x))
k1: Function = special("k1", lambda t, out, x: t * -half(k0, kv, x, 1))
k0e: Function = special("k0e", lambda t, out, x: t * (out - k1e(x)))
k1e: Function = special("k1e", lambda t, out, x: t * (out - half(k0e, kve, x, 1)))
# Of integer orders, which SciPy's loop takes as integers or floating-point numbers.
kn: Function = special(
    "kn",
    order("kn"),
    lambda t, out, n, x: t * -neighbours(kv, cast(n, x), x, 1),
)
yn: Function = special(
    "yn", order("yn"), lambda t, out, n, x: t * neighbours(yv, cast(n, x), x, -1)
)


@primitive
class SphericalBessel(Elementwise):
    """j_n(x) or y_n(x) (`kind` "jn" or "yn"), i_n(x) or k_n(x) ("in" or "kn"), of integer order n.

    Derivatives: DLMF 10.51.1 and 10.51.4.
    """

    kind: str

    def result_dtype(self, *dtypes: DType) -> DType:
        if dtypes[0].kind not in "iu" or dtypes[1].kind not in "fc":
            raise TypeError(
                f"spherical_{self.kind} takes an integer order and a number, got {dtypes}"
            )
        return dtypes[1]

    def impl(self, xp: Any, n: Any, x: Any) -> Any:
        return library(xp, f"spherical_{self.kind}")(n, x).astype(x.dtype)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        t, (n, x) = tangents[1], operands
        # +-(n f_(n-1) +- (n+1) f_(n+1)) / (2n + 1); for n = 0 the first has the factor 0.
        below = cast(n, x) * self(maximum(n - 1, zeros_like(n)), x)
        above = cast(n + 1, x) * self(n + 1, x)
        total = below - above if self.kind in ("jn", "yn") else below + above
        return t * ((-total if self.kind == "kn" else total) / cast(2 * n + 1, x))


# Airy functions: w'' = x w (DLMF 9.2.1).

airy_ai: Function = special("airy", lambda t, out, x: t * airy_aip(x), label="airy_ai", result=0)
airy_aip: Function = special(
    "airy", lambda t, out, x: t * (x * airy_ai(x)), label="airy_aip", result=1
)
airy_bi: Function = special("airy", lambda t, out, x: t * airy_bip(x), label="airy_bi", result=2)
airy_bip: Function = special(
    "airy", lambda t, out, x: t * (x * airy_bi(x)), label="airy_bip", result=3
)
