"""Products of matrices that are not large, within functions of LLVM's.

For small ones, calling BLAS takes longer than computing. Larger ones are parted among threads that end with them: those of BLAS wait for one another in a loop, and
where another program has a processor, a product that takes a tenth of a millisecond takes a hundred.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fungrad.compile.emit.assembly import VECTOR_BYTES
from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.llvm_threads import PART
from fungrad.compile.emit.places import Place, Unsupported, Variable
from fungrad.compile.emit.types import literal, splat
from fungrad.compile.kernels.access import in_order
from fungrad.compile.kernels.operations import DType, Node
from fungrad.compile.kernels.products import is_medium, is_small
from fungrad.primitives.contraction import DotGeneral

PARTS = 8
"""Into how many parts the rows of larger ones are cut, at most."""
ROWS, VECTORS = 4, 2
"""How many elements of the first operand meet how many vectors of the second one at once: their sums stay in registers."""
UNROLLED = 4
"""Terms of sums that are written without a loop."""
TERMS = 512
"""Terms of sums that are added up by themselves: what they are of stays in a cache, and rounding grows no further."""


class Matrix(NamedTuple):
    """Numbers in rows and columns: where the first is, and how many elements neighbours are apart."""

    place: Place
    rows: int
    columns: int
    down: int
    along: int

    @property
    def transposed(self) -> Matrix:
        """The matrix with rows in place of columns."""
        return Matrix(self.place, self.columns, self.rows, self.along, self.down)


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
    found = target = targets[0] if targets[0].is_in_order else to.new(targets[0].type)
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
        product = _Product(to, dtype, bool(pairs[0]))
        if is_medium(primitive, operands[0].type, operands[1].type):
            product.write_in_parts(a, b, out)
        else:
            product.write(a, b, out)
    if found != targets[0]:
        to.move(targets[0], found)
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


class _Product:
    """Writes one product of matrices; without terms to be added, of a column and a row, it is one of numbers."""

    def __init__(self, to: Function, dtype: DType, sums: bool) -> None:
        self.to = to
        self.dtype = dtype
        self.sums = sums

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

    def write_in_parts(self, a: Matrix, b: Matrix, out: Matrix) -> None:
        """Write it for some of the rows after others."""
        if b.along != 1:
            b = self._ordered(b)
        most = max(min(PARTS, out.rows * out.columns * a.columns // (2 * PART)), 1)
        parts = next(n for n in range(most, 0, -1) if a.rows % n == 0)
        rows = a.rows // parts
        with self.to.in_parts(parts) as k:
            here = [
                x._replace(place=self.to.part(x.place, offset, x.place.type.shape, ()), rows=rows)
                for x in (a, out)
                for offset in [self.to.offset([(k, rows * x.down)])]
            ]
            self._by_columns(here[0], b, here[1])

    def _ordered(self, x: Matrix) -> Matrix:
        """Return a copy whose rows lie one after the other."""
        shape = (x.rows, x.columns)
        copy = self.to.copy(self.to.part(x.place, "0", shape, (x.down, x.along)))
        return Matrix(copy, *shape, *in_order(shape))

    def _at(self, x: Matrix, row: str, column: str, lanes: int = 1) -> str:
        offset = self.to.offset([(row, x.down), (column, x.along)])
        return self.to.read(x.place.pointer, offset, self.dtype, lanes)

    def _added(self, x: str, y: str, sum_: str, lanes: int) -> str:
        """Return x y + sum."""
        to, dtype = self.to, self.dtype
        if self.sums and dtype.kind == "f":
            return to.compute("fma", dtype, x, y, sum_, lanes=lanes)
        product = to.compute("mul", dtype, x, y, lanes=lanes)
        return to.compute("add", dtype, sum_, product, lanes=lanes) if self.sums else product

    def _terms(self, count: int) -> Iterator[str]:
        if count <= UNROLLED:
            yield from map(str, range(count))
        else:
            with self.to.loop(count) as k:
                yield k

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
        for k, count in self.to.blocks(a.columns, TERMS):
            here, there = [
                x._replace(place=to.part(x.place, to.offset([(k, step)]), x.place.type.shape, ()))
                for x, step in ((a, a.along), (b, b.down))
            ]
            self._by_tiles(here._replace(columns=count), there, out, lanes, add=True)

    def _by_tiles(self, a: Matrix, b: Matrix, out: Matrix, lanes: int, add: bool = False) -> None:
        for done, vectors, each in self.to.runs(b.columns, lanes):
            for start, count in self.to.blocks(vectors, VECTORS * ROWS // min(a.rows, ROWS)):
                first = self.to.offset([(str(done), 1), (start, each)])
                for row, rows in self.to.blocks(a.rows, ROWS):
                    self._tile(a, b, out, row, rows, first, count, each, add)

    def _tile(
        self,
        a: Matrix,
        b: Matrix,
        out: Matrix,
        row: str,
        rows: int,
        first: str,
        vectors: int,
        lanes: int,
        add: bool,
    ) -> None:
        to, dtype = self.to, self.dtype
        keys = itertools.product(range(rows), range(vectors))
        sums = {key: Variable(to, dtype, lanes) for key in keys}
        columns = [self.to.plus(first, j * lanes) for j in range(vectors)]
        for k in self._terms(a.columns):
            right = [self._at(b, k, column, lanes) for column in columns]
            for i in range(rows):
                left = to.spread(self._at(a, self.to.plus(row, i), k), dtype, lanes)
                for j in range(vectors):
                    sums[i, j].set(self._added(left, right[j], sums[i, j].get(), lanes))
        for (i, j), sum_ in sums.items():
            value = sum_.get()
            offset = to.offset([(self.to.plus(row, i), out.down), (columns[j], 1)])
            if add:
                before = to.read(out.place.pointer, offset, dtype, lanes)
                value = to.compute("add", dtype, before, value, lanes=lanes)
            to.write(value, dtype, out.place.pointer, offset, lanes)

    # Vectors along the terms of sums

    def _by_terms(self, a: Matrix, b: Matrix, out: Matrix) -> None:
        """Multiply rows by columns."""
        to, dtype = self.to, self.dtype
        for row, rows in self.to.blocks(a.rows, ROWS):
            with to.loop(b.columns) as column:
                found = self._sums(a, b, [self.to.plus(row, i) for i in range(rows)], column)
                for i, value in enumerate(found):
                    terms = [(self.to.plus(row, i), out.down), (column, out.along)]
                    to.write(value, dtype, out.place.pointer, to.offset(terms))

    def _sums(self, a: Matrix, b: Matrix, rows: list[str], column: str) -> list[str]:
        to, dtype = self.to, self.dtype
        totals = [literal(0, dtype)] * len(rows)
        for done, count, lanes in to.runs(a.columns, VECTOR_BYTES // dtype.itemsize):
            sums = [Variable(to, dtype, lanes) for _ in rows]
            for k in self._terms(count):
                start = to.offset([(str(done), 1), (k, lanes)])
                right = self._at(b, start, column, lanes)
                for row, sum_ in zip(rows, sums, strict=True):
                    left = self._at(a, row, start, lanes)
                    sum_.set(self._added(left, right, sum_.get(), lanes))
            for i, sum_ in enumerate(sums):
                part = to.across(Node("reduce_sum", dtype), sum_.get(), lanes)
                whole = done or count * lanes < a.columns
                totals[i] = to.compute("add", dtype, totals[i], part) if whole else part
        return totals
