"""Printing a kernel as LLVM's assembly: loops over rows, and within one loop over vectors per pass."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

from fungrad.compile.emit.columns import Columns
from fungrad.compile.emit.reading import I64, Index, Piece
from fungrad.compile.emit.types import literal, scalar_type, splat
from fungrad.compile.emit.writer import KernelText, Writer
from fungrad.compile.kernels.kernel import REDUCTIONS, Kernel
from fungrad.compile.kernels.operations import Node
from fungrad.compile.kernels.spaces import Axis, cone_of, in_columns, merged, passes

UNROLLED = 4
"""Vectors in each round of the innermost loop, at most."""
UNROLLED_NODES = 32
"""Most operations of a round of several vectors: with more, it is no faster, and takes LLVM longer."""
LONG = 16
"""Fewest operations on a vector that are written once, in a loop whose last rounds overlap."""
CHAIN, CHAIN_NODES = 16, 512
"""Length of a chain of dependent operations, and most operations in a round of several vectors."""
BLOCK = 1 << 13
"""Elements per lane whose sums are added one after the other; sums of blocks are added in pairs."""
SPILLED = 1 << 13
"""Bytes of a row up to which a value for later passes is kept, if it takes `DEAR` operations."""
ALL_SPILLED = 1 << 16
"""Bytes of all that is kept: it is on the stack, and those of threads can be small."""
DEAR = 4
FEW = 32
"""Elements of a row that are worth several lengths of vectors."""


def kernel_assembly(
    kernel: Kernel, name: str, inline: bool = False, room: int = ALL_SPILLED
) -> KernelText:
    """Return a kernel as LLVM's assembly.

    To be put `inline`, into a function of LLVM's, it takes the addresses of operands and outputs themselves. On the stack it
    keeps no more of its rows than there is `room` for.
    """
    form = Columns if in_columns(kernel) else _Rows
    writer = form(kernel, inline, room)
    text = writer.function(name)
    return KernelText(text, writer.declarations, writer.parts, writer.spilled_bytes)


class _Rows(Writer):
    """Vectors of elements of one row."""

    def __init__(self, kernel: Kernel, inline: bool, room: int) -> None:
        super().__init__(kernel, inline, room)
        self.rows = merged(kernel, range(kernel.rows))
        self.inner = merged(kernel, range(kernel.rows, len(kernel.space)))
        self.by_blocks = False
        # Each row, or block, may say by itself whether what has to be true is.
        reduces = any(
            node.operation in REDUCTIONS and number not in kernel.safe
            for number, node in enumerate(kernel.nodes)
        )
        if not reduces and all(output.of_elements for output in kernel.outputs):
            self.rows, self.inner = [*self.rows, *self.inner[:-1]], self.inner[-1:]
            self.by_blocks = not self.rows
        self.parts = self.rows[0].length if self.rows else 1
        self.row: dict[int, str] = {}  # values of nodes of the rows
        self.unrolled = UNROLLED
        self.chain = False
        self.is_long = False
        self.overlaps = False
        self.places: dict[int, str] = {}  # of constants, where they are read again in each round

    def body(self) -> None:
        with self.over_rows(self.rows) as index:
            self._row(index)

    # One row: nodes of rows and passes over its elements in turn

    def _row(self, index: Index) -> None:
        kernel = self.kernel
        for stage, (nodes, sums, writes) in enumerate(passes(kernel)):
            for number in nodes:
                self.row[number] = self._row_node(number, kernel.nodes[number], index)
            if sums or writes:
                self._pass(stage, sums, writes, index)
        for k, output in enumerate(kernel.outputs):
            if not output.of_elements:
                self.give(k, self.row[output.node], index, 1)
        for number in kernel.safe:
            self.must_hold(self.row[number], 1)

    def _row_node(self, number: int, node: Node, index: Index) -> str:
        if node.operation in REDUCTIONS:
            return self.reduced(number, node)
        if node.operation == "constant":
            return literal(node.value, node.dtype)
        return self.computed(number, index, 1, self.row.__getitem__)

    # One pass over the elements of a row

    def _pass(self, stage: int, sums: list[int], writes: list[int], index: Index) -> None:
        kernel = self.kernel
        roots = [kernel.nodes[number].operands[0] for number in sums]
        roots += [kernel.outputs[k].node for k in writes]
        keeps = {v: self._row_buffer(v) for v in self._kept_in(stage)}
        roots += keeps
        last = self.inner[-1] if self.inner else Axis(1, (-1,))
        pieces = self.pieces(last)
        self.go_over(pieces[0], roots)
        lanes = self.lanes_for(self.cone, pieces[0].length)
        size = kernel.weight_of(self.cone)
        self.chain = self._is_chain()
        nodes = CHAIN_NODES if self.chain else UNROLLED_NODES
        self.unrolled = next(u for u in (4, 2, 1) if u == 1 or u * size <= nodes)
        over = {kernel.over[k] for k in writes if k in kernel.over}
        self.is_long = size >= LONG
        self.overlaps = self.is_long and not (sums or over)
        pushes = math.prod(a.length for a in self.inner[:-1]) * len(pieces)
        for number in sums:
            self.begin(number, lanes, pushes == 1 and last.length <= self._block(lanes))
        with contextlib.ExitStack() as stack:
            outer = [(a, stack.enter_context(self.loop(a.length))) for a in self.inner[:-1]]
            whole = [*index, *outer]

            def place(*starts: str, skipped: int = 0, lanes: int = lanes) -> None:
                indices = [[*whole, (last, i)] for i in starts]
                self._vectors(indices, sums, writes, keeps, lanes, skipped)

            def begin(piece: Piece, lanes: int) -> None:
                self.go_over(piece, roots)
                end = [*whole, (last, str(piece.first + piece.length - lanes))]
                self.read_early(over if piece.length % lanes else set(), end, lanes)

            self._run(pieces, lanes, bool(sums), begin, place, lambda: self.push(sums, lanes))
        self.go_over(None, [])
        self.spilled |= keeps

    def _run(
        self, pieces: list[Piece], lanes: int, sums: bool, begin: Any, place: Any, push: Any
    ) -> None:
        """Go over a row, a piece after the other."""
        rest = ""
        for piece in pieces:
            narrow = lanes
            while narrow > piece.length:
                narrow //= 2
            begin(piece, narrow)
            parted = self.by_blocks and piece is pieces[0]
            if self._is_overlapping(piece.length, narrow):
                self._overlapping(piece, narrow, parted, place)
                if parted and piece is not pieces[-1]:
                    rest = self.if_last(self.parts)
                continue
            done = self._blocks(piece, narrow, parted, place, push)
            if parted and done:
                self.parts = done // self._block(narrow)
                rest = self.if_last(self.parts)
            if done < piece.length:
                self._rest(piece, done, narrow, sums, place)
                push()
        if rest:
            self.do(f"br label %{rest}")
            self.label(rest)

    def _is_overlapping(self, length: int, lanes: int) -> bool:
        """Whether a piece is gone over in one loop: it is enough to be worth that."""
        enough = lanes + 1 if self.unrolled == 1 else 4 * lanes * self.unrolled
        return self.overlaps and length >= (max(enough, FEW) if self.inline else enough)

    def _overlapping(self, piece: Piece, lanes: int, parted: bool, place: Any) -> None:
        """Go over a piece in one loop, or one for each part; vectors beyond the end are the last one again."""
        block, rounds, length = self._block(lanes), lanes * self.unrolled, piece.length
        last, first, count = str(length - lanes), "0", str(-(-length // rounds))
        with contextlib.ExitStack() as stack:
            if parted and length > block:
                self.parts = -(-length // block)
                first = self.offset([(stack.enter_context(self.loop("%last", "%first")), block)])
                left = self.emit(f"sub i64 {length + rounds - 1}, {first}")
                most = self.emit(f"udiv i64 {left}, {rounds}")
                count = self.intrinsic("umin", I64, [most, str(block // rounds)], 1)
            i = stack.enter_context(self.loop(int(count) if count.isdigit() else count))
            start = self.offset([(first, 1), (i, rounds)])
            starts = [self.plus(start, k * lanes) for k in range(self.unrolled)]
            if length % rounds:
                starts = [self.intrinsic("umin", I64, [x, last], 1) for x in starts]
            starts = [self.plus(x, piece.first) for x in starts]
            for group in [starts] if self.chain else [[x] for x in starts]:
                place(*group, lanes=lanes)

    def _blocks(self, piece: Piece, lanes: int, parted: bool, place: Any, push: Any) -> int:
        """Go over a piece in blocks of rounds of several vectors; return how many elements that covers.

        Of long kernels the last block may be shorter, so that their code stands once.
        """
        block, rounds = self._block(lanes), lanes * self.unrolled
        if not (blocks := piece.length // block):
            return 0
        covered, each, all_ = blocks * block, block // rounds, piece.length // rounds
        shorter = self.is_long and not parted and all_ * rounds > covered
        if shorter:
            blocks, covered = blocks + 1, all_ * rounds
        with self.loop("%last", "%first") if parted else self.loop(blocks) as b:
            first = self.plus(self.offset([(b, block)]), piece.first)
            count: int | str = each
            if shorter:
                left = self.emit(f"sub i64 {all_}, {self.offset([(b, each)])}")
                count = self.intrinsic("umin", I64, [left, str(each)], 1)
            self._several(first, count, lanes, place)
            push()
        return covered

    def _several(self, first: str, count: int | str, lanes: int, place: Any) -> None:
        """Go over so many rounds."""
        rounds = lanes * self.unrolled
        with self.loop(count) as i:
            start = self.offset([(first, 1), (i, rounds)])
            if self.chain:
                starts = [self.plus(start, k * lanes) for k in range(self.unrolled)]
                place(*starts, lanes=lanes)
                return
            for k in range(self.unrolled):
                place(self.plus(start, k * lanes), lanes=lanes)

    def _rest(self, piece: Piece, done: int, lanes: int, sums: bool, place: Any) -> None:
        """Go over the rest of a piece: rounds, then single vectors, then one that overlaps."""
        rounds = lanes * self.unrolled
        first, length = piece.first, piece.length
        if count := (length - done) // rounds:
            self._several(str(first + done), count, lanes, place)
            done += count * rounds
        while length - done >= lanes:
            place(str(first + done), lanes=lanes)
            done += lanes
        if done < length and self.inline and not sums and length < FEW:
            while done < length:  # what follows finds in registers what does not overlap
                lanes //= 2
                if length - done >= lanes:
                    place(str(first + done), lanes=lanes)
                    done += lanes
        elif done < length:
            place(str(first + length - lanes), skipped=lanes - (length - done), lanes=lanes)

    def _block(self, lanes: int) -> int:
        """Return the number of elements whose sum is pushed at once."""
        return lanes * UNROLLED * (BLOCK // (lanes * UNROLLED))

    def _kept_in(self, stage: int) -> list[int]:
        """Return the nodes of this pass that are kept for later ones."""
        kernel, stages = self.kernel, self.kernel.stages
        length = math.prod(kernel.inner_shape)
        if len(self.inner) != 1:
            return []
        later = [
            v
            for number, node in enumerate(kernel.nodes)
            if kernel.of_elements[number] and stages[number] > stage
            for v in node.operands
        ]
        kept = []
        for v in dict.fromkeys(later):
            if stages[v] != stage or not kernel.of_elements[v] or v in self.spilled:
                continue
            size = length * kernel.nodes[v].dtype.itemsize
            room = min(SPILLED, self.room - self.spilled_bytes)
            if size <= room and kernel.weight_of(cone_of(kernel, [v], self.spilled)) > DEAR:
                kept.append(v)
                self.spilled_bytes += size
        return kept

    def _row_buffer(self, number: int) -> str:
        """Return the address of memory for a node's values along a row."""
        length, dtype = math.prod(self.kernel.inner_shape), self.kernel.nodes[number].dtype
        return self.allocate(f"[{length} x {scalar_type(dtype, True)}]")

    def _is_chain(self) -> bool:
        """Whether operations wait for one another, so that several vectors side by side take no longer."""
        depth: dict[int, int] = {}
        for number in self.cone:
            operands = self.kernel.nodes[number].operands
            if not operands:
                continue  # constants, and what is read, wait for nothing
            depth[number] = 1 + max([depth.get(v, 0) for v in operands], default=0)
        longest = max(depth.values(), default=0)
        return longest >= CHAIN and 4 * len(depth) < 5 * longest

    def _vectors(
        self,
        indices: list[Index],
        sums: list[int],
        writes: list[int],
        keeps: dict[int, str],
        lanes: int,
        skipped: int,
    ) -> None:
        """Compute, reduce and write some vectors side by side; reductions leave out the first `skipped`."""
        kernel = self.kernel
        shared: dict[int, str] = {}

        def common(number: int) -> str:
            if number not in shared:
                node = kernel.nodes[number]
                if node.operation == "constant":
                    shared[number] = self._constant(number, node, lanes, len(indices))
                else:
                    shared[number] = self.spread(self.row[number], node.dtype, lanes)
            return shared[number]

        def value_of(values: dict[int, str]) -> Callable[[int], str]:
            return lambda number: values[number] if number in values else common(number)

        found: list[dict[int, str]] = [{} for _ in indices]
        every = [(i, values, value_of(values)) for i, values in zip(indices, found, strict=True)]
        early: dict[int, list[int]] = {}  # by node: outputs that are written as soon as it is known
        late, inside = list[int](), frozenset(self.cone)
        for k in writes:
            number = kernel.outputs[k].node
            if k in kernel.over or number not in inside:
                late.append(k)
            else:
                early.setdefault(number, []).append(k)
        for number in self.cone:
            node = kernel.nodes[number]
            for index, values, value in every:
                if number in self.spilled:
                    place = index[-1][1]
                    values[number] = self.read(self.spilled[number], place, node.dtype, lanes)
                elif skipped and number in self.early:
                    values[number] = self.early[number]
                else:
                    values[number] = self.computed(number, index, lanes, value)
                for k in early.get(number, ()):
                    self.give(k, values[number], index, lanes)
        for index, values, value in every:
            for v, buffer in keeps.items():
                self.write(values[v], kernel.nodes[v].dtype, buffer, index[-1][1], lanes)
            for number in sums:
                self.accumulate(number, value(kernel.nodes[number].operands[0]), lanes, skipped)
            for k in late:
                self.give(k, value(kernel.outputs[k].node), index, lanes)

    def _constant(self, number: int, node: Node, lanes: int, vectors: int) -> str:
        """Return a constant in every lane.

        That of several vectors is read where it is used. LLVM would keep all constants of a chain in registers, and for want of others
        compute one vector after the other.
        """
        if vectors == 1 or lanes == 1 or node.dtype.char not in "fd":
            return splat(node.value, node.dtype, lanes)
        one = scalar_type(node.dtype)
        if number not in self.places:
            place = self.places[number] = self.allocate(one)
            self.allocations.append(f"  store {one} {literal(node.value, node.dtype)}, ptr {place}")
        value = self.emit(f"load volatile {one}, ptr {self.places[number]}")
        return self.spread(value, node.dtype, lanes)
