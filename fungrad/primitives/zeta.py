"""The Hurwitz zeta function with derivatives by both arguments, and the polygamma functions.

DLMF is the NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives.elementwise import cast, is_complex, mul, neg
from fungrad.primitives.scipy_ufunc import library, no_derivative
from fungrad.primitives.shaping import full
from fungrad.primitives.ufunc import DType, Elementwise, total

SHIFT = 12
TERMS = 14
BERNOULLI = [float(b) for b in scipy.special.bernoulli(2 * TERMS)[2::2]]


def times(x: list[Any], y: list[Any]) -> list[Any]:
    """Multiply two power series, each cut after as many terms as `x` has."""
    return [sum(x[j] * y[i - j] for j in range(i + 1) if i - j < len(y)) for i in range(len(x))]


def zeta_by_summation(xp: Any, s: Any, q: Any, n: int) -> Any:
    """Return the derivative, `n` times by s, of zeta(s, q), by Euler-Maclaurin summation.

    F. Johansson, "Rigorous high-precision computation of the Hurwitz zeta function and its derivatives",
    Numerical Algorithms 69 (2015): the formula, DLMF 25.11(iii), is computed with power series in s.
    """
    lowest = float(xp.min(q.real)) if q.size else 0.0
    shift = max(SHIFT, SHIFT - math.floor(lowest)) if math.isfinite(lowest) else SHIFT

    def power(base: Any) -> list[Any]:  # base^(-s - e) as a series in e
        first, slope = base**-s, -xp.log(base)
        return [first * slope**i / math.factorial(i) for i in range(n + 1)]

    total = [0 * q + 0 * s] * (n + 1)
    for k in range(shift):
        total = [a + b for a, b in zip(total, power(q + k), strict=True)]
    w = q + shift
    tail = power(w)
    pole = [(-1) ** i / (s - 1) ** (i + 1) for i in range(n + 1)]
    total = [a + b / 2 + w * c for a, b, c in zip(total, tail, times(tail, pole), strict=True)]
    rising = times(tail, [s, 1.0])  # the Pochhammer symbol (s)_(2j-1) times w^-s
    for j, bernoulli in enumerate(BERNOULLI, 1):
        factor = bernoulli / math.factorial(2 * j) * w ** (1 - 2 * j)
        total = [a + factor * b for a, b in zip(total, rising, strict=True)]
        rising = times(times(rising, [s + 2 * j - 1, 1.0]), [s + 2 * j, 1.0])
    return total[n] * math.factorial(n)


@primitive
class Zeta(Elementwise):
    """The derivative, `n` times by s, of zeta(s, q) = sum_k (q + k)^-s, for real s.

    For complex q, s is an integer.
    """

    n: int = 0

    def result_dtype(self, *dtypes: DType) -> DType:
        s, q = dtypes
        if s.kind != "f" or q.kind not in "fc" or s != np.zeros((), q).real.dtype:
            raise TypeError(f"zeta takes two floating-point numbers of one precision, got {dtypes}")
        return q

    def impl(self, xp: Any, s: Any, q: Any) -> Any:
        dtype = type_of(q).dtype
        if self.n == 0 and dtype.kind == "f":
            return library(xp, "zeta")(s, q)
        wide = np.result_type(dtype, np.float64)
        with np.errstate(all="ignore"):  # at poles, and NaN where a power is not real
            result = zeta_by_summation(xp, s.astype("f8"), q.astype(wide), self.n)
        return result.astype(dtype)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_s, t_q), (s, q) = tangents, operands
        terms = []
        if t_s is not None:
            if is_complex(q):
                no_derivative("zeta", "s at complex q")()
            terms.append(mul(t_s, Zeta(self.n + 1)(s, q)))
        if t_q is not None:  # of -s zeta(s + 1, q), n times by s: DLMF 25.11.17
            slope = cast(s, q) * Zeta(self.n)(s + 1, q)
            if self.n:
                slope = slope + self.n * Zeta(self.n - 1)(s + 1, q)
            terms.append(mul(t_q, neg(slope)))
        return total(terms)


def polygamma(n: int, x: Any) -> Any:
    """Return the derivative, `n` > 0 times, of the digamma function (DLMF 25.11.12)."""
    real = np.zeros((), type_of(x).dtype).real.dtype
    s = full(ArrayType(x.shape, real), n + 1)
    return (-1) ** (n + 1) * math.factorial(n) * Zeta()(s, x)
