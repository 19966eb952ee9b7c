"""A kernel: an index space, reads, scalar operations, reductions and writes.

The axes of the index space are rows, then those that reductions go along. A node is of the elements, or of the rows
alone; what a reduction gives is of the rows, and elements that need it are computed in a further pass over the row.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.kernels.access import Access, box_text, inside, is_part
from fungrad.compile.kernels.called import weight_of
from fungrad.compile.kernels.fused import Block
from fungrad.compile.kernels.operations import FUNCTIONS, OPERATIONS, Node, compute, computed_in
from fungrad.core.cached import cached_property
from fungrad.core.errors import ExprError
from fungrad.core.types import ArrayType, Shape


class Output(NamedTuple):
    """An array that a kernel writes: a node, for each element or for each row.

    Its axes are `axes` of the index space; the first ones, if that is None.
    Neighbours along each axis lie `strides` elements apart; as in C order, if that is None.
    """

    node: int
    type: ArrayType
    of_elements: bool
    strides: tuple[int, ...] | None = None
    axes: tuple[int, ...] | None = None

    @property
    def places(self) -> tuple[int, ...]:
        """The axes of the index space that its own are."""
        return tuple(range(self.type.ndim)) if self.axes is None else self.axes


REDUCTIONS: dict[str, np.ufunc] = {
    "reduce_sum": np.add,
    "reduce_prod": np.multiply,
    "reduce_max": np.maximum,
    "reduce_min": np.minimum,
    "reduce_and": np.logical_and,
    "reduce_or": np.logical_or,
}
"""Reductions along a row, as NumPy's functions."""
MOVING = frozenset(["constant", "load", "convert", "bitcast", "select", "complex"])
"""Operations on numbers that are not computed with, too."""
KNOWN = MOVING.union(["inside", "iota"], OPERATIONS, FUNCTIONS, REDUCTIONS)
"""All operations."""


