"""Printing a kernel as CUDA's C: a thread for each element, or threads that share a row and reduce it together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fungrad.compile.emit.cuda_types import accumulated_in, c_type, literal, operation
from fungrad.compile.emit.types import combining, identity
from fungrad.compile.kernels.access import Box
from fungrad.compile.kernels.kernel import REDUCTIONS, Kernel
from fungrad.compile.kernels.operations import DType, Node
from fungrad.compile.kernels.spaces import (
    Axis,
    Pass,
    cone_of,
    in_columns,
    merged,
    nodes_needed,
    passes,
    strides,
)

THREADS = 256
"""Threads of a block, where each computes elements of its own."""
BLOCKS = 2048
"""Blocks, at most, of such: some for each multiprocessor of a large device, whose threads go on to further elements."""
SHARING = 256
"""Threads that share a row, at most."""
EACH = 4
"""Elements of a row for each of them, at least."""
ACROSS = 32
"""Rows beside each other, of neighbouring elements, that a block computes."""
LONG = 1 << 13
"""Elements of a row from which several blocks share it, where there are few rows."""
FEW = 64
"""Blocks that are few."""
PART = 1 << 12
"""Elements of a row for each block that shares it, about."""
MOST_PARTS = 512
"""Blocks, at most, that share a row."""
SHORT = 1 << 30
"""Elements up to which places are counted in 32 bits."""


class Launch(NamedTuple):
    """A function of the text, and how many blocks of how many threads run it."""

    name: str
    blocks: int
    threads: int


class CudaText(NamedTuple):
    """A kernel as CUDA's C.

    Attributes
    ----------
    text
        The definitions of functions. They take the addresses of the operands, those of the outputs that are not written over
        operands, and that of the scratch memory, if there is any.
    launches
        What runs one after the other.
    scratch
        Bytes of memory for what one gives to the next.
    """

    text: str
    launches: tuple[Launch, ...]
    scratch: int


def cuda_text(kernel: Kernel, name: str) -> CudaText:
    """Return a kernel as CUDA's C, in functions whose names begin with `name`."""
    reduces = any(node.operation in REDUCTIONS for node in kernel.nodes)
    if not reduces and all(output.of_elements for output in kernel.outputs):
        return _Elements(kernel, name).written()
    form = _Rows(kernel, name)
    return _Parts(kernel, name).written() if form.is_parted else form.written()


