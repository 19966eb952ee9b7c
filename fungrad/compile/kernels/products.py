"""Choice of matrix products that kernels compute instead of BLAS, and of their parts for threads."""

from __future__ import annotations

import math
from typing import NamedTuple

from fungrad.compile.kernels.operations import DTYPES
from fungrad.compile.processor import VECTOR_BYTES, has_wide_registers
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral

LARGEST = 1 << 18
"""Most multiplications of a product within a kernel or routine that computes other things, too."""
MEDIUM = 1 << 27
"""Most multiplications of a product that is always a kernel of its own."""
MOST = 1 << 31
"""Most multiplications of a product that is cut into parts for threads; longer ones are left to BLAS."""
SHORTEST = 16
"""Fewest rows, columns and terms of a product that is a kernel of its own."""
PARTS = 32
"""Most parts of a product."""
FEWEST = 64
"""Fewest rows of a part: it copies columns for these alone."""
ENOUGH = 8
"""Parts along columns that are as good as more along rows.

Also the strips of columns that pay for copying rows.
"""
FAR = 1 << 11
"""Fewest bytes between rows for which rows are copied: such rows evict each other from the cache."""
WORTH = 4
"""Fewest parts for which a product of more than `MEDIUM` multiplications is a kernel."""
PART = 1 << 23
"""Fewest multiplications of a part."""


class Tile(NamedTuple):
    """Block of a product whose sums stay in registers: rows of the first matrix by vectors of the second."""

    rows: int
    vectors: int


def tile() -> Tile:
    """Return the tile of larger products, which fills the registers: sums, a row of vectors, one more."""
    return Tile(6, 4) if has_wide_registers() else Tile(6, 1)


class Parts(NamedTuple):
    """Partition of a product: number of parts, whether along columns, and whether rows are copied first."""

    number: int
    by_columns: bool
    copied: bool


def parts_of(rows: int, columns: int, terms: int, itemsize: int, turned: bool) -> Parts:
    """Return the partition of a product: along columns by multiples of a tile's width, or along rows.

    Each part copies its columns of the second matrix. It copies its rows of the first matrix if that is transposed in memory (`turned`), or if rows are
    far apart and there are many columns. In a partition along rows, each row is copied once.
    """
    width = tile().vectors * VECTOR_BYTES // itemsize
    most = max(min(PARTS, rows * columns * terms // PART), 1)
    by_columns = next(n for n in range(most, 0, -1) if columns % (n * width) == 0 or n == 1)
    by_rows = max(min(most, rows // FEWEST), 1)
    far = terms * itemsize >= FAR and columns >= ENOUGH * width
    fewer_copies = (rows >= columns if turned else far) and by_rows >= min(by_columns, ENOUGH)
    if fewer_copies or by_columns < min(by_rows, ENOUGH):
        return Parts(by_rows, False, turned or far)
    return Parts(by_columns, True, turned)


def is_small(primitive: DotGeneral, x: ArrayType, out: ArrayType) -> bool:
    """Whether a product has at most `LARGEST` multiplications for each index of the batch axes."""
    terms = math.prod([x.shape[a] for a in primitive.contracting[0]])
    stack = math.prod([x.shape[a] for a in primitive.batch_axes[0]])
    numbers = out.dtype in DTYPES and out.dtype.kind != "b"
    return numbers and out.size * terms <= LARGEST * stack


def is_medium(primitive: DotGeneral, x: ArrayType, y: ArrayType) -> bool:
    """Whether a product is larger than `is_small` allows, but small enough that a kernel beats BLAS."""
    (of_x, of_y), count = primitive.contracting, len(primitive.contracting[0])
    if x.dtype.char not in "fd" or x.dtype != y.dtype or primitive.batch_axes[0] or not count:
        return False
    leading = tuple(range(count))
    for of, ndim in ((of_x, x.ndim), (of_y, y.ndim)):
        if of not in (leading, tuple(range(ndim - count, ndim))):
            return False
    terms = math.prod([x.shape[a] for a in of_x])
    if not terms:
        return False
    rows, columns = x.size // terms, y.size // terms
    work = rows * columns * terms
    if min(rows, columns, terms) < SHORTEST or not LARGEST < work <= MOST:
        return False
    cut = parts_of(rows, columns, terms, x.dtype.itemsize, turned=of_x == leading)
    return work <= MEDIUM or cut.number >= WORTH
