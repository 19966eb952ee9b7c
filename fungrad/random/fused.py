"""Products and sums that are rounded once, as JAX's machine instructions for `uniform` round."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.primitives.bits import reinterpret
from fungrad.primitives.elementwise import stop_gradient

_HALF = float((1 << 27) + 1)
"""Factor that splits the digits of a float64 in halves."""


def multiply_add(x: Any, y: Any, z: Any) -> Any:
    """Return ``x * y + z``, rounded once in float32 or float64, with the plain derivative.

    S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd",
    IEEE Transactions on Computers 57, 2008.
    """
    plain = x * y + z
    if plain.dtype.itemsize < 4:
        return plain
    once = _single if plain.dtype.itemsize == 4 else _double
    exact = once(*[stop_gradient(v) for v in (x, y, z)])
    return plain + (exact - stop_gradient(plain))  # which are neighbours, so nothing is rounded


def _single(x: Any, y: Any, z: Any) -> Any:
    x, y, z = [v.astype(np.float64) for v in (x, y, z)]
    return _odd_sum(x * y, z).astype(np.float32)  # the product is exact


def _double(x: Any, y: Any, z: Any) -> Any:
    high, low = _product(x, y)
    top, rest = _sum(z, low)
    total, error = _sum(high, top)
    return total + _odd_sum(rest, error)


def _sum(x: Any, y: Any) -> tuple[Any, Any]:
    """Return a sum and its rounding error (D. E. Knuth, TAOCP 2, section 4.2.2)."""
    total = x + y
    of_y = total - x
    return total, (x - (total - of_y)) + (y - of_y)


def _product(x: Any, y: Any) -> tuple[Any, Any]:
    """Return a product and its rounding error (T. J. Dekker, Numerische Mathematik 18, 1971)."""
    product = x * y
    (x1, x0), (y1, y0) = _halves(x), _halves(y)
    return product, ((x1 * y1 - product) + x1 * y0 + x0 * y1) + x0 * y0


def _halves(x: Any) -> tuple[Any, Any]:
    large = x * _HALF
    high = large - (large - x)
    return high, x - high


def _odd_sum(x: Any, y: Any) -> Any:
    """Return the sum of float64 numbers, rounded to odd where it is not exact."""
    total, error = _sum(x, y)
    bits = reinterpret(total, np.dtype(np.int64))
    away = (error > 0) == (total > 0)
    step = fnp.where(away, np.int64(1), np.int64(-1))
    inexact_and_even = (error != 0) & ((bits & 1) == 0)
    return reinterpret(fnp.where(inexact_and_even, bits + step, bits), np.dtype(np.float64))


def is_exact(scale: Any) -> bool:
    """Whether products with a number are exact, short of an underflow: it is a power of 2, or 0."""
    mantissa, _ = np.frexp(np.float64(scale))
    return bool(mantissa in (0.0, 0.5, -0.5))