class _Form:
    """The lines of one function."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        self.kernel = kernel
        self.name = name
        self.lines: list[str] = []
        self.depth = 1
        sizes = [math.prod(kernel.space)] + [x.type.size for x in kernel.operands]
        self.index = "int" if max(sizes) < SHORT else "long long"
        self.steps = [strides(x) for x in kernel.operands]
        self.written_at = [strides(x) for x in kernel.outputs]
        self.here: dict[int, str] = {}  # by axis of the index space, the last one of those merged: the place
        self.row: set[int] = set()  # nodes of rows that are there

    def do(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def begin(self, line: str) -> None:
        self.do(line + " {")
        self.depth += 1

    def end(self) -> None:
        self.depth -= 1
        self.do("}")

    def function(self, name: str, scratch: bool = False) -> str:
        """Return the definition of a function, of the lines so far."""
        kernel = self.kernel
        apart = "" if kernel.over else " __restrict__"
        over = {*kernel.over.values()}
        given = [
            f"{'' if k in over else 'const '}{c_type(t.dtype)}*{apart} a{k}"
            for k, t in enumerate(kernel.operand_types)
        ]
        given += [
            f"{c_type(t.dtype)}*{apart} o{k}"
            for k, t in enumerate(kernel.output_types)
            if k not in kernel.over
        ]
        given += ["double* scratch"] * scratch
        lines, self.lines, self.row = self.lines, [], set()
        return "\n".join([f"KERNEL {name}({', '.join(given)}) {{", *lines, "}\n"])

    # Places

    def counted(self, place: str, axes: Sequence[Axis]) -> None:
        """Have the places along axes follow from one number."""
        rest = place
        for position, axis in reversed([*enumerate(axes)]):
            a = axis.axes[-1]
            if position == 0:
                self.do(f"const {self.index} i{a} = {rest};")
            else:
                self.do(f"const {self.index} i{a} = {rest} % {axis.length};")
                rest = f"{rest} / {axis.length}" if rest == place else f"({rest}) / {axis.length}"
            self.here[a] = f"i{a}"

    def _offset(self, terms: Sequence[tuple[str, int]], first: int = 0) -> str:
        """Return the sum of places, each of which counts so many elements."""
        found = []
        for place, step in terms:
            if step and place != "0":
                wide = f"({self.index}){place}"
                found.append(wide if step == 1 else f"{wide} * {step}")
        if first or not found:
            found.append(str(first))
        return " + ".join(found)

    def _load(self, node: Node) -> str:
        access, step = self.kernel.operands[node.value], self.steps[node.value]
        bounds = {a: (low, high) for a, low, high in access.box}
        terms = []
        for a, place in self.here.items():
            if a in bounds:
                low, high = bounds[a]
                place = f"({place} < {low} ? {low} : {place} > {high - 1} ? {high - 1} : {place})"
            terms.append((place, step.get(a, 0)))
        for axis, _, stride, further in access.lines:
            if axis is not None and axis < 0:
                terms.append((f"n{node.operands[-1 - axis]}", stride * further))
        array = self.kernel.array_of(node.value)
        return f"a{array}[{self._offset(terms, access.origin)}]"

    def _inside(self, box: Box) -> str:
        found = []
        for axis, low, high in box:
            place = self.here.get(axis, "0")
            found.append(f"{low} <= {place} && {place} < {high}")
        return " && ".join(found) or "1"

    # Nodes

    def compute(self, number: int) -> None:
        """Add the line that computes a node that is no reduction."""
        kernel = self.kernel
        node = kernel.nodes[number]
        if node.operation == "load":
            text = self._load(node)
        elif node.operation == "iota":
            text = f"({c_type(node.dtype)}){self.here.get(node.value, '0')}"
        elif node.operation == "inside":
            text = self._inside(node.value)
        elif node.operation == "constant":
            text = literal(node.value, node.dtype)
        else:
            dtypes = [kernel.nodes[i].dtype for i in node.operands]
            text = operation(node, dtypes, [f"n{i}" for i in node.operands])
        self.do(f"const {c_type(node.dtype)} n{number} = {text};")

    def rows_needed(self, roots: Sequence[int]) -> None:
        """Add the nodes of rows that are not there and that others need: constants, for one."""
        for number in sorted({*roots}):
            node = self.kernel.nodes[number]
            if number not in self.row and node.operation not in REDUCTIONS:
                self.row.add(number)
                self.compute(number)

    def elements(self, roots: Sequence[int]) -> None:
        """Add the nodes of elements that others need."""
        for number in cone_of(self.kernel, roots, ()):
            self.compute(number)

    def write(self, output: int) -> None:
        """Add the line that writes an output at the place at hand."""
        kernel = self.kernel
        step = self.written_at[output]
        array = f"a{kernel.over[output]}" if output in kernel.over else f"o{output}"
        place = self._offset([(i, step.get(a, 0)) for a, i in self.here.items()])
        self.do(f"{array}[{place}] = n{kernel.outputs[output].node};")


class _Elements(_Form):
    """A thread computes elements one after the other, each by itself."""

    def written(self) -> CudaText:
        kernel = self.kernel
        axes = merged(kernel, range(len(kernel.space)))
        size = math.prod(kernel.space)
        blocks = min(-(-size // THREADS), BLOCKS)
        first = f"blockIdx.x * ({self.index}){THREADS} + threadIdx.x"
        self.begin(f"for ({self.index} i = {first}; i < {size}; i += {blocks * THREADS})")
        self.counted("i", axes)
        for number in sorted(nodes_needed(kernel)):
            self.compute(number)
        for k in range(len(kernel.outputs)):
            self.write(k)
        self.end()
        return CudaText(self.function(self.name), (Launch(self.name, blocks, THREADS),), 0)


class _Rows(_Form):
    """A block computes rows, each by threads that share it."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel, name)
        self.rows = merged(kernel, range(kernel.rows))
        self.inner = merged(kernel, range(kernel.rows, len(kernel.space)))
        self.count = math.prod(kernel.row_shape)
        self.length = math.prod(kernel.inner_shape)
        self.across = in_columns(kernel)
        self.sharing, self.together = self._threads()

    def _threads(self) -> tuple[int, int]:
        """Return how many threads share a row, and how many rows a block computes."""
        most = max(self.length // EACH, 1)
        if self.across:
            together = next((n for n in (32, 16, 8) if self.count >= n * 128), 8)
            together = min(together, ACROSS)
            return min(_power_of_two(most), THREADS * 2 // together), together
        sharing = min(_power_of_two(most), SHARING if self.count > FEW else 4 * SHARING)
        return sharing, max(THREADS // 2 // sharing, 1)

    @property
    def is_parted(self) -> bool:
        """Whether several blocks are to share a row: if the rows are few and long, and one pass over them is enough."""
        blocks, (_, *later) = -(-self.count // self.together), passes(self.kernel)
        once = not any(found.sums or found.writes for found in later)
        return once and blocks < FEW and self.length >= LONG

    def written(self) -> CudaText:
        blocks = -(-self.count // self.together)
        threads = self.sharing * self.together
        self._place(f"blockIdx.x * ({self.index}){self.together} + which")
        for found in passes(self.kernel):
            self.rows_needed(found.nodes)
            if found.sums or found.writes:
                self._pass(found, "lane", str(self.length))
            for number in found.sums:
                self.reduce(number)
        self._write_rows()
        return CudaText(self.function(self.name), (Launch(self.name, blocks, threads),), 0)

    def _place(self, row: str) -> None:
        """Begin with which row it is, and which of the threads that share it."""
        self.do("const int thread = threadIdx.x;")
        if self.across:
            lane, which = f"thread / {self.together}", f"thread % {self.together}"
        else:
            lane, which = f"thread % {self.sharing}", f"thread / {self.sharing}"
        self.do(f"const int lane = {lane}, which = {which};")
        self.do(f"const bool live = {row} < {self.count};")
        self.do(f"const {self.index} r = live ? {row} : 0;")
        self.counted("r", self.rows)

    def _pass(self, found: Pass, first: str, last: str) -> None:
        """Go over the elements of a row: accumulate, and write."""
        kernel = self.kernel
        for number in found.sums:
            node = kernel.nodes[number]
            wide = accumulated_in(node.operation, node.dtype)
            start = literal(np.asarray(identity(node.operation, wide), wide)[()], wide)
            self.do(f"{c_type(wide)} s{number} = {start};")
        roots = [kernel.nodes[number].operands[0] for number in found.sums]
        roots += [kernel.outputs[k].node for k in found.writes]
        self.begin(f"for ({self.index} j = {first}; j < {last}; j += {self.sharing})")
        self.counted("j", self.inner)
        self.elements(roots)
        for number in found.sums:
            self.do(f"s{number} = {self._combined(number, f's{number}', self._of_sum(number))};")
        for k in found.writes:
            self.do("if (live)")
            self.write(k)
        self.end()
        for axis in self.inner:
            del self.here[axis.axes[-1]]

    def _of_sum(self, number: int) -> str:
        """Return the element that a reduction goes on with."""
        return f"n{self.kernel.nodes[number].operands[0]}"

    def _wide(self, number: int) -> DType:
        node = self.kernel.nodes[number]
        return accumulated_in(node.operation, node.dtype)

    def _combined(self, number: int, x: str, y: str) -> str:
        wide = self._wide(number)
        name = combining(self.kernel.nodes[number])
        return operation(Node(name, wide), [wide], [x, y])

    def reduce(self, number: int) -> None:
        """Add the lines that make the result of a reduction known to all threads of a row."""
        type_ = c_type(self.kernel.nodes[number].dtype)
        self.do(f"const {type_} n{number} = ({type_}){self.shared(number)};")

    def shared(self, number: int) -> str:
        """Return what the threads of a row have together of a reduction: they combine halves, halves of them, and so on."""
        if self.sharing == 1:
            return f"s{number}"
        type_, near = c_type(self._wide(number)), self.together if self.across else 1
        self.do(f"__shared__ {type_} held{number}[{self.sharing * self.together}];")
        self.do(f"held{number}[thread] = s{number};")
        self.do("__syncthreads();")
        self.begin(f"for (int half = {self.sharing // 2}; half > 0; half /= 2)")
        x, y = f"held{number}[thread]", f"held{number}[thread + half * {near}]"
        self.do(f"if (lane < half) {x} = {self._combined(number, x, y)};")
        self.do("__syncthreads();")
        self.end()
        return f"held{number}[{'which' if self.across else f'which * {self.sharing}'}]"

    def _write_rows(self) -> None:
        outputs = [k for k, output in enumerate(self.kernel.outputs) if not output.of_elements]
        self.rows_needed([self.kernel.outputs[k].node for k in outputs])
        for k in outputs:
            self.do("if (live && lane == 0)")
            self.write(k)


class _Parts(_Rows):
    """Several blocks share a row, and others combine what they give."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel, name)
        self.across, self.sharing, self.together = False, SHARING, 1
        self.parts = min(-(-self.length // PART), MOST_PARTS)
        self.sums: list[int] = []

    def _combined_at(self, number: int) -> str:
        """Return the address of what the parts of rows give of a reduction: each has 8 bytes."""
        start = self.sums.index(number) * self.count * self.parts
        return f"(({c_type(self._wide(number))}*)(scratch + {start}))"

    def written(self) -> CudaText:
        first, *_ = passes(self.kernel)
        self.sums = first.sums
        name, last = f"{self.name}_parts", f"{self.name}_rows"
        text = self._of_parts(name, first) + self._of_rows(last)
        scratch = 8 * len(self.sums) * self.count * self.parts
        launches = (
            Launch(name, self.count * self.parts, SHARING),
            Launch(last, self.count, SHARING),
        )
        return CudaText(text, launches, scratch)

    def _of_parts(self, name: str, found: Pass) -> str:
        """Return the function that reduces parts of rows."""
        size = -(-self.length // self.parts)
        self._place(f"blockIdx.x / {self.parts}")
        self.do(f"const {self.index} part = blockIdx.x % {self.parts};")
        self.do(f"const {self.index} end = (part + 1) * {size};")
        self.do(f"const {self.index} last = end < {self.length} ? end : {self.length};")
        self.rows_needed(found.nodes)
        self._pass(found, f"part * {size} + lane", "last")
        for number in found.sums:
            self.do(f"if (lane == 0) {self._combined_at(number)}[blockIdx.x] = {self.shared(number)};")
        return self.function(name, True)

    def _of_rows(self, name: str) -> str:
        """Return the function that reduces what parts give."""
        self.here = {}
        self._place("blockIdx.x")
        for number in self.sums:
            wide = self._wide(number)
            operation_ = self.kernel.nodes[number].operation
            start = literal(np.asarray(identity(operation_, wide), wide)[()], wide)
            self.do(f"{c_type(wide)} s{number} = {start};")
            self.begin(f"for (int part = lane; part < {self.parts}; part += {self.sharing})")
            value = f"{self._combined_at(number)}[r * {self.parts} + part]"
            self.do(f"const {c_type(wide)} value = {value};")
            self.do(f"s{number} = {self._combined(number, f's{number}', 'value')};")
            self.end()
            self.reduce(number)
        for found in passes(self.kernel):
            self.rows_needed(found.nodes)
        self._write_rows()
        return self.function(name, True)


def _power_of_two(number: int) -> int:
    """Return the greatest power of two that is not greater."""
    return 1 << (number.bit_length() - 1)
