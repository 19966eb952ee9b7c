"""Parts of matrices, and the tiles that make up products."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from fungrad.compile.emit.function import Function
from fungrad.compile.emit.places import Place, Variable
from fungrad.compile.kernels.operations import DType

UNROLLED = 4
"""Terms of sums that are written without a loop."""


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


class Tiles:
    """Writer of products of a few rows and columns; without terms to add, of a column and a row."""

    def __init__(self, to: Function, dtype: DType, sums: bool = True) -> None:
        self.to = to
        self.dtype = dtype
        self.sums = sums

    def part(self, x: Matrix, row: str, rows: int, column: str, columns: int) -> Matrix:
        """Return some rows and columns."""
        offset = self.to.offset([(row, x.down), (column, x.along)])
        place = self.to.part(x.place, offset, x.place.type.shape, ())
        return Matrix(place, rows, columns, x.down, x.along)

    def at(self, x: Matrix, row: str, column: str, lanes: int = 1) -> str:
        """Return an element, or a vector of those that follow it in memory."""
        offset = self.to.offset([(row, x.down), (column, x.along)])
        return self.to.read(x.place.pointer, offset, self.dtype, lanes)

    def added(self, x: str, y: str, sum_: str, lanes: int) -> str:
        """Return x y + sum."""
        to, dtype = self.to, self.dtype
        if self.sums and dtype.kind == "f":
            return to.compute("fma", dtype, x, y, sum_, lanes=lanes)
        product = to.compute("mul", dtype, x, y, lanes=lanes)
        return to.compute("add", dtype, sum_, product, lanes=lanes) if self.sums else product

    def terms(self, count: int) -> Iterator[str]:
        """Go over the terms of sums."""
        if count <= UNROLLED:
            yield from map(str, range(count))
        else:
            with self.to.loop(count) as k:
                yield k

    def tile(self, a: Matrix, b: Matrix, out: Matrix, lanes: int, add: bool) -> None:
        """Write the products of a few rows and columns, or add them to `out`."""
        to, dtype = self.to, self.dtype
        columns = [str(j) for j in range(0, b.columns, lanes)]
        sums = {
            key: Variable(to, dtype, lanes) for key in itertools.product(range(a.rows), columns)
        }
        for k in self.terms(a.columns):
            right = {j: self.at(b, k, j, lanes) for j in columns}
            for i in range(a.rows):
                left = to.spread(self.at(a, str(i), k), dtype, lanes)
                for j in columns:
                    sums[i, j].set(self.added(left, right[j], sums[i, j].get(), lanes))
        for (i, j), sum_ in sums.items():
            value = sum_.get()
            offset = to.offset([(str(i), out.down), (j, 1)])
            if add:
                before = to.read(out.place.pointer, offset, dtype, lanes)
                value = to.compute("add", dtype, before, value, lanes=lanes)
            to.write(value, dtype, out.place.pointer, offset, lanes)
