"""Products of matrices that are not large, within functions of LLVM's.

For small ones, calling BLAS takes longer than computing. Larger ones are parted among threads that end with them.
Those of BLAS wait for one another in a loop. Where another program has a processor, a product of a tenth of a
millisecond takes them a hundred.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Sequence

from fungrad.compile.emit.blocked import write_product
from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.places import Place, Unsupported, Variable
from fungrad.compile.emit.tiles import Matrix, Tiles
from fungrad.compile.emit.types import literal, splat
from fungrad.compile.kernels.access import in_order
from fungrad.compile.kernels.operations import Node
from fungrad.compile.kernels.products import is_medium, is_small
from fungrad.compile.processor import VECTOR_BYTES
from fungrad.primitives.contraction import DotGeneral

ROWS, VECTORS = 4, 2
"""Rows and vectors of columns that meet at once: their sums stay in registers."""
TERMS = 512
"""Terms of sums that are added up apart: the operands stay in a cache, and rounding grows no further."""


def dot_general(
    to: Function, primitive: DotGeneral, operands: Sequence[Place], targets: Targets
) -> Place:
    """Write the products of matrices, one for each index of the batch axes."""
    x, y = operands
    dtype = x.type.dtype
    free_x, free_y = primitive._free(x.type.ndim, y.type.ndim)
    pairs, stack = primitive.contracting, primitive.batch_axes
    terms = math.prod([x.type.shape[a] for a in pairs[0]])
    # Amid what is padded, rows lie apart.
    product = target = targets[0] if targets[0].is_in_order else to.new(targets[0].type)
    if not (is_small(primitive, x.type, target.type) or is_medium(primitive, x.type, y.type)):
        raise Unsupported(f"{primitive} of {x.type} and {y.type}")
    x = to.turned(x, (*stack[0], *free_x, *pairs[0]))
    y = to.turned(y, (*stack[1], *pairs[1], *free_y))
    n, k = len(stack[0]), len(pairs[0])
    x, y = _in_groups(to, x, n, len(free_x)), _in_groups(to, y, n, k)
    with contextlib.ExitStack() as entered:
        for length in target.type.shape[:n]:
            i = entered.enter_context(to.loop(length))
            x, y, target = to.row(x, i), to.row(y, i), to.row(target, i)
        rows, columns = x.type.shape[0], y.type.shape[1]
        a = Matrix(x, rows, terms, *x.strides)
        b = Matrix(y, terms, columns, *y.strides)
        out = Matrix(target, rows, columns, columns, 1)
        if is_medium(primitive, operands[0].type, operands[1].type):
            write_product(to, dtype, a, b, out)
        else:
            _Product(to, dtype, bool(pairs[0])).write(a, b, out)
    if product != targets[0]:
        to.move(targets[0], product)
    return targets[0]


def _in_groups(to: Function, x: Place, batch: int, count: int) -> Place:
    """Return an array whose axes after those of the batch are two: `count` of them joined, and the others."""
    ends = batch, batch + count, x.type.ndim
    for again in (False, True):
        if again:
            x = to.copy(x)
        joined = []
        for first, end in itertools.pairwise(ends):
            shape, strides = x.type.shape[first:end], x.strides[first:end]
            axes = [(n, s) for n, s in zip(shape, strides, strict=True) if n > 1]
            if any(a[1] != b[0] * b[1] for a, b in itertools.pairwise(axes)):
                break
            joined.append((math.prod(shape), axes[-1][1] if axes else 0))
        else:
            break
    shape, strides = zip(*joined, strict=True)
    return to.part(x, "0", (*x.type.shape[:batch], *shape), (*x.strides[:batch], *strides))


class _Product(Tiles):
    """Writes a small product."""

    def write(self, a: Matrix, b: Matrix, out: Matrix) -> None:
        if b.columns == 1 and a.down == 1:
            a, b, out = b.transposed, a.transposed, out.transposed
        few = a.rows < ROWS and a.along == b.down == 1
        if b.columns > 1 and (b.along == 1 or not few):
            self._by_columns(a, b if b.along == 1 else self._ordered(b), out)
            return
        if a.along != 1 and a.columns > 1:
            a = self._ordered(a)
        if b.down != 1 and b.rows > 1:
            b = self._ordered(b.transposed).transposed
        self._by_terms(a, b, out)

    def _ordered(self, x: Matrix) -> Matrix:
        """Return a copy whose rows lie one after the other."""
        shape = (x.rows, x.columns)
        copy = self.to.copy(self.to.part(x.place, "0", shape, (x.down, x.along)))
        return Matrix(copy, *shape, *in_order(shape))

    # Vectors along the columns

    def _by_columns(self, a: Matrix, b: Matrix, out: Matrix) -> None:
        """Add multiples of rows of the second matrix."""
        to, dtype = self.to, self.dtype
        lanes = VECTOR_BYTES // dtype.itemsize
        if a.columns <= TERMS:
            self._by_tiles(a, b, out, lanes)
            return
        with to.loop(out.rows) as i:
            for j, count in to.along(out.columns, lanes):
                offset = to.offset([(i, out.down), (j, 1)])
                to.write(splat(0, dtype, count), dtype, out.place.pointer, offset, count)
        for k, count in to.blocks(a.columns, TERMS):
            here = self.part(a, "0", a.rows, k, count)
            there = self.part(b, k, count, "0", b.columns)
            self._by_tiles(here, there, out, lanes, add=True)

    def _by_tiles(self, a: Matrix, b: Matrix, out: Matrix, lanes: int, add: bool = False) -> None:
        for done, vectors, each in self.to.runs(b.columns, lanes):
            for start, count in self.to.blocks(vectors, VECTORS * ROWS // min(a.rows, ROWS)):
                first = self.to.offset([(str(done), 1), (start, each)])
                columns = self.part(b, "0", b.rows, first, count * each)
                for row, rows in self.to.blocks(a.rows, ROWS):
                    here = self.part(a, row, rows, "0", a.columns)
                    there = self.part(out, row, rows, first, columns.columns)
                    self.tile(here, columns, there, each, add)

    # Vectors along the terms of sums

    def _by_terms(self, a: Matrix, b: Matrix, out: Matrix) -> None:
        """Multiply rows by columns."""
        to, dtype = self.to, self.dtype
        for row, rows in self.to.blocks(a.rows, ROWS):
            with to.loop(b.columns) as column:
                sums = self._sums(a, b, [self.to.plus(row, i) for i in range(rows)], column)
                for i, value in enumerate(sums):
                    terms = [(self.to.plus(row, i), out.down), (column, out.along)]
                    to.write(value, dtype, out.place.pointer, to.offset(terms))

    def _sums(self, a: Matrix, b: Matrix, rows: list[str], column: str) -> list[str]:
        to, dtype = self.to, self.dtype
        totals = [literal(0, dtype)] * len(rows)
        for done, count, lanes in to.runs(a.columns, VECTOR_BYTES // dtype.itemsize):
            sums = [Variable(to, dtype, lanes) for _ in rows]
            for k in self.terms(count):
                start = to.offset([(str(done), 1), (k, lanes)])
                right = self.at(b, start, column, lanes)
                for row, sum_ in zip(rows, sums, strict=True):
                    left = self.at(a, row, start, lanes)
                    sum_.set(self.added(left, right, sum_.get(), lanes))
            for i, sum_ in enumerate(sums):
                part = to.across(Node("reduce_sum", dtype), sum_.get(), lanes)
                whole = done or count * lanes < a.columns
                totals[i] = to.compute("add", dtype, totals[i], part) if whole else part
        return totals
