"""Printing kernels that reduce the first axis: rows of the kernel are columns of a C-order array.

A vector is of as many rows, which are columns of that array. Some columns, a tile, are gone over from the first element to the last, in each pass;
what is reduced is in memory that stays in the nearest cache. So each column is added up in order, as NumPy adds them up.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator

from fungrad.compile.emit.reading import Index, Piece
from fungrad.compile.emit.types import identity, scalar_type, splat
from fungrad.compile.emit.writer import Writer
from fungrad.compile.kernels.kernel import REDUCTIONS, Kernel
from fungrad.compile.kernels.spaces import cone_of, merged, nodes_needed, passes
from fungrad.compile.processor import VECTOR_BYTES

TILE = 1 << 11
"""Bytes of a tile in each array, about."""
ALL_TILES = 1 << 14
"""Bytes of all that is kept of a tile, at most."""
CACHED = 1 << 18
"""Bytes of a tile, about, if there are several passes over it: later ones find it in a cache."""
NARROWEST = 4
"""How many vectors beside each other a tile is, at least, if there are so many."""
DEAR = 4
"""Operations from which a value that several passes need is kept, in the result's place."""
TOGETHER = 8
"""Elements of a column that are gone over at once, at most."""
TOGETHER_NODES = 128
"""How many operations on vectors that is, at most."""
FEWEST_TILES = 8
"""Least number of tiles of a kernel that threads share."""
SHARED = 1 << 23
"""How many operations on elements are worth that."""


Gives = list[tuple[int, int]]
"""Nodes, and the outputs where they are written."""


