"""Which products of matrices are not BLAS's."""

from __future__ import annotations

import math

from fungrad.compile.kernels.operations import DTYPES
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral

LARGEST = 1 << 18
"""Products of numbers up to which matrices are multiplied beside other things."""
MOST = 1 << 27
"""Products of numbers up to which two matrices are multiplied by themselves; what takes longer than some milliseconds is BLAS's."""
TURNED = 1 << 20
"""Bytes of the second matrix up to which it is copied, if its rows do not lie one after the other."""
SHORTEST = 16
"""Rows, columns and terms of those, at least."""


def is_small(primitive: DotGeneral, x: ArrayType, out: ArrayType) -> bool:
    """Whether products are of numbers, and few for each index of the batch axes."""
    terms = math.prod([x.shape[a] for a in primitive.contracting[0]])
    stack = math.prod([x.shape[a] for a in primitive.batch_axes[0]])
    numbers = out.dtype in DTYPES and out.dtype.kind != "b"
    return numbers and out.size * terms <= LARGEST * stack


def is_medium(primitive: DotGeneral, x: ArrayType, y: ArrayType) -> bool:
    """Whether a product of two matrices is too large for `is_small`, and not so large that BLAS's threads pay in any case."""
    (of_x, of_y), count = primitive.contracting, len(primitive.contracting[0])
    if x.dtype.char not in "fd" or x.dtype != y.dtype or primitive.batch_axes[0] or not count:
        return False
    leading = tuple(range(count))
    if of_x not in (leading, tuple(range(x.ndim - count, x.ndim))):
        return False
    if of_y != leading and (of_y != tuple(range(y.ndim - count, y.ndim)) or y.nbytes > TURNED):
        return False
    terms = math.prod([x.shape[a] for a in of_x])
    if not terms:
        return False
    rows, columns = x.size // terms, y.size // terms
    return LARGEST < rows * columns * terms <= MOST and min(rows, columns, terms) >= SHORTEST