@dataclass(frozen=True, eq=False, repr=False)
class Kernel(Block):
    """One loop's computation.

    Attributes
    ----------
    space
        The lengths of the axes of the index space.
    rows
        How many of the axes, the first ones, reductions do not go along.
    operands
        What is read.
    nodes
        Operations, each after its operands.
    outputs
        What is written.
    safe
        Nodes that have to be true everywhere for the results to be right.
    internal
        Whether nobody but its program sees the outputs, so that these may lie in C order however the operands do.
    over
        By the number of an output, the operand over which it is written.
    given
        Which of the arrays that it is given each operand is; each another one, if this is empty.
    """

    space: Shape
    rows: int
    operands: tuple[Access, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    safe: tuple[int, ...] = ()
    internal: bool = True
    over: Mapping[int, int] = dataclasses.field(default_factory=dict)
    given: tuple[int, ...] = ()

    @property
    def operand_types(self) -> list[ArrayType]:
        if not self.given:
            return [x.type for x in self.operands]
        by_position = dict(zip(self.given, self.operands, strict=True))
        return [by_position[k].type for k in range(len(by_position))]

    def array_of(self, operand: int) -> int:
        """Return which of the arrays that it is given an operand is."""
        return self.given[operand] if self.given else operand

    @property
    def output_types(self) -> list[ArrayType]:
        return [x.type for x in self.outputs]

    @property
    def followed(self) -> range:
        return range(0 if self.internal else len(self.operand_types))

    @property
    def told_apart(self) -> frozenset[int]:
        """Operands that it converts; all, if some are computed in parts or wider, joined, or made complex."""
        # A conversion to booleans is `ne`. What ufuncs compute lies in C order, however elements are repeated.
        converted = {
            v for node in self.nodes if node.operation in ("convert", "ne") for v in node.operands
        }
        if any(node.operation in ("inside", "complex") for node in self.nodes):
            return frozenset(range(len(self.operand_types)))
        if converted and any(computed_in(x.type.dtype) != x.type.dtype for x in self.operands):
            return frozenset(range(len(self.operand_types)))
        loads = [self.nodes[v] for v in converted if self.nodes[v].operation == "load"]
        return frozenset([self.array_of(node.value) for node in loads])

    @property
    def summary(self) -> str:
        return f"kernel[space={self.space}, nodes={len(self.nodes)}]"

    @property
    def work(self) -> int:
        return math.prod(self.space) * self.weight_of(range(len(self.nodes)))

    def weight_of(self, numbers: Iterable[int]) -> int:
        """Return how many operations some nodes are."""
        return weight_of([self.nodes[n] for n in numbers])

    @property
    def row_shape(self) -> Shape:
        """The lengths of the axes of rows."""
        return self.space[: self.rows]

    @property
    def inner_shape(self) -> Shape:
        """The lengths of the axes that reductions go along."""
        return self.space[self.rows :]

    @cached_property
    def of_elements(self) -> tuple[bool, ...]:
        """Of each node, whether it differs along a row."""
        varying: list[bool] = []
        for node in self.nodes:
            if node.operation == "load":
                axes = self.operands[node.value].axes
                varies = any(a is not None and a >= self.rows for a in axes)
                varies = varies or any(varying[i] for i in node.operands)
            elif node.operation == "inside":
                varies = any(a >= self.rows for a, _, _ in node.value)
            elif node.operation == "iota":
                varies = node.value >= self.rows
            elif node.operation in REDUCTIONS:
                varies = False
            else:
                varies = any(varying[i] for i in node.operands)
            varying.append(varies)
        return tuple(varying)

    @cached_property
    def stages(self) -> tuple[int, ...]:
        """Of each node, how many passes over the row come before it."""
        counts: list[int] = []
        for node in self.nodes:
            stage = max([counts[i] for i in node.operands], default=0)
            counts.append(stage + (node.operation in REDUCTIONS))
        return tuple(counts)

    @cached_property
    def last_pass(self) -> int:
        """The number of the last pass over a row."""
        sums = [n for n, node in enumerate(self.nodes) if node.operation in REDUCTIONS]
        numbers = [self.stages[n] - 1 for n in sums]
        numbers += [self.stages[x.node] for x in self.outputs if x.of_elements]
        return max(numbers, default=0)

    def places_for(self, output: int) -> list[int]:
        """Return operands over which an output can be written: no pass reads them after the last write."""
        wanted = self.outputs[output]
        if not self._is_written_last(output):
            return []
        own = Access(wanted.type, wanted.places, wanted.strides)
        other = {
            self.array_of(j) for j, x in enumerate(self.operands) if not _same_elements(x, own)
        }
        return [j for j in range(len(self.operand_types)) if j not in other]

    def written(self, over: Mapping[int, int]) -> Kernel:
        return dataclasses.replace(self, over={**over}).check()

    def with_operands(self, operands: Sequence[Access]) -> Kernel:
        """Return the same that reads its operands where they lie otherwise."""
        return dataclasses.replace(self, operands=tuple(operands))

    def _is_written_last(self, output: int) -> bool:
        wanted = self.outputs[output]
        late = self.stages[wanted.node] >= self.last_pass
        return wanted.of_elements and bool(wanted.type.shape) and late

    def can_be_given(self, output: int) -> bool:
        return self._is_written_last(output) and self.outputs[output].strides is None

    def into(self, outputs: Sequence[int]) -> Kernel:
        count = len(self.operand_types)
        wanted = [self.outputs[k] for k in outputs]
        operands = self.operands + tuple([Access(x.type, x.places) for x in wanted])
        given = (*self.given, *range(count, count + len(outputs))) if self.given else ()
        kernel = dataclasses.replace(self, operands=operands, given=given)
        return kernel.written({**self.over, **{k: count + n for n, k in enumerate(outputs)}})

    def check(self) -> Kernel:
        """Return self if well formed.

        Raises
        ------
        ExprError
            If a node comes before its operands, has a dtype that kernels do not have, or an operation that is not known; if an operand does
            not lie in the index space.
        """
        for number, node in enumerate(self.nodes):
            if wrong := self._wrong(number, node):
                raise ExprError(f"node {number}, {node}: {wrong}")
        for access in self.operands:
            if not access.fits(self.space):
                raise ExprError(f"{access} does not lie in {self.space}")
        for output in self.outputs:
            shape = self.space if output.of_elements else self.row_shape
            axes = output.places
            fits = sorted(axes) == [*range(len(shape))]
            fits = fits and output.type.shape == tuple([shape[a] for a in axes])
            if not fits or output.type.dtype != self.nodes[output.node].dtype:
                raise ExprError(f"{output} does not lie in {self.space}")
            if self.of_elements[output.node] and not output.of_elements:
                raise ExprError(f"{output} is different along a row")
        places = [*self.over.values()]
        if len({*places}) < len(places) or any(
            j not in self.places_for(k) for k, j in self.over.items()
        ):
            raise ExprError(f"outputs cannot be written over operands as {dict(self.over)} says")
        return self

    def _wrong(self, number: int, node: Node) -> str:
        """Return the fault of a node, or ""."""
        operation, dtype, operands, value = node
        if operands and max(operands) >= number:
            return "it comes before its operands"
        wide = computed_in(dtype)
        if wide is None or (wide != dtype and operation not in MOVING):
            return f"kernels have no {dtype}"
        if operation == "inside" and not is_part(value, self.space):
            return f"that is no part of {self.space}"
        return "" if operation in KNOWN else "the operation is not known"

    def interpret(self, *arrays: Any) -> list[Any]:
        inner = tuple(range(self.rows, len(self.space)))
        values: list[Any] = []
        for node in self.nodes:
            operands = [values[i] for i in node.operands]
            if (ufunc := REDUCTIONS.get(node.operation)) is not None:
                row = np.broadcast_to(operands[0], self.space)
                value = ufunc.reduce(row, inner, node.dtype, keepdims=True)
            elif node.operation == "load":
                value = self.operands[node.value].of(
                    arrays[self.array_of(node.value)], self.space, operands
                )
            elif node.operation == "inside":
                value = inside(node.value, self.space)
            elif node.operation == "iota":
                shape = tuple([n if a == node.value else 1 for a, n in enumerate(self.space)])
                value = np.arange(self.space[node.value], dtype=node.dtype).reshape(shape)
            elif node.operation == "constant":
                value = node.value
            else:
                value = compute(node, operands)
            values.append(value)
        if not all(np.all(values[i]) for i in self.safe):
            raise FloatingPointError("an argument is out of the range of the kernel")
        return [self._written(output, values[output.node]) for output in self.outputs]

    def _written(self, output: Output, value: Any) -> Any:
        value = np.asarray(value, output.type.dtype)
        shape = self.space
        if not output.of_elements:
            value = value.reshape(value.shape[: self.rows]) if value.ndim else value
            shape = self.row_shape
        return np.broadcast_to(value, shape).transpose(output.places).copy()[()]

    def __str__(self) -> str:
        """Show the index space, then a node a line."""
        rows, inner = list(self.row_shape), list(self.inner_shape)
        operands = ", ".join([str(x) for x in self.operands])
        lines = [f"{{ kernel over {rows} x {inner} of {operands} ."]
        for number, node in enumerate(self.nodes):
            what = " ".join([node.operation, *[f"n{i}" for i in node.operands]])
            value = "" if node.value is None else f" {node.value}"
            value = f" {box_text(node.value)}" if node.operation == "inside" else value
            where = "elements" if self.of_elements[number] else "rows"
            lines.append(
                f"  n{number}:{node.dtype} = {what}{value}    {where}, pass {self.stages[number]}"
            )
        outputs = ", ".join(
            [f"n{o.node}{'' if o.of_elements else ' of rows'}" for o in self.outputs]
        )
        over = "".join([f", over operand {j}" for j in self.over.values()])
        return "\n".join([*lines, f"  write {outputs}{over} }}"])

    __repr__ = __str__


def _same_elements(x: Access, y: Access) -> bool:
    """Whether two arrays have elements of one kind at the same places."""
    dtypes = x.type.dtype, y.type.dtype
    return dtypes[0] == dtypes[1] and x._replace(type=y.type) == y and x.type.shape == y.type.shape


def over_all(
    nodes: list[Node], space: Shape, operands: tuple[ArrayType, ...], rows: int | None = None
) -> Kernel:
    """Return a kernel of operands that lie along all axes, and that gives its last node."""
    count = len(space) if rows is None else rows
    type_ = ArrayType(space[:count], nodes[-1].dtype)
    accesses = tuple([Access(t, tuple(range(len(space)))) for t in operands])
    output = Output(len(nodes) - 1, type_, rows is None)
    return Kernel(space, len(space) if rows is None else rows, accesses, tuple(nodes), (output,))
