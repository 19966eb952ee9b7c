"""Index spaces: merged axes, and the axes along which nodes differ or are needed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from fungrad.compile.kernels.access import Access, Box, in_order
from fungrad.compile.kernels.kernel import REDUCTIONS, Kernel, Output

EMPTY: Mapping[int, int] = MappingProxyType({})


class Axis(NamedTuple):
    """One or several axes of an index space that every operand has whole or not at all."""

    length: int
    axes: tuple[int, ...]


def merged(kernel: Kernel, axes: Sequence[int]) -> list[Axis]:
    """Return `axes` of the index space, neighbours joined where all operands go on from one to the next."""
    counting = {node.value for node in kernel.nodes if node.operation == "iota"}
    counting.update([axis for box in boxes(kernel) for axis, _, _ in box])
    arrays: list[Access | Output] = [*kernel.operands, *kernel.outputs]
    steps = [strides(x) for x in arrays]
    joined: list[Axis] = []
    for axis in axes:
        length = kernel.space[axis]
        if length == 1:
            continue
        last = joined[-1] if joined else Axis(1, (axis,))
        before = last.axes[-1]
        if before == axis or not counting.isdisjoint((axis, before)):
            joined.append(Axis(length, (axis,)))
        elif all(step.get(before, 0) == step.get(axis, 0) * length for step in steps):
            joined[-1] = Axis(last.length * length, (*last.axes, axis))
        else:
            joined.append(Axis(length, (axis,)))
    return joined


def strides(array: Access | Output) -> dict[int, int]:
    """Return how many elements of an array lie between places, by axis of the index space."""
    if isinstance(array, Access):
        distances: dict[int, int] = {}
        for axis, _, step, apart in array.lines:
            if axis is not None and axis >= 0:
                distances[axis] = step * apart
        return distances
    given = in_order(array.type.shape) if array.strides is None else array.strides
    return dict(zip(array.places, given, strict=True))


def in_columns(kernel: Kernel) -> bool:
    """Whether neighbours in memory belong to different rows, so that a vector spans rows."""
    rows = merged(kernel, range(kernel.rows))
    inner = merged(kernel, range(kernel.rows, len(kernel.space)))
    if not (rows and inner):
        return False
    across, along = rows[-1].axes[-1], inner[-1].axes[-1]
    written = [strides(x) for x in kernel.outputs if x.of_elements]
    if written:
        return all(step.get(across) == 1 for step in written)
    if any(strides(x).get(across) != 1 for x in kernel.outputs):
        return False
    read = [step for x in kernel.operands if {across, along} <= (step := strides(x)).keys()]
    near = [sum(abs(step[axis]) == 1 for step in read) for axis in (across, along)]
    return near[0] > near[1]


def boxes(kernel: Kernel) -> list[Box]:
    """Return the parts of the index space that the kernel tells apart."""
    asked = [node.value for node in kernel.nodes if node.operation == "inside"]
    return [*asked, *[access.box for access in kernel.operands]]


def nodes_needed(kernel: Kernel) -> set[int]:
    """Return the nodes that outputs depend on."""
    needed = {output.node for output in kernel.outputs} | {*kernel.safe}
    for number in range(len(kernel.nodes) - 1, -1, -1):
        if number in needed:
            needed.update(kernel.nodes[number].operands)
    return needed


class Pass(NamedTuple):
    """One pass over the elements of a row.

    Attributes
    ----------
    nodes
        Nodes of the rows that come before it.
    sums
        Its reductions.
    writes
        The outputs of elements that it writes.
    """

    nodes: list[int]
    sums: list[int]
    writes: list[int]


def passes(kernel: Kernel) -> list[Pass]:
    """Return the passes over a row, in order; final nodes of rows alone are no pass over elements."""
    stages, needed, all_passes = kernel.stages, nodes_needed(kernel), []
    reductions = [n for n in needed if kernel.nodes[n].operation in REDUCTIONS]
    for stage in range(max(stages, default=0) + 1):
        nodes = [n for n in needed if stages[n] == stage and not kernel.of_elements[n]]
        sums = [n for n in reductions if stages[n] == stage + 1]
        writes = [
            k
            for k, output in enumerate(kernel.outputs)
            if output.of_elements and stages[output.node] == stage
        ]
        all_passes.append(Pass(sorted(nodes), sorted(sums), writes))
    return all_passes


def axes_of(kernel: Kernel) -> list[frozenset[int]]:
    """Return along which axes of the index space each node differs."""
    by_node: list[frozenset[int]] = []
    for node in kernel.nodes:
        axes = frozenset[int]().union(*[by_node[i] for i in node.operands])
        if node.operation == "load":
            axes |= strides(kernel.operands[node.value]).keys()
        elif node.operation == "iota":
            axes |= {node.value}
        elif node.operation == "inside":
            axes |= {axis for axis, _, _ in node.value}
        elif node.operation in REDUCTIONS:
            axes -= {*range(kernel.rows, len(kernel.space))}
        by_node.append(axes)
    return by_node


def cone_of(
    kernel: Kernel, roots: Iterable[int], kept: Container[int], same: Mapping[int, int] = EMPTY
) -> list[int]:
    """Return the nodes of elements needed for others, in order, without operands of kept ones.

    Some nodes are the `same` as others that come before.
    """
    needed = {r for r in roots if kernel.of_elements[r]}
    for number in range(len(kernel.nodes) - 1, -1, -1):
        if number in needed and number not in kept:
            operands = kernel.nodes[number].operands
            if number in same:
                operands = (same[number],)
            needed.update([i for i in operands if kernel.of_elements[i]])
    return sorted(needed)