class Columns(Writer):
    """Vectors of the same element of several rows."""

    def __init__(self, kernel: Kernel, inline: bool, room: int) -> None:
        super().__init__(kernel, inline, room)
        *self.rows, self.column = merged(kernel, range(kernel.rows))
        self.inner = merged(kernel, range(kernel.rows, len(kernel.space)))
        self.parts = self.rows[0].length if self.rows else 1
        self.kept = self._kept()
        self.buffers: dict[int, str] = {}  # by node of the rows: what it is in a tile
        self.saved = self._saved()

    def _kept(self) -> list[int]:
        """Return nodes of rows that other passes need: reductions, outputs, operands of element nodes."""
        kernel = self.kernel
        kept = {output.node for output in kernel.outputs} | {*kernel.safe}
        needed = nodes_needed(kernel)
        for number in needed:
            node = kernel.nodes[number]
            if node.operation in REDUCTIONS:
                kept.update([number, *node.operands])
            later = kernel.of_elements[number]
            stage = kernel.stages[number]
            kept.update([i for i in node.operands if later or kernel.stages[i] < stage])
        rows = [n for n in sorted(kept & needed) if not kernel.of_elements[n]]
        return [n for n in rows if kernel.nodes[n].operation != "constant"]

    def _saved(self) -> dict[int, int]:
        """Return nodes of elements that later passes need, with the output in whose place they are kept."""
        kernel, stages = self.kernel, self.kernel.stages
        saved: dict[int, int] = {}
        later = {
            v
            for n in nodes_needed(kernel)
            for v in kernel.nodes[n].operands
            if kernel.of_elements[v]
            and stages[n] - (kernel.nodes[n].operation in REDUCTIONS) > stages[v]
        }
        cost = {v: kernel.weight_of(cone_of(kernel, [v], ())) for v in later}
        for k, output in enumerate(kernel.outputs):
            last = output.of_elements and stages[output.node] == kernel.last_pass
            if not last or k in kernel.over:
                continue
            dtype = output.type.dtype
            fitting = [v for v in later - {*saved} if kernel.nodes[v].dtype == dtype]
            best = max(fitting, key=lambda v: (cost[v], v), default=-1)
            if best >= 0 and cost[best] > DEAR:
                saved[best] = k
        return saved

    def body(self) -> None:
        kernel = self.kernel
        lanes = self.lanes_for([*nodes_needed(kernel)], self.column.length)
        width = self._width(lanes)
        self.buffers = {
            n: self.allocate(f"[{width} x {scalar_type(kernel.nodes[n].dtype, True)}]")
            for n in self.kept
        }
        self.spilled_bytes = sum(width * kernel.nodes[n].dtype.itemsize for n in self.kept)
        rest = ""
        with self.over_rows(self.rows) as index:
            for piece in self.pieces(self.column):
                count = piece.length // width
                parted = not self.rows and not rest and count > 1
                if count:
                    with self.loop("%last", "%first") if parted else self.loop(count) as tile:
                        first = self.plus(self.offset([(tile, width)]), piece.first)
                        self._tile(index, piece, first, width, lanes)
                if parted:
                    self.parts = count
                    rest = self.if_last(count)
                if left := piece.length - count * width:
                    self._tile(index, piece, str(piece.first + count * width), left, lanes)
        if rest:
            self.do(f"br label %{rest}")
            self.label(rest)

    def _width(self, lanes: int) -> int:
        """Return how many columns a tile has: none but the last of a piece has fewer."""
        nodes = self.kernel.nodes
        size = sum(nodes[n].dtype.itemsize for n in self.kept)
        most = min(TILE // VECTOR_BYTES * lanes, min(ALL_TILES, self.room) // max(size, 1))
        if self.kernel.work >= SHARED and not self.rows:
            most = min(most, max(self.column.length // FEWEST_TILES, 2 * lanes))
        if self.kernel.last_pass:
            depth = math.prod([axis.length for axis in self.inner]) * VECTOR_BYTES // lanes
            most = min(most, max(CACHED // depth, NARROWEST * lanes))
        return min(max(most // lanes, 1) * lanes, self.column.length)

    def _vectors(self, width: int, lanes: int) -> Iterator[tuple[str, int]]:
        """Go over a tile: return the first column and the length of each vector."""
        return self.along(width, lanes, unrolled=0)  # nothing overlaps, so nothing counts twice

    def _tile(self, index: Index, piece: Piece, first: str, width: int, lanes: int) -> None:
        """Compute a tile: some columns, from `first` on."""
        kernel = self.kernel
        for stage, (nodes, sums, writes) in enumerate(passes(kernel)):
            self.go_over(piece, [])
            self._nodes(nodes, index, first, width, lanes)
            gives = [(kernel.outputs[k].node, k) for k in writes]
            saves = [(v, k) for v, k in self.saved.items() if kernel.stages[v] == stage]
            if sums or gives:
                roots = [kernel.nodes[number].operands[0] for number in sums]
                self.go_over(piece, roots + [v for v, _ in gives + saves])
                self._pass(sums, gives + saves, index, first, width, lanes)
            self.spilled |= {v: self.outputs[k] for v, k in saves}
        for j, size in self._vectors(width, lanes):
            here = [*index, (self.column, self.offset([(first, 1), (j, 1)]))]
            for k, output in enumerate(kernel.outputs):
                if not output.of_elements:
                    self.give(k, self._of_row(output.node, j, size), here, size)
            for number in kernel.safe:
                self.must_hold(self._of_row(number, j, size), size)
        self.spilled.clear()
        self.go_over(None, [])

    def _of_row(self, number: int, j: str, lanes: int) -> str:
        """Return the value of a node of rows in a vector of a tile."""
        node = self.kernel.nodes[number]
        if node.operation == "constant":
            return splat(node.value, node.dtype, lanes)
        return self.read(self.buffers[number], j, node.dtype, lanes)

    def _nodes(self, nodes: list[int], index: Index, first: str, width: int, lanes: int) -> None:
        """Compute nodes of rows, and keep some."""
        new = [n for n in nodes if self.kernel.nodes[n].operation not in ("constant", *REDUCTIONS)]
        if not new:
            return
        for j, size in self._vectors(width, lanes):
            here = [*index, (self.column, self.offset([(first, 1), (j, 1)]))]
            value = self._values(j, size)
            for number in new:
                value.known[number] = self.computed(number, here, size, value)
                if number in self.buffers:
                    dtype = self.kernel.nodes[number].dtype
                    self.write(value.known[number], dtype, self.buffers[number], j, size)

    def _values(self, j: str, lanes: int) -> _Values:
        return _Values(lambda number: self._of_row(number, j, lanes))

    # One pass over the elements of some columns

    def _pass(
        self, sums: list[int], gives: Gives, index: Index, first: str, width: int, lanes: int
    ) -> None:
        for number in sums:
            node = self.kernel.nodes[number]
            start = identity(node.operation, node.dtype)
            for j, size in self._vectors(width, lanes):
                value = splat(start, node.dtype, size)
                self.write(value, node.dtype, self.buffers[number], j, size)
        *others, last = self.inner
        most = max(min(TOGETHER, TOGETHER_NODES // max(self.kernel.weight_of(self.cone), 1)), 1)
        with contextlib.ExitStack() as stack:
            outer = [(axis, stack.enter_context(self.loop(axis.length))) for axis in others]
            done = 0
            for together in (most, 1):
                count = (last.length - done) // together
                if not count:
                    continue
                with self.loop(count) as i:
                    start = self.plus(self.offset([(i, together)]), done)
                    for j, size in self._vectors(width, lanes):
                        column = self.offset([(first, 1), (j, 1)])
                        places: list[Index] = [
                            [*index, *outer, (last, self.plus(start, k)), (self.column, column)]
                            for k in range(together)
                        ]
                        self._elements(places, sums, gives, j, size)
                done += count * together

    def _elements(
        self, places: list[Index], sums: list[int], gives: Gives, j: str, lanes: int
    ) -> None:
        """Compute, reduce and write vectors of elements, one after the other."""
        kernel = self.kernel
        of_rows = self._values(j, lanes)
        totals = {number: self._of_row(number, j, lanes) for number in sums}
        for index in places:
            value = _Values(of_rows)
            for number in self.cone:
                if number in self.spilled:
                    value.known[number] = self.taken(self.saved[number], index, lanes)
                else:
                    value.known[number] = self.computed(number, index, lanes, value)
            for number in sums:
                node = kernel.nodes[number]
                element = value(node.operands[0])
                totals[number] = self.combined(node, totals[number], element, lanes)
            for v, k in gives:
                self.give(k, value(v), index, lanes)
        for number in sums:
            dtype = kernel.nodes[number].dtype
            self.write(totals[number], dtype, self.buffers[number], j, lanes)


class _Values:
    """Values of nodes, computed so far or on demand."""

    def __init__(self, other: Callable[[int], str]) -> None:
        self.other = other
        self.known: dict[int, str] = {}

    def __call__(self, number: int) -> str:
        if number not in self.known:
            self.known[number] = self.other(number)
        return self.known[number]
