"""Printing a kernel as CUDA's C: a thread per element, or threads that share a row and reduce it."""

from __future__ import annotations

import math

import numpy as np

from fungrad.compile.emit.cuda_form import CudaText, Form, Launch
from fungrad.compile.emit.cuda_types import accumulated_in, c_type, literal, operation
from fungrad.compile.emit.types import combining, identity
from fungrad.compile.kernels.kernel import REDUCTIONS, Kernel
from fungrad.compile.kernels.machine import BESIDE, FEW, blocks_share
from fungrad.compile.kernels.operations import DType, Node
from fungrad.compile.kernels.spaces import (
    Pass,
    in_columns,
    merged,
    nodes_needed,
    passes,
)

THREADS = 256
"""Threads of a block, where each computes elements of its own."""
BLOCKS = 2048
"""Most blocks of such: some for each multiprocessor, whose threads go on to further elements."""
MANY_ELEMENTS = 1 << 18
"""Elements from which a thread takes neighbours: fewer are as many threads as a card has."""
SHARING = 256
"""Threads that share a row, at most."""
EACH = 4
"""Elements of a row for each of them, at least."""
PART = 1 << 12
"""Elements of a row for each block that shares it, about."""
MANY = 20
"""Reductions in a kernel from which a block has few threads, so that registers suffice."""
MOST_PARTS = 512
"""Blocks, at most, that share a row."""


def cuda_text(kernel: Kernel, name: str) -> CudaText:
    """Return a kernel as CUDA's C, in functions whose names begin with `name`."""
    if _is_of_elements(kernel):
        return _Elements(kernel, name).written()
    form = _Rows(kernel, name)
    return _Parts(kernel, name).written() if form.is_parted else form.written()


def _is_of_elements(kernel: Kernel) -> bool:
    """Whether it has no rows: nothing is reduced, and all outputs are of elements."""
    reduces = any(node.operation in REDUCTIONS for node in kernel.nodes)
    return not reduces and all(output.of_elements for output in kernel.outputs)


