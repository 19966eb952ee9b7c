"""Associated Legendre functions, as `jax.scipy.special.lpmn_values` has them."""

from __future__ import annotations

import math
from typing import Any

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import enter, leave


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Any:
    """Return the associated Legendre functions up to order `m` and degree `n`: (m + 1, n + 1, len(z)).

    They have the phase (-1)**m of Condon and Shortley. Normalized, they are those of spherical harmonics, which are
    orthonormal on the sphere, by recurrences of the normalized functions: these neither overflow nor underflow (S. A. Holmes and
    W. E. Featherstone, J. Geodesy 76, 2002).
    """
    x = fnp.asarray(enter(z))
    if x.dtype not in ("float32", "float64"):
        raise TypeError(f"z.dtype={x.dtype} is not supported, only float32 and float64 are")
    if x.ndim != 1:
        raise ValueError(f"z must be a 1D array, got shape {x.shape}")
    if m != n:
        raise NotImplementedError(f"computed for m == n alone, got m = {m}, n = {n}")
    sine = fnp.sqrt(1 - x * x)
    nothing = fnp.zeros_like(x)
    rows = []
    diagonal = fnp.full_like(x, math.sqrt(1 / (4 * math.pi)) if is_normalized else 1.0)
    for order in range(m + 1):
        if order:
            factor = math.sqrt(1 + 0.5 / order) if is_normalized else 2 * order - 1
            diagonal = -factor * sine * diagonal
        row = [nothing] * order + [diagonal]
        below, last = nothing, diagonal
        for degree in range(order + 1, n + 1):
            a, b = _factors(degree, order, is_normalized)
            below, last = last, a * x * last - b * below
            row.append(last)
        rows.append(fnp.stack(row))
    return leave(fnp.stack(rows))


def _factors(degree: int, order: int, is_normalized: bool) -> tuple[float, float]:
    """Return the factors of x and of the function two degrees below in the recurrence by degrees."""
    n, m = degree, order
    if not is_normalized:
        return (2 * n - 1) / (n - m), (n + m - 1) / (n - m)
    scale = (2 * n + 1) / ((n - m) * (n + m))
    b = scale * (n + m - 1) * (n - m - 1) / (2 * n - 3) if n > m + 1 else 0.0
    return math.sqrt(scale * (2 * n - 1)), math.sqrt(b)
