"""Functions of `scipy.special` that are no ufuncs: they check arguments, or take fixed numbers."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import scipy.special

from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy.dispatch import implements
from fungrad.numpy.plans import broadcast_shapes
from fungrad.numpy.promotion import apply, as_array, as_tracer, cast
from fungrad.numpy.promotion import broadcast_to as broadcast
from fungrad.primitives import gamma as g
from fungrad.primitives import hypergeometric as h
from fungrad.primitives import special as p
from fungrad.primitives.bessel import SphericalBessel
from fungrad.primitives.zeta import Zeta
from fungrad.scipy.special.sums import floating, implements_if_there

__all__ = [
    "comb", "factorial", "lambertw", "legendre_p", "multigammaln", "perm", "polygamma",
    "sph_harm_y", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "zeta",
]  # fmt: skip


def _aligned(name: str, *operands: Any) -> list[Any]:
    """Return operands as tracers of one shape, each of its own dtype."""
    operands = tuple(as_tracer(x) for x in operands)
    shape = broadcast_shapes(name, [type_of(x) for x in operands])
    return [broadcast(x, shape) for x in operands]


def _double(x: Any) -> Any:
    """Return `x` as a tracer of double precision, which these functions of SciPy compute in."""
    x = as_tracer(x)
    return cast(x, np.result_type(x.dtype, np.float64))


def _not_exact(name: str, exact: bool) -> None:
    if exact:
        raise TypeError(f"{name}: exact=True computes with Python integers, which cannot be traced")


# Gamma functions


@implements(scipy.special.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """Not differentiable by the order `n`, which is an integer."""
    n = as_array(n)
    if type(n) is Tracer and type_of(n).inexact:
        raise TypeError(f"polygamma: the order n is an integer, not {n.dtype}")
    order, x = _aligned("polygamma", n, _double(x))
    s = cast(order, x.real.dtype)
    higher = order != 0
    orders = np.where(higher, s, 1.0)
    sign = np.where(order % 2 == 0, -1.0, 1.0)
    scaled = sign * g.gamma(orders + 1) * Zeta()(orders + 1, x)
    return np.where(higher, scaled, g.digamma(x))


@implements(scipy.special.zeta)
def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Differentiable by both arguments."""
    if q is None:
        return apply(p.RiemannZeta(), floating(x))
    return apply(Zeta(), floating(x, q))


@implements(scipy.special.multigammaln)
def multigammaln(a: Any, d: Any) -> Any:
    d = operator.index(d)
    a = _double(a)
    terms = g.gammaln(np.expand_dims(a, -1) - np.arange(d).astype(a.dtype) / 2)
    return np.sum(terms, axis=-1) + d * (d - 1) * 0.25 * math.log(math.pi)


@implements(scipy.special.factorial)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Of real `n` it is the gamma function of n + 1."""
    _not_exact("factorial", exact)
    n = _double(n)
    if extend == "complex":
        return g.gamma(n + 1)
    inside = n >= 0
    return np.where(inside, g.gamma(np.where(inside, n, 0.0) + 1), 0.0)


@implements(scipy.special.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Where it is 0 because `k` is out of range, so are its derivatives."""
    _not_exact("comb", exact)
    N, k = floating(N, k)
    if repetition:
        return comb(N + k - 1, k)
    return _where_in_range("comb", N, k, g.binom)


@implements(scipy.special.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Where it is 0 because `k` is out of range, so are its derivatives."""
    _not_exact("perm", exact)
    N, k = floating(N, k)
    return _where_in_range("perm", N, k, lambda n, k: g.poch(n - k + 1, k))


def _where_in_range(name: str, n: Any, k: Any, function: Any) -> Any:
    n, k = _aligned(name, n, k)
    valid = (k <= n) & (n >= 0) & (k >= 0)
    return np.where(valid, function(np.where(valid, n, 2.0), np.where(valid, k, 1.0)), 0.0)


# Others


@implements(scipy.special.lambertw)
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """The branch `k` is one integer."""
    return p.LambertW(operator.index(k), float(tol))(cast(as_tracer(z), np.dtype(np.complex128)))


@implements_if_there("sph_harm_y")
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Regular at the poles too. `diff_n` is 0: ask a transform for derivatives."""
    _no_diff_n("sph_harm_y", diff_n)
    return h.SphericalHarmonic()(*_aligned("sph_harm_y", n, m, _double(theta), _double(phi)))


@implements_if_there("legendre_p")
def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """`diff_n` is 0: ask a transform for derivatives."""
    _no_diff_n("legendre_p", diff_n)
    return h.eval_legendre(*_aligned("legendre_p", n, _double(z)))[np.newaxis]


def _no_diff_n(name: str, diff_n: int) -> None:
    if diff_n:
        raise TypeError(
            f"{name}: diff_n cannot be used on traced arrays; take derivatives with fungrad.jvp"
        )


def _spherical(kind: str) -> Any:
    function = getattr(scipy.special, f"spherical_{kind}")

    @implements(function)
    def traced(n: Any, z: Any, derivative: bool = False) -> Any:
        if derivative:
            raise TypeError(
                f"spherical_{kind}: derivative=True cannot be used on traced arrays; take the derivative with fungrad.jvp"
            )
        x = as_tracer(z)
        values = SphericalBessel(kind)(*_aligned(f"spherical_{kind}", n, _double(x)))
        # SciPy's loops for single precision: for complex numbers, and one for real ones.
        single = x.dtype == np.complex64 or (kind == "kn" and x.dtype == np.float32)
        return cast(values, x.dtype) if single else values

    return traced


spherical_jn = _spherical("jn")
spherical_yn = _spherical("yn")
spherical_in = _spherical("in")
spherical_kn = _spherical("kn")
