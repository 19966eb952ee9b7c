"""What the functions of kernels have in common, whichever elements their vectors are of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Set
from typing import NamedTuple

from fungrad.compile.emit.reading import Index, Reading
from fungrad.compile.emit.types import vector_type
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.operations import BOOL, PARTS
from fungrad.compile.kernels.spaces import Axis, strides
from fungrad.compile.processor import VECTOR_BYTES

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


class Writer(Reading):
    """The lines of the function of a kernel."""

    def __init__(self, kernel: Kernel, inline: bool, room: int) -> None:
        super().__init__(kernel)
        self.inline = inline
        self.room = room
        self.parts = 1
        self.written = [strides(x) for x in kernel.outputs]
        self.spilled_bytes = 0
        self.unsafe = ""

    def body(self) -> None:
        """Write what the function does."""
        raise NotImplementedError

    def function(self, name: str) -> str:
        """Return the definition of the function."""
        kernel = self.kernel
        self.operands = self._addresses("%operands", len(kernel.operand_types))
        self.outputs = self._addresses("%outputs", len(kernel.outputs))
        self.unsafe = self.allocate("i32")
        self.do(f"store i32 0, ptr {self.unsafe}")
        self.body()
        result = self.emit(f"load i32, ptr {self.unsafe}")
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

    @contextlib.contextmanager
    def over_rows(self, rows: list[Axis]) -> Iterator[Index]:
        """Run what is added within for each place of some axes: the parts that are asked for are of the first."""
        with contextlib.ExitStack() as stack:
            index: Index = []
            for axis in rows:
                bounds = (axis.length, "0") if index else ("%last", "%first")
                index.append((axis, stack.enter_context(self.loop(*bounds))))
            yield index

    def if_last(self, parts: int) -> str:
        """Begin what only who does the last part does; return the label after it."""
        ends = self.emit(f"icmp eq i64 %last, {parts}")
        self.do(f"br i1 {ends}, label %rest, label %after")
        self.label("rest")
        return "after"

    def lanes_for(self, nodes: list[int], length: int) -> int:
        """Return how long the vectors of some nodes are."""
        dtypes = [self.kernel.nodes[i].dtype for i in nodes]
        widest = max([PARTS.get(dtype, dtype).itemsize for dtype in dtypes], default=8)
        lanes = VECTOR_BYTES // widest
        while lanes > length:
            lanes //= 2
        return lanes

    def computed(self, number: int, index: Index, lanes: int, value: Callable[[int], str]) -> str:
        """Return what a node is, given what gives its operands; not of a constant or a reduction."""
        node = self.kernel.nodes[number]
        if node.operation == "load":
            return self.load(node, index, lanes, [value(i) for i in node.operands])
        if node.operation == "iota":
            return self.counted(node, index, lanes)
        if node.operation == "inside":
            return self.inside(node, index, lanes)
        if number in self.alike:
            return value(self.alike[number])
        operands = [value(i) for i in node.operands]
        return self.operation(node, self.kernel.nodes[node.operands[0]].dtype, operands, lanes)

    def give(self, output: int, value: str, index: Index, lanes: int) -> None:
        """Write a vector of an output."""
        step, dtype = self.written[output], self.kernel.outputs[output].type.dtype
        place, base = self._place(output, index), self.outputs[output]
        apart = step.get(index[-1][0].axes[-1], 0) if lanes > 1 else 1
        if apart == 1:
            self.write(value, dtype, base, place, lanes)
            return
        for lane in range(lanes):
            self.write(
                self.lane(value, dtype, lanes, lane), dtype, base, self.plus(place, lane * apart)
            )

    def taken(self, output: int, index: Index, lanes: int) -> str:
        """Return a vector that has been written where an output will be; neighbours lie beside each other."""
        dtype = self.kernel.outputs[output].type.dtype
        return self.read(self.outputs[output], self._place(output, index), dtype, lanes)

    def _place(self, output: int, index: Index) -> str:
        step = self.written[output]
        return self.offset([(i, step.get(axis.axes[-1], 0)) for axis, i in index])

    def require(self, truth: str, lanes: int) -> None:
        """Note that the results are of no use if something does not hold in all lanes."""
        if lanes > 1:
            bits = self.emit(f"bitcast {vector_type(BOOL, lanes)} {truth} to i{lanes}")
            truth = self.emit(f"icmp eq i{lanes} {bits}, -1")
        fails = self.emit(f"select i1 {truth}, i32 0, i32 1")
        before = self.emit(f"load i32, ptr {self.unsafe}")
        after = self.emit(f"or i32 {before}, {fails}")
        self.do(f"store i32 {after}, ptr {self.unsafe}")