class _Elements(Form):
    """A thread computes elements one after the other, each by itself."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel, name)
        self.packed: int | None = None  # the axis whose neighbours are loaded and stored at once

    def written(self) -> CudaText:
        size, together = math.prod(self.kernel.space), self._together()
        blocks = min(-(-size // (THREADS * together)), BLOCKS)
        first, step = f"blockIdx.x * ({self.index}){THREADS} + threadIdx.x", blocks * THREADS
        if together > 1:
            self._packs(first, step, together)
            first = f"whole * {together} + {first}"
        self.from_place(first, step)
        return CudaText(self.function(self.name, THREADS), (Launch(self.name, blocks, THREADS),), 0)

    def _together(self) -> int:
        """Return how many neighbours a thread loads at once, as 16 bytes; 1 if they are not in order."""
        kernel, axes = self.kernel, merged(self.kernel, range(len(self.kernel.space)))
        if len(axes) != 1 or math.prod(kernel.space) < MANY_ELEMENTS:
            return 1
        axis = axes[0].axes[-1]
        loads = [node for node in kernel.nodes if node.operation == "load"]
        plain = all(
            self.steps[node.value].get(axis, 0) in (0, 1)
            and not (kernel.operands[node.value].box or node.operands)
            and not (self.steps[node.value].get(axis, 0) and kernel.operands[node.value].origin)
            for node in loads
        )
        if not plain or any(step.get(axis, 0) != 1 for step in self.written_at):
            return 1
        types = [kernel.operands[node.value].type for node in loads] + kernel.output_types
        return min(16 // max([int(t.dtype.itemsize) for t in types]), 8)

    def _packs(self, first: str, step: int, together: int) -> None:
        """Add the lines that compute neighbours at once, where all arrays begin at 16 bytes."""
        kernel = self.kernel
        (axis,) = merged(kernel, range(len(kernel.space)))
        self.packed = axis.axes[-1]
        loaded = {
            kernel.array_of(node.value): f"pack{together}_{node.dtype.str[1:]}"
            for node in kernel.nodes
            if node.operation == "load" and self.steps[node.value].get(self.packed, 0)
        }
        stored = {k: f"pack{together}_{t.dtype.str[1:]}" for k, t in enumerate(kernel.output_types)}
        arrays = [f"a{k}" for k in loaded] + [self.array(k) for k in stored]
        places = " | ".join([f"(unsigned long long){x}" for x in dict.fromkeys(arrays)])
        size = math.prod(kernel.space)
        self.do(f"const {self.index} whole = ({places}) % 16 ? 0 : {size // together};")
        self.begin(f"for ({self.index} g = {first}; g < whole; g += {step})")
        for k, pack in loaded.items():
            self.do(f"const {pack} p{k} = ((const {pack}*)a{k})[g];")
        for k, pack in stored.items():
            self.do(f"{pack} q{k};")
        self.do("#pragma unroll")
        self.begin(f"for (int v = 0; v < {together}; v++)")
        self._element(f"g * {together} + v")
        self.end()
        for k, pack in stored.items():
            self.do(f"(({pack}*){self.array(k)})[g] = q{k};")
        self.end()
        self.packed = None

    def _load(self, node: Node) -> str:
        if self.packed is not None and self.steps[node.value].get(self.packed, 0):
            return f"p{self.kernel.array_of(node.value)}.x[v]"
        return super()._load(node)

    def write(self, output: int) -> None:
        if self.packed is None:
            super().write(output)
        else:
            self.do(f"q{output}.x[v] = n{self.kernel.outputs[output].node};")

    def from_place(self, first: str, step: int) -> None:
        """Add the lines that compute every `step`-th element from a first one."""
        size = math.prod(self.kernel.space)
        self.begin(f"for ({self.index} i = {first}; i < {size}; i += {step})")
        self._element("i")
        self.end()

    def _element(self, place: str) -> None:
        """Add the lines that compute an element."""
        kernel = self.kernel
        self.counted(place, merged(kernel, range(len(kernel.space))))
        for number in sorted(nodes_needed(kernel)):
            self.compute(number)
        for k in range(len(kernel.outputs)):
            self.write(k)


class _Rows(Form):
    """A block computes rows, each by threads that share it."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel, name)
        self.rows = merged(kernel, range(kernel.rows))
        self.inner = merged(kernel, range(kernel.rows, len(kernel.space)))
        self.count = math.prod(kernel.row_shape)
        self.length = math.prod(kernel.inner_shape)
        self.across = in_columns(kernel)
        sums = [n for n, node in enumerate(kernel.nodes) if node.operation in REDUCTIONS]
        self.many = len(sums) >= MANY
        self.words = max([-(-self._wide(n).itemsize // 8) for n in sums], default=1)
        """Size of a reduction's partial results, in numbers of 8 bytes."""
        self.sharing, self.together = self._threads()

    def _threads(self) -> tuple[int, int]:
        """Return how many threads share a row, and how many rows a block computes."""
        most = max(self.length // EACH, 1)
        if self.across:
            together = next((n for n in (32, 16) if self.count >= n * 128), BESIDE)
            return min(_power_of_two(most), THREADS * 2 // together), together
        several = self.count > FEW or self.many
        sharing = min(_power_of_two(most), SHARING if several else 4 * SHARING)
        return sharing, max(THREADS // 2 // sharing, 1)

    @property
    def is_parted(self) -> bool:
        """Whether several blocks share a row: rows are few and long, and one pass over them is enough."""
        _, *later = passes(self.kernel)
        once = not any(pass_.sums or pass_.writes for pass_ in later)
        return once and blocks_share(self.count, self.length, self.across)

    def written(self) -> CudaText:
        blocks = -(-self.count // self.together)
        threads = self.sharing * self.together
        self._held()
        self._whole(f"blockIdx.x * ({self.index}){self.together} + which")
        return CudaText(self.function(self.name, threads), (Launch(self.name, blocks, threads),), 0)

    def _whole(self, row: str) -> None:
        """Add the lines that compute all of a row."""
        self._place(row)
        for pass_ in passes(self.kernel):
            self.rows_needed(pass_.nodes)
            if pass_.sums or pass_.writes:
                self._pass(pass_, "lane", str(self.length))
            for number in pass_.sums:
                self.reduce(number)
        self._write_rows()

    def _held(self) -> None:
        """Declare memory for partial results of threads."""
        if self.sharing > 1:
            self.do(f"__shared__ double held[{self.sharing * self.together * self.words}];")

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

    def _pass(self, pass_: Pass, first: str, last: str) -> None:
        """Go over the elements of a row: accumulate, and write."""
        kernel = self.kernel
        for number in pass_.sums:
            node = kernel.nodes[number]
            wide = accumulated_in(node.operation, node.dtype)
            start = literal(np.asarray(identity(node.operation, wide), wide)[()], wide)
            self.do(f"{c_type(wide)} s{number} = {start};")
        roots = [kernel.nodes[number].operands[0] for number in pass_.sums]
        roots += [kernel.outputs[k].node for k in pass_.writes]
        self.begin(f"for ({self.index} j = {first}; j < {last}; j += {self.sharing})")
        self.counted("j", self.inner)
        self.elements(roots)
        for number in pass_.sums:
            self.do(f"s{number} = {self._combined(number, f's{number}', self._of_sum(number))};")
        for k in pass_.writes:
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
        """Return the result of a reduction shared by the threads of a row, which combine halves repeatedly."""
        if self.sharing == 1:
            return f"s{number}"
        type_, near = c_type(self._wide(number)), self.together if self.across else 1
        held = f"(({type_}*)held)"
        self.do(f"{held}[thread] = s{number};")
        self.do("__syncthreads();")
        self.begin(f"for (int half = {self.sharing // 2}; half > 0; half /= 2)")
        x, y = f"{held}[thread]", f"{held}[thread + half * {near}]"
        self.do(f"if (lane < half) {x} = {self._combined(number, x, y)};")
        self.do("__syncthreads();")
        self.end()
        first = "which" if self.across else f"which * {self.sharing}"
        self.do(f"const {type_} t{number} = {held}[{first}];")
        self.do("__syncthreads();")  # before others are held there
        return f"t{number}"

    def _write_rows(self) -> None:
        outputs = [k for k, output in enumerate(self.kernel.outputs) if not output.of_elements]
        self.rows_needed([self.kernel.outputs[k].node for k in outputs])
        for k in outputs:
            self.do("if (live && lane == 0)")
            self.write(k)


class _Parts(_Rows):
    """Several blocks share a row, and others combine their results."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel, name)
        if not self.across:
            self.sharing, self.together = SHARING, 1
        self.parts = min(-(-self.length // PART), MOST_PARTS)
        self.sums: list[int] = []

    def _combined_at(self, number: int) -> str:
        """Return the address of a reduction's partial results of rows."""
        start = self.sums.index(number) * self.count * self.parts * self.words
        return f"(({c_type(self._wide(number))}*)(scratch + {start}))"

    def written(self) -> CudaText:
        first, *_ = passes(self.kernel)
        self.sums = first.sums
        name, last = f"{self.name}_parts", f"{self.name}_rows"
        threads, together = self.sharing * self.together, self.together
        text = self._of_parts(name, threads, first) + self._of_rows(last)
        scratch = 8 * len(self.sums) * self.count * self.parts * self.words
        blocks = -(-self.count // together) * self.parts
        launches = (Launch(name, blocks, threads), Launch(last, self.count, SHARING))
        return CudaText(text, launches, scratch)

    def _of_parts(self, name: str, threads: int, pass_: Pass) -> str:
        """Return the function that reduces parts of rows."""
        size = -(-self.length // self.parts)
        self._held()
        self._place(f"blockIdx.x / {self.parts} * ({self.index}){self.together} + which")
        self.do(f"const {self.index} part = blockIdx.x % {self.parts};")
        self.do(f"const {self.index} end = (part + 1) * {size};")
        self.do(f"const {self.index} last = end < {self.length} ? end : {self.length};")
        self.rows_needed(pass_.nodes)
        self._pass(pass_, f"part * {size} + lane", "last")
        for number in pass_.sums:
            place = f"{self._combined_at(number)}[r * {self.parts} + part]"
            self.do(f"if (live && lane == 0) {place} = {self.shared(number)};")
        return self.function(name, threads, True)

    def _of_rows(self, name: str) -> str:
        """Return the function that reduces the results of parts."""
        self.here = {}
        self.across, self.sharing, self.together = False, SHARING, 1
        self._held()
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
        for pass_ in passes(self.kernel):
            self.rows_needed(pass_.nodes)
        self._write_rows()
        return self.function(name, SHARING, True)


class _RowsInBlock(_Rows):
    """One block computes all rows, and has memory for partial results."""

    def __init__(self, kernel: Kernel, threads: int) -> None:
        self.threads = threads
        super().__init__(kernel, "")

    def _threads(self) -> tuple[int, int]:
        sharing = min(max(self.length // EACH, 1), max(self.threads // self.count, 1))
        sharing = _power_of_two(sharing)
        return sharing, self.threads // sharing

    def all_rows(self) -> int:
        """Add the lines for all rows; return the bytes that are held."""
        self.begin(f"for ({self.index} first = 0; first < {self.count}; first += {self.together})")
        self._whole("first + which")
        self.end()
        return 8 * self.threads * self.words if self.sharing > 1 else 0


def lines_in_block(kernel: Kernel, threads: int) -> tuple[list[str], int]:
    """Return the lines of a kernel that one block computes, and the bytes that it needs as `held`.

    Its arrays are `a0`, `a1` and so on, and its outputs `o0`, `o1` and so on.
    """
    if _is_of_elements(kernel):
        form = _Elements(kernel, "")
        form.from_place("threadIdx.x", threads)
        return form.lines, 0
    rows = _RowsInBlock(kernel, threads)
    held = rows.all_rows()
    return rows.lines, held


def _power_of_two(number: int) -> int:
    """Return the greatest power of two that is not greater."""
    return 1 << (number.bit_length() - 1)
