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
    if x.dtype.char not in "fd" or x.dtype != y.dtype or not x.ndim == y.ndim == 2:
        return False
    if primitive.batch_axes[0] or len(primitive.contracting[0]) != 1:
        return False
    terms = x.shape[primitive.contracting[0][0]]
    rows, columns = x.size // terms, y.size // terms
    fits = primitive.contracting[1] == (0,) or y.nbytes <= TURNED
    between = LARGEST < rows * columns * terms <= MOST
    return fits and between and min(rows, columns, terms) >= SHORTEST
