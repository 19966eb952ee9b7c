"""Which products of matrices are not BLAS's."""

from __future__ import annotations

import math
from typing import NamedTuple

from fungrad.compile.kernels.operations import DTYPES
from fungrad.compile.processor import VECTOR_BYTES, has_wide_registers
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral

LARGEST = 1 << 18
"""Products of numbers up to which matrices are multiplied beside other things."""
MEDIUM = 1 << 27
"""Products of numbers up to which two matrices are multiplied by themselves."""
MOST = 1 << 31
"""Most multiplications of products that are cut for threads; longer ones are BLAS's."""
SHORTEST = 16
"""Rows, columns and terms of those, at least."""
PARTS = 32
"""Into how many parts they are cut, at most."""
FEWEST = 64
"""How many rows a part has, at least: it copies columns for these alone."""
ENOUGH = 8
"""Column parts that are as good as more row parts, and strips of columns worth copying the rows."""
FAR = 1 << 11
"""Bytes that rows are apart, at least, that are copied: they would push each other out of the cache."""
WORTH = 4
"""Into how many parts those are cut that are more than medium, at least."""
PART = 1 << 23
"""Products of numbers that are worth a part, at least."""


class Tile(NamedTuple):
    """Rows of the first matrix and vectors of the second that meet at once: sums stay in registers."""

    rows: int
    vectors: int


def tile() -> Tile:
    """Return the tile of larger products: sums, a row of vectors and one more fill the registers."""
    return Tile(6, 4) if has_wide_registers() else Tile(6, 1)


class Parts(NamedTuple):
    """Number of parts of a product, whether along the columns, and whether the first's rows are copied."""

    number: int
    by_columns: bool
    copied: bool


def parts_of(rows: int, columns: int, terms: int, itemsize: int, turned: bool) -> Parts:
    """Return the parts of a product: along columns by multiples of a tile's width, or along rows.

    Of the second matrix each part copies its columns; of the first one its rows, if it is `turned`, with columns side by side, or if they are
    far apart and meet many columns. Cut along rows, each of them is copied once.
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
    """Whether products are of numbers, and few for each index of the batch axes."""
    terms = math.prod([x.shape[a] for a in primitive.contracting[0]])
    stack = math.prod([x.shape[a] for a in primitive.batch_axes[0]])
    numbers = out.dtype in DTYPES and out.dtype.kind != "b"
    return numbers and out.size * terms <= LARGEST * stack


def is_medium(primitive: DotGeneral, x: ArrayType, y: ArrayType) -> bool:
    """Whether a product is too large for `is_small`, but too small for BLAS's threads to pay anyway."""
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
