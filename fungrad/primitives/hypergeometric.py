"""Hypergeometric functions, orthogonal polynomials, Legendre functions and spherical harmonics.

The derivative of each by its argument is again one of these functions, with shifted parameters, so any order is exact.
Derivatives by parameters have no closed form, and raise an error. DLMF is the NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import primitive
from fungrad.core.types import type_of
from fungrad.primitives.elementwise import cast, complex_, cos, maximum, mul, select, sin, sqrt
from fungrad.primitives.scipy_ufunc import constant, library, no_derivative, special
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.ufunc import DType, Elementwise, Function, Rule, total


def fixed(name: str, *operands: str) -> tuple[Rule, ...]:
    """Return a rule for each parameter, which raises that there is no derivative by it."""
    return tuple(no_derivative(name, operand) for operand in operands)


# Hypergeometric functions: DLMF 13.3.15, 13.3.22, 15.5.1, 16.3.1.

hyp0f1: Function = special(
    "hyp0f1",
    *fixed("hyp0f1", "the parameter v"),
    lambda t, out, v, z: mul(t, hyp0f1(v + 1, z) / v),
)
hyp1f1: Function = special(
    "hyp1f1",
    *fixed("hyp1f1", "the parameter a", "the parameter b"),
    lambda t, out, a, b, z: mul(t, a / b * hyp1f1(a + 1, b + 1, z)),
)
hyp2f1: Function = special(
    "hyp2f1",
    *fixed("hyp2f1", "the parameter a", "the parameter b", "the parameter c"),
    lambda t, out, a, b, c, z: mul(t, a * b / c * hyp2f1(a + 1, b + 1, c + 1, z)),
)
hyperu: Function = special(
    "hyperu",
    *fixed("hyperu", "the parameter a", "the parameter b"),
    lambda t, out, a, b, z: mul(t, -(a * hyperu(a + 1, b + 1, z))),
)


def gauss(a: float, b: float, c: float, z: Any) -> Any:
    """Return 2F1(a, b; c; z) for numbers a, b, c, which SciPy takes as real ones beside a complex z too."""
    real = np.zeros((), type_of(z).dtype).real.dtype
    like = z if type_of(z).dtype == real else z.real
    return hyp2f1(*[constant(p, like) for p in (a, b, c)], z)


def kummer(a: float, b: float, z: Any) -> Any:
    """Return 1F1(a; b; z) for numbers a, b and a real z."""
    return hyp1f1(constant(a, z), constant(b, z), z)


# Orthogonal polynomials: DLMF 18.9.15-18.9.28. For degree 0 the derivative is 0: a factor (n != 0), or n, makes it so, and
# `lower` keeps the formula from asking for a polynomial of degree -1.


def lower(n: Any) -> Any:
    """Return n - 1, and 0 for n = 0."""
    return select(n == 0, zeros_like(n), n - 1)


def parameters_like(x: Any, *values: float) -> list[Any]:
    """Return numbers as real parameters of a polynomial in `x`, in its precision."""
    like = x.real if type_of(x).dtype.kind == "c" else x
    return [constant(value, like) for value in values]


eval_jacobi: Function = special(
    "eval_jacobi",
    *fixed("eval_jacobi", "the degree n", "the parameter alpha", "the parameter beta"),
    lambda t, out, n, a, b, x: mul(
        t,
        cast(n != 0, x)
        * (cast(cast(n, a) + a + b + 1, x) / 2)
        * eval_jacobi(lower(n), a + 1, b + 1, x),
    ),
)
eval_legendre: Function = special(
    "eval_legendre",
    *fixed("eval_legendre", "the degree n"),
    lambda t, out, n, x: mul(
        t,
        cast(n != 0, x)
        * ((cast(n, x) + 1) / 2)
        * eval_jacobi(lower(n), *parameters_like(x, 1, 1), x),
    ),
)
eval_gegenbauer: Function = special(
    "eval_gegenbauer",
    *fixed("eval_gegenbauer", "the degree n", "the parameter alpha"),
    lambda t, out, n, a, x: mul(
        t, cast(n != 0, x) * cast(2 * a, x) * eval_gegenbauer(lower(n), a + 1, x)
    ),
)
eval_chebyt: Function = special(
    "eval_chebyt",
    *fixed("eval_chebyt", "the degree n"),
    lambda t, out, n, x: mul(t, cast(n, x) * eval_chebyu(lower(n), x)),
)
eval_chebyu: Function = special(
    "eval_chebyu",
    *fixed("eval_chebyu", "the degree n"),
    lambda t, out, n, x: mul(
        t, cast(n != 0, x) * 2 * eval_gegenbauer(lower(n), *parameters_like(x, 2), x)
    ),
)
eval_genlaguerre: Function = special(
    "eval_genlaguerre",
    *fixed("eval_genlaguerre", "the degree n", "the parameter alpha"),
    lambda t, out, n, a, x: mul(t, -(cast(n != 0, x) * eval_genlaguerre(lower(n), a + 1, x))),
)
eval_laguerre: Function = special(
    "eval_laguerre",
    *fixed("eval_laguerre", "the degree n"),
    lambda t, out, n, x: mul(
        t, -(cast(n != 0, x) * eval_genlaguerre(lower(n), *parameters_like(x, 1), x))
    ),
)
eval_hermite: Function = special(
    "eval_hermite",
    None,  # the degree is an integer, in both Hermite polynomials
    lambda t, out, n, x: mul(t, 2 * cast(n, x) * eval_hermite(lower(n), x)),
)
eval_hermitenorm: Function = special(
    "eval_hermitenorm",
    None,
    lambda t, out, n, x: mul(t, cast(n, x) * eval_hermitenorm(lower(n), x)),
)

# Legendre functions: DLMF 14.10.5, which has no value at x = +-1. Spherical harmonics: the ladder operators of angular
# momentum, L+- = exp(+-i phi) (+-d/dtheta + i cot(theta) d/dphi), give a derivative by theta that is regular at the poles.

lpmv: Function = special(
    "lpmv",
    *fixed("lpmv", "the order m", "the degree v"),
    lambda t, out, m, v, x: mul(
        t, (v * x * out - (v + m) * lpmv(m, v - 1, x)) / ((x - 1) * (x + 1))
    ),
)


@primitive
class SphericalHarmonic(Elementwise):
    """Y_n^m(theta, phi) for integers n, m and the polar and azimuthal angles, as `sph_harm_y`."""

    def result_dtype(self, *dtypes: DType) -> DType:
        n, m, theta, phi = dtypes
        if n.kind not in "iu" or m.kind not in "iu" or theta.kind != "f" or theta != phi:
            raise TypeError(f"sph_harm_y takes two integers and two real numbers, got {dtypes}")
        return np.result_type(theta, np.complex64)

    def impl(self, xp: Any, n: Any, m: Any, theta: Any, phi: Any) -> Any:
        harmonics = library(xp, "sph_harm_y")(n, m, theta, phi)
        if not target_of(xp).on_host:  # CuPy 14 has NaN where SciPy has 0
            harmonics = xp.where(abs(m) > n, 0, harmonics)
        return harmonics.astype(np.result_type(theta.dtype, np.complex64))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (_, _, t_theta, t_phi), (n, m, theta, phi) = tangents, operands
        terms = []
        if t_theta is not None:
            up, down = self._neighbour(n, m, 1, theta, phi), self._neighbour(n, m, -1, theta, phi)
            turn = complex_(cos(phi), -sin(phi))  # exp(-i phi)
            slope = (turn * up - turn.conj() * down) / 2
            terms.append(mul(cast(t_theta, out), slope))
        if t_phi is not None:
            terms.append(mul(cast(t_phi, out), 1j * (cast(m, out) * out)))
        return total(terms)

    def _neighbour(self, n: Any, m: Any, by: int, theta: Any, phi: Any) -> Any:
        """Return sqrt((n - s m) (n + s m + 1)) Y_n^(m + s), where s = `by` = +-1; 0 where |m + s| > n."""
        squared = cast((n - by * m) * (n + by * m + 1), theta)
        harmonic = self(n, m + by, theta, phi)
        return cast(sqrt(maximum(squared, zeros_like(squared))), harmonic) * harmonic
