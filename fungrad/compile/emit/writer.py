"""Base of the writers of kernels, independent of the axis of their vectors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, NamedTuple

from fungrad.compile.emit.assembly import Assembly
from fungrad.compile.emit.called import definition
from fungrad.compile.emit.reading import Index, Reading
from fungrad.compile.emit.types import vector_type
from fungrad.compile.kernels.called import with_same_operands
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.operations import PARTS
from fungrad.compile.kernels.spaces import Axis, strides
from fungrad.compile.processor import VECTOR_BYTES

BLOCK = 400
"""Lines after which a basic block ends: LLVM's time grows faster than a block does."""
ADDRESSES = 16
"""Most arrays of a kernel whose addresses stay in registers; others are read where used."""
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
        Functions of `SIGNATURES` that are called, of LAPACK or products.
    """

    text: str
    declarations: set[str]
    parts: int
    kept: int = 0
    finishes: bool = False
    calls: Set[str] = frozenset()


class Written(NamedTuple):
    """A schedule as LLVM's assembly, but for how many parts one call runs, which stands between two texts.

    Attributes
    ----------
    before, after
        The two.
    function
        The function, with the first of them for its text.
    workspace
        How much memory each call is to be given.
    """

    before: str
    after: str
    function: KernelText
    workspace: int


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
        self.cut = False
        groups = zip(kernel.of_elements, kernel.stages, strict=True)
        self.functions = with_same_operands(kernel.nodes, groups)
        """Of each node that is a function, those that are called with it."""
        self.results: dict[tuple[str, ...], tuple[str, str]] = {}
        """Results of calls, and their type, by operands, lanes and region."""

    def body(self) -> None:
        """Write the function's body."""
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
        if self.cut:
            self.label("failed")
            self.do("ret i32 1")
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

    def _addresses(self, group: str, count: int) -> Sequence[str]:
        """Return where arrays are, of a group of the parameters."""
        if self.inline:
            return [f"{group}{k}" for k in range(count)]
        addresses = _Addresses(self, group, count)
        return addresses if count > ADDRESSES else [*addresses]

    @contextlib.contextmanager
    def over_rows(self, rows: list[Axis]) -> Iterator[Index]:
        """Run the code added in the block for each place of some axes: parts are of the first."""
        with contextlib.ExitStack() as stack:
            index: Index = []
            for axis in rows:
                bounds = (axis.length, "0") if index else ("%last", "%first")
                index.append((axis, stack.enter_context(self.loop(*bounds))))
            yield index

    def if_last(self, parts: int) -> str:
        """Begin the code of the thread that does the last part; return the label after it."""
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
        """Return the value of a node from its operands; not of constants or reductions."""
        if len(self.lines) - self.begun > BLOCK:
            self._end_block()
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
        if number in self.functions:
            return self._called(number, operands, lanes)
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

    def _called(self, number: int, operands: list[str], lanes: int) -> str:
        """Return the result of a called function, called once for all functions of the same operands."""
        key = (*operands, str(lanes), str(self.region))
        numbers, nodes = self.functions[number], self.kernel.nodes
        if key not in self.results:
            names, dtype = tuple([nodes[n].operation for n in numbers]), nodes[number].dtype
            function = definition(names, dtype, len(operands), lanes)
            self.declarations |= function.declarations
            vector = vector_type(dtype, lanes)
            given = ", ".join([*[f"{vector} {x}" for x in operands], f"ptr {self.unsafe}"])
            call = f"call fastcc {function.result} {function.name}({given}) strictfp"
            self.results[key] = self.emit(call), function.result
        result, type_ = self.results[key]
        if len(numbers) == 1:
            return result
        return self.emit(f"extractvalue {type_} {result}, {numbers.index(number)}")

    def _end_block(self) -> None:
        """Begin another basic block: LLVM does not know that the function goes on there."""
        self.count += 1
        n = self.count
        failed = self.emit(f"load volatile i32, ptr {self.unsafe}")
        goes_on = self.emit(f"icmp eq i32 {failed}, 0")
        self.do(f"br i1 {goes_on}, label %on{n}, label %failed")
        self.label(f"on{n}", within=True)
        self.cut = True

    def must_hold(self, truth: str, lanes: int) -> None:
        """Note that the results are of no use if something does not hold in all lanes."""
        self.require(truth, lanes, self.unsafe)


class _Addresses(Sequence[str]):
    """Addresses of a group of arrays, each read whenever it is asked for."""

    def __init__(self, lines: Assembly, group: str, count: int) -> None:
        self.lines, self.group, self.length = lines, group, count

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, k: Any) -> Any:
        if not 0 <= k < self.length:
            raise IndexError(k)
        place = self.lines.emit(f"getelementptr ptr, ptr {self.group}, i64 {k}")
        return self.lines.emit(f"load ptr, ptr {place}")
