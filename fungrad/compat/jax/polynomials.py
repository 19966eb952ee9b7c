"""Functions of `jax.numpy` about polynomials, with lengths that depend on shapes alone."""

from __future__ import annotations

import math
from typing import Any

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import enter, leave
from fungrad.compat.jax.jnp import as_complex, as_inexact
from fungrad.numpy.at import at


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """Return the roots of a polynomial, which are complex."""
    return as_complex(fnp.roots(enter(p), strip_zeros=strip_zeros))


def polyder(p: Any, m: int = 1) -> Any:
    """Return the derivative of a polynomial, in its dtype of floating-point or complex numbers."""
    (a,) = as_inexact(p)
    return leave(fnp.polyder(a, m).astype(a.dtype))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return the product of two polynomials, with its leading zeros unless they are to be left out."""
    a, b = as_inexact(a1, a2)
    if trim_leading_zeros and max(len(a), len(b)) > 1:
        a, b = (fnp.trim_zeros(x, "f") for x in (a, b))
    a, b = (x if len(x) else fnp.zeros(1, x.dtype) for x in (a, b))
    return leave(fnp.convolve(a, b))


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return quotient and remainder of polynomials; the remainder keeps the length of `u` by default."""
    left, v = as_inexact(u, v)
    scale, quotient, n = 1.0 / v[0], [], len(v)
    for k in range(len(left) - n + 1):
        factor = scale * left[k]
        quotient.append(factor)
        place: Any = at(left)
        left = place[k : k + n].add(-factor * v)
    stacked = fnp.stack(quotient) if quotient else fnp.zeros(1, left.dtype)
    if trim_leading_zeros:
        large = fnp.abs(left) > math.sqrt(fnp.finfo(left.dtype).eps)
        left = left[int(fnp.argmax(large)) if bool(fnp.any(large)) else len(left) :]
    return leave(stacked), leave(left)
