"""Products of matrices that are not small, of copies that stay in caches: one function of any sizes.

As in K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), the sums of a tile stay in registers, some columns
of the second matrix, a strip, in the nearest cache, for as many terms as fit. A strip is copied: rows that are far apart would push each other out of the
cache. Of the first matrix the rows of a tile, a panel, are read in place; where these lie apart, or their elements do, they are copied too.

The function takes the sizes when it is called, so it is compiled once a process for each dtype, and kept on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fungrad.compile.emit.function import Function
from fungrad.compile.emit.llvm_prelude import Table, declarations
from fungrad.compile.emit.places import Place
from fungrad.compile.emit.tiles import Matrix
from fungrad.compile.emit.traced import I64, Around, Code, Ptr, Value, Variable, definition
from fungrad.compile.emit.types import scalar_type, splat, vector_type
from fungrad.compile.evenly import evenly
from fungrad.compile.kernels.operations import DType
from fungrad.compile.kernels.products import Tile, parts_of, tile
from fungrad.compile.processor import VECTOR_BYTES
from fungrad.core.types import ArrayType

STRIP = 1 << 15
"""Bytes of a strip."""
BLOCK = 84
"""Rows copied at once, in tiles, before they meet the columns: the next cache has room for them."""
LINE = 16
"""Terms of a column that are copied together: a line of the cache has so many, or half."""
SIZES = (
    "rows", "columns", "terms", "a_down", "a_along", "b_down", "b_along", "depth", "parts",
    "by_columns", "copies", "most",
)  # fmt: skip
"""Numbers that a product is given: of a part's terms, of the parts, of the panels copied at once."""
PRODUCT = "product"


