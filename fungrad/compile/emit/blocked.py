"""Products of matrices that are not small, of copies that stay in caches.

As in K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), the sums of a tile stay in registers, some columns
of the second matrix, a strip, in the nearest cache, for as many terms as fit. A strip is copied: rows that are far apart would push each other out of the
cache. Of the first matrix a tile's rows are read one element after the other; where these lie apart, or such rows do, they are copied too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fungrad.compile.emit.function import I64
from fungrad.compile.emit.places import Place
from fungrad.compile.emit.tiles import Matrix, Tiles
from fungrad.compile.emit.types import splat
from fungrad.compile.evenly import evenly
from fungrad.compile.kernels.products import parts_of, tile
from fungrad.compile.processor import VECTOR_BYTES
from fungrad.core.types import ArrayType

STRIP = 1 << 15
"""Bytes of a strip."""
BLOCK = 84
"""Rows copied at once, in tiles, before they meet the columns: the next cache has room for them."""


class _Panels(NamedTuple):
    """Rows for tiles: those from a first up to a last, then the rest of the matrix if `rest` is 1."""

    first: str
    last: str
    rest: str


class Blocked(Tiles):
    """Writes one product."""

    def write(self, a: Matrix, b: Matrix, out: Matrix) -> None:
        """Write it for some of the columns after others, or for some of the rows."""
        to = self.to
        self.rows, vectors = tile()
        self.lanes = VECTOR_BYTES // self.dtype.itemsize
        self.width = vectors * self.lanes
        self.depth = evenly(a.columns, STRIP // (vectors * VECTOR_BYTES))
        self.strip = self._room(self.depth, self.width)
        self.corner = self._room(self.rows, self.lanes)
        cut = parts_of(a.rows, b.columns, a.columns, self.dtype.itemsize, turned=a.along != 1)
        panels = a.rows // self.rows
        self.most = panels if cut.by_columns else min(BLOCK, panels)
        self.copies = self._room((self.most + 1) * self.rows, self.depth) if cut.copied else None
        if cut.by_columns:
            with to.in_parts(cut.number) as k:
                length = out.columns // cut.number
                first = to.offset([(k, length)])
                b, out = [self.part(x, "0", x.rows, first, length) for x in (b, out)]
                self._write(a, b, out, _Panels("0", str(panels), "1"))
            return
        with to.in_spans(cut.number) as span:
            begin, end = [
                to.emit(f"udiv i64 {to.offset([(k, panels)])}, {cut.number}") for k in span
            ]
            ends = to.emit(f"icmp eq i64 {span[1]}, {cut.number}")
            self._write(a, b, out, _Panels(begin, end, to.emit(f"zext i1 {ends} to i64")))

    def _room(self, rows: int, columns: int) -> Place:
        return self.to.new(ArrayType((rows, columns), self.dtype))

    def _write(self, a: Matrix, b: Matrix, out: Matrix, panels: _Panels) -> None:
        """Write some of the rows."""
        add = self.depth < a.columns
        if add:
            self._clear(out, panels)
        for start, count in self.to.blocks(a.columns, self.depth):
            here = self.part(a, "0", a.rows, start, count)
            there = self.part(b, start, count, "0", b.columns)
            for block in self._blocks(panels):
                self._by_strips(here, there, out, block, add)

    def _clear(self, out: Matrix, panels: _Panels) -> None:
        to, dtype = self.to, self.dtype
        for row, rows in self._rows(panels, out.rows):
            with to.loop(rows) as i:
                for j, count in to.along(out.columns, self.lanes):
                    offset = to.offset([(row, out.down), (i, out.down), (j, 1)])
                    to.write(splat(0, dtype, count), dtype, out.place.pointer, offset, count)

    def _blocks(self, panels: _Panels) -> Iterator[_Panels]:
        """Yield as many panels as there is room for, then the next."""
        to = self.to
        if panels.first == "0":
            yield panels
            return
        count = to.emit(f"sub i64 {panels.last}, {panels.first}")
        rounds = to.emit(f"udiv i64 {to.plus(count, self.most - 1)}, {self.most}")
        with to.loop(rounds) as i:
            first = to.offset([(i, self.most), (panels.first, 1)])
            last = to.intrinsic("smin", I64, [to.plus(first, self.most), panels.last], 1)
            ends = to.emit(f"icmp eq i64 {last}, {panels.last}")
            rest = to.emit(f"select i1 {ends}, i64 {panels.rest}, i64 0")
            yield _Panels(first, last, rest)

    def _rows(self, panels: _Panels, rows: int) -> Iterator[tuple[str, int]]:
        """Yield where panels begin and how many rows they have: first those for a whole tile."""
        with self.to.loop(panels.last, panels.first) as k:
            yield self.to.offset([(k, self.rows)]), self.rows
        if rest := rows % self.rows:
            with self.to.loop(panels.rest, some=False):
                yield str(rows - rest), rest

    def _by_strips(self, a: Matrix, b: Matrix, out: Matrix, block: _Panels, add: bool) -> None:
        self._copy_panels(a, block)
        whole = b.columns // self.lanes * self.lanes
        for first, width in self.to.blocks(whole, self.width):
            strip = self._copied(self.part(b, "0", b.rows, first, width), width)
            for row, panel in self._panels(a, block):
                there = self.part(out, row, panel.rows, first, width)
                self.tile(panel, strip, there, self.lanes, add)
        if left := b.columns - whole:
            # A vector with the last column again and again: of other numbers there might be floating-point errors.
            strip = self._copied(self.part(b, "0", b.rows, str(whole), left), self.lanes)
            for row, panel in self._panels(a, block):
                corner = Matrix(self.corner, panel.rows, self.lanes, self.lanes, 1)
                self.tile(panel, strip, corner, self.lanes, False)
                self._give(corner, self.part(out, row, panel.rows, str(whole), left), add)

    def _give(self, corner: Matrix, out: Matrix, add: bool) -> None:
        """Set elements to those of a corner, or add these."""
        to, dtype = self.to, self.dtype
        for i in map(str, range(out.rows)):
            with to.loop(out.columns) as j:
                value = self.at(corner, i, j)
                if add:
                    value = to.compute("add", dtype, self.at(out, i, j), value, lanes=1)
                self._put(out, i, j, value)

    def _put(self, x: Matrix, row: str, column: str, value: str, lanes: int = 1) -> None:
        offset = self.to.offset([(row, x.down), (column, x.along)])
        self.to.write(value, self.dtype, x.place.pointer, offset, lanes)

    def _copied(self, columns: Matrix, width: int) -> Matrix:
        """Return a strip of so many columns: some, and the last of these again."""
        to = self.to
        copy = Matrix(self.strip, columns.rows, width, width, 1)
        if columns.along == 1 and width == columns.columns:
            with to.loop(columns.rows) as k:
                for j in map(str, range(0, width, self.lanes)):
                    self._put(copy, k, j, self.at(columns, k, j, self.lanes), self.lanes)
            return copy
        # One column after the other, and of each what a line of the cache has of it.
        for first, count in to.blocks(columns.rows, self.lanes):
            with to.loop(width) as j:
                at = j if width == columns.columns else to.clamped(j, columns.columns - 1)
                for term in [to.plus(first, i) for i in range(count)]:
                    self._put(copy, term, j, self.at(columns, term, at))
        return copy

    def _panels(self, a: Matrix, block: _Panels) -> Iterator[tuple[str, Matrix]]:
        """Yield rows for a tile, and their start: in place, or copied term by term."""
        for row, rows in self._rows(block, a.rows):
            yield row, self._copy_of(a, block, row, rows) or self.part(a, row, rows, "0", a.columns)

    def _copy_of(self, a: Matrix, block: _Panels, row: str, rows: int) -> Matrix | None:
        """Return where rows are copied to; None if they are not."""
        if self.copies is None:
            return None
        offset = self.to.offset([(row, a.columns), (block.first, -self.rows * a.columns)])
        place = self.to.part(self.copies, offset, self.copies.type.shape, ())
        return Matrix(place, rows, a.columns, 1, rows)

    def _copy_panels(self, a: Matrix, block: _Panels) -> None:
        if self.copies is None:
            return
        for row, rows in self._rows(block, a.rows):
            source = self.part(a, row, rows, "0", a.columns)
            target = self._copy_of(a, block, row, rows)
            assert target is not None
            lanes = rows if source.down == 1 else 1
            with self.to.loop(a.columns) as k:
                for i in map(str, range(0, rows, lanes)):
                    self._put(target, i, k, self.at(source, i, k, lanes), lanes)
