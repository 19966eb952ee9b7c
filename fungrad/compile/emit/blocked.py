"""Products of matrices that are not small, of copies that stay in caches.

As in K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), the sums of a tile stay in registers, some columns
of the second matrix, a strip, in the nearest cache, for as many terms as fit. A strip is copied: rows that are far apart would push each other out of the
cache. Of the first matrix a tile's rows are read one element after the other; where these lie apart, they are copied too.
"""

from __future__ import annotations

from collections.abc import Iterator

from fungrad.compile.emit.places import Place
from fungrad.compile.emit.tiles import Matrix, Tiles
from fungrad.compile.emit.types import splat
from fungrad.compile.kernels.products import parts_of, tile
from fungrad.compile.processor import VECTOR_BYTES
from fungrad.core.types import ArrayType

STRIP = 1 << 15
"""Bytes of a strip."""


def _evenly(length: int, most: int) -> int:
    """Return a length of which there is a whole number in another one, at most `most`, if one is near that: what is left takes lines of its own."""
    fewest = -(-length // most)
    return next((length // n for n in range(fewest, 2 * fewest + 1) if length % n == 0), most)


class Blocked(Tiles):
    """Writes one product."""

    def write(self, a: Matrix, b: Matrix, out: Matrix) -> None:
        """Write it for some of the columns after others, or for some of the rows."""
        self.rows, vectors = tile()
        self.lanes = VECTOR_BYTES // self.dtype.itemsize
        self.width = vectors * self.lanes
        terms = _evenly(a.columns, STRIP // (vectors * VECTOR_BYTES))
        cut = parts_of(a.rows, b.columns, a.columns, self.width, turned=a.along != 1)
        with self.to.in_parts(cut.number) as k:
            if cut.by_columns:
                length = out.columns // cut.number
                first = self.to.offset([(k, length)])
                b, out = [self.part(x, "0", x.rows, first, length) for x in (b, out)]
            else:
                length = out.rows // cut.number
                first = self.to.offset([(k, length)])
                a, out = [self.part(x, first, length, "0", x.columns) for x in (a, out)]
            self.strip = self._room(terms, self.width)
            self.corner = self._room(self.rows, self.lanes)
            self.panels = self._room(a.rows, terms) if a.along != 1 else None
            if terms < a.columns:
                self._clear(out)
            for start, count in self.to.blocks(a.columns, terms):
                here = self.part(a, "0", a.rows, start, count)
                there = self.part(b, start, count, "0", b.columns)
                self._by_strips(here, there, out, add=terms < a.columns)

    def _room(self, rows: int, columns: int) -> Place:
        return self.to.new(ArrayType((rows, columns), self.dtype))

    def _clear(self, out: Matrix) -> None:
        to, dtype = self.to, self.dtype
        with to.loop(out.rows) as i:
            for j, count in to.along(out.columns, self.lanes):
                offset = to.offset([(i, out.down), (j, 1)])
                to.write(splat(0, dtype, count), dtype, out.place.pointer, offset, count)

    def _by_strips(self, a: Matrix, b: Matrix, out: Matrix, add: bool) -> None:
        if self.panels is not None:
            self._copy_panels(a, self.panels)
        whole = b.columns // self.lanes * self.lanes
        for first, width in self.to.blocks(whole, self.width):
            strip = self._copied(self.part(b, "0", b.rows, first, width), width)
            for row, panel in self._panels(a):
                there = self.part(out, row, panel.rows, first, width)
                self.tile(panel, strip, there, self.lanes, add)
        if left := b.columns - whole:
            # A vector with the last column again and again: of other numbers there might be floating-point errors.
            strip = self._copied(self.part(b, "0", b.rows, str(whole), left), self.lanes)
            for row, panel in self._panels(a):
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

    def _panels(self, a: Matrix) -> Iterator[tuple[str, Matrix]]:
        """Yield rows for a tile, and where they begin: as they are, or from where they are copied to, term by term."""
        for row, rows in self.to.blocks(a.rows, self.rows):
            panel = self.part(a, row, rows, "0", a.columns)
            yield row, panel if self.panels is None else self._panel(self.panels, row, panel)

    def _panel(self, room: Place, row: str, of: Matrix) -> Matrix:
        place = self.to.part(room, self.to.offset([(row, of.columns)]), room.type.shape, ())
        return Matrix(place, of.rows, of.columns, 1, of.rows)

    def _copy_panels(self, a: Matrix, room: Place) -> None:
        for row, rows in self.to.blocks(a.rows, self.rows):
            source = self.part(a, row, rows, "0", a.columns)
            target = self._panel(room, row, source)
            lanes = rows if source.down == 1 else 1
            with self.to.loop(a.columns) as k:
                for i in map(str, range(0, rows, lanes)):
                    self._put(target, i, k, self.at(source, i, k, lanes), lanes)