def write_product(to: Function, dtype: DType, a: Matrix, b: Matrix, out: Matrix) -> None:
    """Write the call that multiplies matrices, in parts that threads may share."""
    rows, vectors = tile()
    width = vectors * VECTOR_BYTES // dtype.itemsize
    depth = evenly(a.columns, STRIP // (vectors * VECTOR_BYTES))
    cut = parts_of(a.rows, b.columns, a.columns, dtype.itemsize, turned=a.along != 1)
    panels = -(-a.rows // rows)
    most = panels if cut.by_columns else min(BLOCK, panels)

    def room(rows: int, columns: int) -> Place:
        return to.new(ArrayType((rows, columns), dtype))

    strip, corner = room(depth, width), room(rows, width)
    copy = room((most if cut.copied else 1) * rows, depth)
    numbers = (
        a.rows, b.columns, a.columns, a.down, a.along, b.down, b.along, depth, cut.number,
        cut.by_columns, cut.copied, most,
    )  # fmt: skip
    name = f"@sizes{len(to.definitions)}"
    listed = ", ".join([f"i64 {int(n)}" for n in numbers])
    to.definitions.append(f"{name} = private constant [{len(SIZES)} x i64] [{listed}], align 8\n")
    with to.in_spans(cut.number) as (first, last):
        places = [x.pointer for x in (a.place, b.place, out.place, strip, corner, copy)]
        given = ", ".join([f"ptr {x}" for x in (*places, name)])
        to.outside(f"{PRODUCT} {dtype.name}", f"{given}, i64 {first}, i64 {last}")


class _Panels(NamedTuple):
    """Rows of the first matrix for tiles: address of the first, and distances of rows and of terms."""

    first: Value
    down: Value
    along: Value


class _Product:
    """Writer of the function of one dtype."""

    def __init__(
        self, to: Code, dtype: DType, tile: Tile, places: list[Value], sizes: Value
    ) -> None:
        self.to, self.dtype = to, dtype
        self.a, self.b, self.out, self.strip, self.corner, self.copy = places
        self.one = scalar_type(dtype)
        self.tile_rows, self.tile_vectors = tile
        self.lanes = VECTOR_BYTES // dtype.itemsize
        self.width = self.tile_vectors * self.lanes
        numbers = {name: sizes.number(k) for k, name in enumerate(SIZES)}
        self.rows, self.columns, self.terms = [numbers[n] for n in SIZES[:3]]
        self.a_down, self.a_along, self.b_down, self.b_along = [numbers[n] for n in SIZES[3:7]]
        self.depth, self.parts, self.by_columns, self.copies, self.most = [
            numbers[n] for n in SIZES[7:]
        ]

    def write(self, first: Value, last: Value) -> None:
        """Write some of the parts: of the columns, one after the other, or of the panels at once."""
        to, zero = self.to, self.to.value(0)
        panels, length = self.of(self.rows + (self.tile_rows - 1), self.tile_rows), self.columns
        by_columns = self.by_columns != 0
        part = self.of(length, self.parts)
        begin, end = [self.of(k * panels, self.parts) for k in (first, last)]
        with self.steps(first, to.select(by_columns, last, first + 1), 1) as k:
            self._terms(
                to.select(by_columns, zero, begin),
                to.select(by_columns, panels, end),
                to.select(by_columns, k * part, zero),
                to.select(by_columns, part, length),
            )

    def of(self, x: Value, y: Value | int) -> Value:
        """Return a quotient of sizes."""
        return x.operate("udiv", y)

    def least(self, x: Value, y: Value | int) -> Value:
        return self.to.select(x < y, x, y if isinstance(y, Value) else self.to.value(y))

    @contextmanager
    def steps(self, first: Value, end: Value, by: Value | int) -> Iterator[Value]:
        """Run the code added in the block for `first`, `first` + `by`, ... below an end."""
        place = Variable(first)
        with self.to.repeated() as leave:
            now = place.get()
            with self.to.when(now >= end):
                leave()
            place.set(now + by)
            yield now

    def _terms(self, begin: Value, end: Value, first: Value, columns: Value) -> None:
        """Write the products of some panels and columns, for some of the terms after others."""
        most = self.to.select(self.copies != 0, self.most, end)
        with self.steps(self.to.value(0), self.terms, self.depth) as term:
            depth = self.least(self.terms - term, self.depth)
            with self.steps(begin, end, most) as panel:
                stop = self.least(panel + most, end)
                self._copy_panels(panel, stop, term, depth)
                left = Variable(columns)
                with self.to.repeated() as leave:
                    columns_left = left.get()
                    with self.to.when(columns_left == 0):
                        leave()
                    few = columns_left < self.width
                    width = self.to.select(few, self.lanes, self.to.value(self.width))
                    taken = self.least(columns_left, width)
                    left.set(columns_left - taken)
                    column = first + columns - columns_left
                    self._strip(panel, stop, term, depth, column, taken, width)

    # The first matrix

    def _copy_panels(self, begin: Value, end: Value, term: Value, depth: Value) -> None:
        """Copy panels, term by term; in place, only the last, if it has fewer rows than a tile."""
        to, whole = self.to, self.of(self.rows, self.tile_rows)
        first = to.select(self.copies != 0, begin, to.select(begin < whole, whole, begin))
        with self.steps(first, end, 1) as panel:
            target = self._copy_of(panel, begin)
            row = panel * self.tile_rows
            source = self.a.at(row * self.a_down + term * self.a_along, self.one)
            beside = (self.a_down == 1) & (panel < whole)
            with to.when(beside), to.each(depth) as k:
                vector = self._load(source.at(k * self.a_along, self.one), self.tile_rows)
                self._store(vector, target.at(k * self.tile_rows, self.one))
            lacking = [self.least(row + i, self.rows - 1) - row for i in range(self.tile_rows)]
            sources = [source.at(k * self.a_down, self.one) for k in lacking]
            with to.when(~beside), to.each(depth) as k:
                for i, place in enumerate(sources):
                    value = place.at(k * self.a_along, self.one).load(self.one)
                    target.at(k * self.tile_rows + i, self.one).store(value)

    def _load(self, place: Value, lanes: int) -> Value:
        """Return a vector in memory."""
        vector = f"<{lanes} x {self.one}>"
        text = f"load {vector}, {place}, align {self.dtype.alignment}"
        return Value(self.to, vector, self.to.emit(text))

    def _store(self, value: Value, place: Value) -> None:
        self.to.do(f"store {value}, {place}, align {self.dtype.alignment}")

    def _copy_of(self, panel: Value, begin: Value) -> Value:
        """Return the address of the copy of a panel: the one of fewer rows has the first place."""
        place = self.to.select(self.copies != 0, panel - begin, self.to.value(0))
        return self.copy.at(place * self.depth * self.tile_rows, self.one)

    def _panel(self, panel: Value, begin: Value, term: Value, rows: Value) -> _Panels:
        """Return a panel, copied or in place."""
        to, one = self.to, self.to.value(1)
        copied = (self.copies != 0) | (rows < self.tile_rows)
        place = self.a.at(panel * self.tile_rows * self.a_down + term, self.one)
        first = to.select(copied, self._copy_of(panel, begin), place)
        along = to.select(copied, to.value(self.tile_rows), one)
        return _Panels(first, to.select(copied, one, self.a_down), along)

    # The second matrix

    def _strip(
        self,
        begin: Value,
        end: Value,
        term: Value,
        depth: Value,
        column: Value,
        columns: Value,
        width: Value,
    ) -> None:
        """Write the products of panels and of some columns, for which there is a strip of `width`."""
        to = self.to
        self._copy_columns(term, depth, column, columns, width)
        with self.steps(begin, end, 1) as panel:
            row = panel * self.tile_rows
            rows = self.least(self.rows - row, self.tile_rows)
            whole = (rows == self.tile_rows) & (columns == width)
            there = self.out.at(row * self.columns + column, self.one)
            out = to.select(whole, there, self.corner)
            down = to.select(whole, self.columns, width)
            a = self._panel(panel, begin, term, rows)
            add = ((term != 0) & whole).cast("zext", "i64")
            given = a.first, self.strip, out, a.down, a.along, down, depth, add
            for vectors in sorted({1, self.tile_vectors}):
                with to.when(width == vectors * self.lanes):
                    to.call_at(f"@tile{vectors}", "void", *given)
            with to.when(~whole):
                self._give(there, rows, columns, width, term != 0)

    def _copy_columns(
        self, term: Value, depth: Value, column: Value, columns: Value, width: Value
    ) -> None:
        """Copy columns to the strip: row after row, or a line of each; the last again for those that lack.

        Of other numbers than those there might be floating-point errors.
        """
        to, one, strip = self.to, self.one, self.strip
        source = self.b.at(term * self.b_down + column * self.b_along, one)
        beside = (self.b_along == 1) & (columns == width)
        with (
            to.when(beside),
            to.each(depth) as k,
            self.steps(to.value(0), width, self.lanes) as j,
        ):
            row = self._load(source.at(k * self.b_down + j, one), self.lanes)
            self._store(row, strip.at(k * width + j, one))
        with (
            to.when(~beside),
            self.steps(to.value(0), depth, LINE) as first,
            to.each(width) as j,
        ):
            column = source.at(self.least(j, columns - 1) * self.b_along, one)

            def copy(first: Value, terms: int) -> None:
                here, there = (
                    column.at(first * self.b_down, one),
                    strip.at(first * width + j, one),
                )
                for _ in range(terms):
                    there.store(here.load(one))
                    here, there = here.at(self.b_down, one), there.at(width, one)

            line = first + LINE <= depth
            with to.when(line):
                copy(first, LINE)
            with to.when(~line), self.steps(first, depth, 1) as k:
                copy(k, 1)

    def _give(self, there: Value, rows: Value, columns: Value, width: Value, add: Value) -> None:
        """Set elements to those of the corner, or add these."""
        to, one = self.to, self.one
        with to.each(rows) as i, to.each(columns) as j:
            target = there.at(i * self.columns + j, one)
            value = Variable(self.corner.at(i * width + j, one).load(one))
            with to.when(add):
                sum_ = to.compute("add", self.dtype, target.load(one).name, value.get().name)
                value.set(Value(to, one, sum_))
            target.store(value.get())


def _tile(dtype: DType, rows: int, vectors: int) -> tuple[str, set[str]]:
    """Return the function that writes the products of a panel and a strip, or adds them to `out`."""
    lanes, one = VECTOR_BYTES // dtype.itemsize, scalar_type(dtype)
    vector = vector_type(dtype, lanes)

    def sums(
        to: Code, a: Ptr, strip: Ptr, out: Ptr, down: I64, along: I64, out_down: I64, terms: I64, add: I64
    ) -> None:  # fmt: skip
        def place(x: Value, j: int) -> str:
            return f"{x.at(j * lanes, one)}, align {dtype.alignment}"

        keys = [(i, j) for i in range(rows) for j in range(vectors)]
        found = {key: Variable(Value(to, vector, splat(0, dtype, lanes))) for key in keys}
        starts = [a.at(down * i, one) for i in range(rows)]
        with to.each(terms) as k:
            strip_row = strip.at(k * (vectors * lanes), one)
            right = [to.emit(f"load {vector}, {place(strip_row, j)}") for j in range(vectors)]
            for i, start in enumerate(starts):
                value = start.at(k * along, one).load(one).name
                left = to.spread(value, dtype, lanes)
                for j in range(vectors):
                    sum_ = found[i, j]
                    new = to.compute("fma", dtype, left, right[j], sum_.get().name, lanes=lanes)
                    sum_.set(Value(to, vector, new))
        targets = [out.at(out_down * i, one) for i in range(rows)]
        with to.when(add != 0):
            for (i, j), sum_ in found.items():
                before = to.emit(f"load {vector}, {place(targets[i], j)}")
                new = to.compute("add", dtype, before, sum_.get().name, lanes=lanes)
                sum_.set(Value(to, vector, new))
        for (i, j), sum_ in found.items():
            to.do(f"store {sum_.get()}, {place(targets[i], j)}")

    types = ["void", "ptr", "ptr", "ptr", *["i64"] * 5]
    return definition(sums, Around(Table()), "noinline strictfp", f"tile{vectors}", types)


def product_assembly(dtype: DType, tile: Tile) -> str:
    """Return the function of products of a dtype, `PRODUCT`."""

    def inner(to: Code, *given: Value) -> None:
        *places, sizes, first, last = given
        _Product(to, dtype, tile, places, sizes).write(first, last)

    def product(to: Code, *given: Value) -> None:
        to.call_at("@inner", "void", *given)

    types = ["void", *["ptr"] * 7, "i64", "i64"]
    how = "noinline strictfp"
    found = [_tile(dtype, tile.rows, vectors) for vectors in sorted({1, tile.vectors})]
    found.append(definition(inner, Around(Table()), how, "inner", types))
    found.append(definition(product, Around(Table()), "", PRODUCT, types))
    needed = set[str]().union(*[x for _, x in found])
    return declarations(needed) + "".join([text for text, _ in found]) + Table().definition()
