"""Printing a kernel as LLVM's assembly: loops over rows, and in each row one loop over vectors for each pass."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Set
from typing import Any, NamedTuple

from fungrad.compile.emit.assembly import VECTOR_BYTES
from fungrad.compile.emit.reading import Piece, Reading
from fungrad.compile.emit.types import literal, scalar_type, splat
from fungrad.compile.kernels.kernel import (
    REDUCTIONS,
    Axis,
    Kernel,
    cone_of,
    merged,
    nodes_needed,
    strides,
)
from fungrad.compile.kernels.operations import PARTS, Node

UNROLLED = 4
"""Vectors in each round of the innermost loop, at most."""
UNROLLED_NODES = 128
"""How many operations on vectors a round has, at most: registers are few."""
BLOCK = 1 << 13
"""Elements of which sums are added up one after the other, per lane; the sums of blocks are added in pairs."""
SPILLED = 1 << 13
"""Bytes of a row up to which what a later pass needs is kept, if that takes `DEAR` operations."""
ALL_SPILLED = 1 << 16
"""Bytes of all that is kept: it is on the stack, and those of threads can be small."""
DEAR = 4
FEW = 32
"""Elements of a row that are worth several lengths of vectors."""
INLINED = 2000
"""Lines of a kernel up to which it is put into the function that runs it, if that is LLVM's own."""


class KernelText(NamedTuple):
    """The definition of a function of a kernel.

    Attributes
    ----------
    text
        The function takes the address of the addresses of the operands, that of the outputs, and which parts it
        is to do, first and last. It returns 0, or 1 if a node that has to be true was not.
    declarations
        What is declared for it.
    parts
        Into how many parts, each of which can be done by itself, the work is cut.
    kept
        Bytes on the stack for what is kept of a row.
    finishes
        Whether there is another function, to be called once all parts are done.
    calls
        Functions of LAPACK that are called.
    """

    text: str
    declarations: set[str]
    parts: int
    kept: int = 0
    finishes: bool = False
    calls: Set[str] = frozenset()


def kernel_assembly(
    kernel: Kernel, name: str, inline: bool = False, room: int = ALL_SPILLED
) -> KernelText:
    """Return a kernel as LLVM's assembly.

    To be put `inline`, into a function of LLVM's, it takes the addresses of operands and outputs themselves. On the stack it
    keeps no more of its rows than there is `room` for.
    """
    writer = _Writer(kernel, inline, room)
    text = writer.function(name)
    return KernelText(text, writer.declarations, writer.parts, writer.spilled_bytes)


