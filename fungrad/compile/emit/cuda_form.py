"""The lines of a function in CUDA's C that computes nodes of a kernel at the place at hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fungrad.compile.emit.cuda_types import c_type, literal, operation
from fungrad.compile.kernels.access import Box
from fungrad.compile.kernels.kernel import REDUCTIONS, Kernel
from fungrad.compile.kernels.operations import Node
from fungrad.compile.kernels.spaces import Axis, cone_of, strides

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


class Form:
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
        self.here: dict[int, str] = {}
        """By axis of the index space, the last one of those merged: the place."""
        self.row: set[int] = set()  # nodes of rows that are there

    def do(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def begin(self, line: str) -> None:
        self.do(line + " {")
        self.depth += 1

    def end(self) -> None:
        self.depth -= 1
        self.do("}")

    def function(self, name: str, threads: int, scratch: bool = False) -> str:
        """Return the definition of a function of the lines so far, for blocks of so many threads."""
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
        return "\n".join(
            [f"KERNEL __launch_bounds__({threads}) {name}({', '.join(given)}) {{", *lines, "}\n"]
        )

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
        """Return the sum of places, each times its number of elements."""
        summands = []
        for place, step in terms:
            if step and place != "0":
                wide = f"({self.index}){place}"
                summands.append(wide if step == 1 else f"{wide} * {step}")
        if first or not summands:
            summands.append(str(first))
        return " + ".join(summands)

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
        conditions = []
        for axis, low, high in box:
            place = self.here.get(axis, "0")
            conditions.append(f"{low} <= {place} && {place} < {high}")
        return " && ".join(conditions) or "1"

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

    def array(self, output: int) -> str:
        """Return the name of the array that an output is written to."""
        over = self.kernel.over
        return f"a{over[output]}" if output in over else f"o{output}"

    def write(self, output: int) -> None:
        """Add the line that writes an output at the place at hand."""
        kernel = self.kernel
        step = self.written_at[output]
        place = self._offset([(i, step.get(a, 0)) for a, i in self.here.items()])
        self.do(f"{self.array(output)}[{place}] = n{kernel.outputs[output].node};")