class _Writer(Reading):
    def __init__(self, kernel: Kernel, inline: bool, room: int) -> None:
        super().__init__(kernel)
        self.inline = inline
        self.room = room
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
        self.written = [strides(x) for x in kernel.outputs]
        self.row: dict[int, str] = {}  # values of nodes of the rows
        self.spilled_bytes = 0
        self.unrolled = UNROLLED

    def function(self, name: str) -> str:
        kernel = self.kernel
        self.operands = self._addresses("%operands", len(kernel.operand_types))
        self.outputs = self._addresses("%outputs", len(kernel.outputs))
        unsafe = self.allocate("i32")
        self.do(f"store i32 0, ptr {unsafe}")
        with contextlib.ExitStack() as stack:
            index: list[tuple[Axis, str]] = []
            for axis in self.rows:
                bounds = (axis.length, "0") if index else ("%last", "%first")
                index.append((axis, stack.enter_context(self.loop(*bounds))))
            self._row(index, unsafe)
        result = self.emit(f"load i32, ptr {unsafe}")
        self.do(f"ret i32 {result}")
        parameters = "ptr %operands, ptr noalias %outputs"
        if self.inline:
            given = [f"ptr {x}" for x in self.operands]
            apart = ["" if k in kernel.over else "noalias " for k in range(len(self.outputs))]
            given += [f"ptr {a}{x}" for a, x in zip(apart, self.outputs, strict=True)]
            parameters = ", ".join(given)
        size = len(self.lines)
        how = "noinline" if not self.inline else "alwaysinline" if size <= INLINED else ""
        head = f"define internal i32 @{name}({parameters}, i64 %first, i64 %last) {how} strictfp {{"
        body = [head, "entry:", *self.allocations, "  br label %start", "start:", *self.lines, "}"]
        return "\n".join(body) + "\n"

    def _addresses(self, group: str, count: int) -> list[str]:
        """Return where arrays are, of a group of the parameters."""
        if self.inline:
            return [f"{group}{k}" for k in range(count)]
        places = [self.emit(f"getelementptr ptr, ptr {group}, i64 {k}") for k in range(count)]
        return [self.emit(f"load ptr, ptr {place}") for place in places]

    # One row: nodes of rows and passes over its elements in turn

    def _row(self, index: list[tuple[Axis, str]], unsafe: str) -> None:
        kernel, stages = self.kernel, self.kernel.stages
        needed = nodes_needed(kernel)
        for stage in range(max(stages, default=0) + 1):
            for number, node in enumerate(kernel.nodes):
                if stages[number] == stage and not kernel.of_elements[number] and number in needed:
                    self.row[number] = self._row_node(number, node, index)
            sums = [
                number
                for number, node in enumerate(kernel.nodes)
                if node.operation in REDUCTIONS and stages[number] == stage + 1 and number in needed
            ]
            writes = [
                k
                for k, output in enumerate(kernel.outputs)
                if output.of_elements and stages[output.node] == stage
            ]
            if sums or writes:
                self._pass(stage, sums, writes, index)
        for k, output in enumerate(kernel.outputs):
            if not output.of_elements:
                self.write(
                    self.row[output.node],
                    output.type.dtype,
                    self.outputs[k],
                    self._position(k, index),
                    1,
                )
        for number in kernel.safe:
            fails = self.emit(f"select i1 {self.row[number]}, i32 0, i32 1")
            before = self.emit(f"load i32, ptr {unsafe}")
            after = self.emit(f"or i32 {before}, {fails}")
            self.do(f"store i32 {after}, ptr {unsafe}")

    def _position(self, output: int, index: list[tuple[Axis, str]]) -> str:
        """Return where an output has its element for a place."""
        step = self.written[output]
        return self.offset([(i, step.get(axis.axes[-1], 0)) for axis, i in index])

    def _row_node(self, number: int, node: Node, index: list[tuple[Axis, str]]) -> str:
        if node.operation in REDUCTIONS:
            return self.reduced(number, node)
        if node.operation == "constant":
            return literal(node.value, node.dtype)
        if node.operation == "iota":
            return self.counted(node, index, 1)
        if node.operation == "inside":
            return self.inside(node, index, 1)
        if node.operation == "load":
            return self.load(node, index, 1, [self.row[i] for i in node.operands])
        return self._computed(node, [self.row[i] for i in node.operands], 1)

    def _computed(self, node: Node, operands: list[str], lanes: int) -> str:
        return self.operation(node, self.kernel.nodes[node.operands[0]].dtype, operands, lanes)

    # One pass over the elements of a row

    def _pass(
        self, stage: int, sums: list[int], writes: list[int], index: list[tuple[Axis, str]]
    ) -> None:
        kernel = self.kernel
        roots = [kernel.nodes[number].operands[0] for number in sums]
        roots += [kernel.outputs[k].node for k in writes]
        keeps = {v: self._row_buffer(v) for v in self._kept_in(stage)}
        roots += keeps
        last = self.inner[-1] if self.inner else Axis(1, (-1,))
        pieces = self.pieces(last)
        self.go_over(pieces[0], roots)
        lanes = self._lanes(self.cone, pieces[0].length)
        size = len(self.cone)
        self.unrolled = next(u for u in (4, 2, 1) if u == 1 or u * size <= UNROLLED_NODES)
        pushes = math.prod(a.length for a in self.inner[:-1]) * len(pieces)
        for number in sums:
            self.begin(number, lanes, pushes == 1 and last.length <= self._block(lanes))
        with contextlib.ExitStack() as stack:
            outer = [(a, stack.enter_context(self.loop(a.length))) for a in self.inner[:-1]]
            whole = [*index, *outer]

            over = {kernel.over[k] for k in writes if k in kernel.over}

            def place(i: str, skipped: int = 0, lanes: int = lanes) -> None:
                self._vector([*whole, (last, i)], sums, writes, keeps, lanes, skipped)

            def begin(piece: Piece, lanes: int) -> None:
                self.go_over(piece, roots)
                end = [*whole, (last, str(piece.first + piece.length - lanes))]
                self.read_early(over if piece.length % lanes else set(), end, lanes)

            self._run(pieces, lanes, bool(sums), begin, place, lambda: self.push(sums, lanes))
        self.go_over(None, [])
        self.spilled |= keeps

    def _lanes(self, cone: list[int], length: int) -> int:
        nodes = self.kernel.nodes
        dtypes = [PARTS.get(nodes[i].dtype, nodes[i].dtype) for i in cone]
        widest = max([dtype.itemsize for dtype in dtypes], default=8)
        lanes = VECTOR_BYTES // widest
        while lanes > length:
            lanes //= 2
        return lanes

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
            done = self._blocks(piece, narrow, parted, place, push)
            if parted and done:
                self.parts = done // self._block(narrow)
                rest = self._if_last(self.parts)
            self._rest(piece, done, narrow, sums, place)
            push()
        if rest:
            self.do(f"br label %{rest}")
            self.label(rest)

    def _blocks(self, piece: Piece, lanes: int, parted: bool, place: Any, push: Any) -> int:
        """Go over a piece in blocks, and in them in rounds of several vectors; return how many elements that are."""
        block = self._block(lanes)
        if not (blocks := piece.length // block):
            return 0
        with self.loop("%last", "%first") if parted else self.loop(blocks) as b:
            first = self.plus(self.offset([(b, block)]), piece.first)
            self._several(first, block, lanes, place)
            push()
        return blocks * block

    def _several(self, first: str, count: int, lanes: int, place: Any) -> None:
        rounds = lanes * self.unrolled
        with self.loop(count // rounds) as i:
            start = self.offset([(first, 1), (i, rounds)])
            for k in range(self.unrolled):
                place(self.plus(start, k * lanes), lanes=lanes)

    def _rest(self, piece: Piece, done: int, lanes: int, sums: bool, place: Any) -> None:
        """Go over what is left of a piece: rounds, then single vectors, then one that overlaps."""
        rounds = lanes * self.unrolled
        first, length = piece.first, piece.length
        if count := (length - done) // rounds:
            self._several(str(first + done), count * rounds, lanes, place)
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
            place(str(first + length - lanes), lanes - (length - done), lanes)

    def _if_last(self, parts: int) -> str:
        """Begin what only who does the last part does; return the label after it."""
        ends = self.emit(f"icmp eq i64 %last, {parts}")
        self.do(f"br i1 {ends}, label %rest, label %after")
        self.label("rest")
        return "after"

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
        found = []
        for v in dict.fromkeys(later):
            if stages[v] != stage or not kernel.of_elements[v] or v in self.spilled:
                continue
            size = length * kernel.nodes[v].dtype.itemsize
            room = min(SPILLED, self.room - self.spilled_bytes)
            if size <= room and len(cone_of(kernel, [v], self.spilled)) > DEAR:
                found.append(v)
                self.spilled_bytes += size
        return found

    def _row_buffer(self, number: int) -> str:
        """Return the address of memory for what a node is along a row."""
        length, dtype = math.prod(self.kernel.inner_shape), self.kernel.nodes[number].dtype
        return self.allocate(f"[{length} x {scalar_type(dtype, True)}]")

    def _vector(
        self,
        index: list[tuple[Axis, str]],
        sums: list[int],
        writes: list[int],
        keeps: dict[int, str],
        lanes: int,
        skipped: int,
    ) -> None:
        """Compute, reduce and write the elements of one vector; reductions leave out the first `skipped`."""
        kernel = self.kernel
        values: dict[int, str] = {}

        def value(number: int) -> str:
            if number not in values:
                node = kernel.nodes[number]
                if node.operation == "constant":
                    values[number] = splat(node.value, node.dtype, lanes)
                else:
                    values[number] = self.spread(self.row[number], node.dtype, lanes)
            return values[number]

        for number in self.cone:
            node = kernel.nodes[number]
            if number in self.spilled:
                values[number] = self.read(self.spilled[number], index[-1][1], node.dtype, lanes)
            elif node.operation == "load":
                places = [value(i) for i in node.operands]
                early = self.early.get(number) if skipped else None
                values[number] = early or self.load(node, index, lanes, places)
            elif node.operation == "iota":
                values[number] = self.counted(node, index, lanes)
            elif node.operation == "inside":
                values[number] = self.inside(node, index, lanes)
            elif number in self.alike:
                values[number] = value(self.alike[number])
            else:
                values[number] = self._computed(node, [value(i) for i in node.operands], lanes)
        for v, buffer in keeps.items():
            self.write(values[v], kernel.nodes[v].dtype, buffer, index[-1][1], lanes)
        for number in sums:
            self.accumulate(number, value(kernel.nodes[number].operands[0]), lanes, skipped)
        for k in writes:
            output = kernel.outputs[k]
            self.write(
                value(output.node),
                output.type.dtype,
                self.outputs[k],
                self._position(k, index),
                lanes,
            )
