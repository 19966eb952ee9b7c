"""A full reduction as one kernel of parts and one that reduces their results.

The parts follow from the size alone, so that the bits of a sum are the same for any number of threads.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

from fungrad.compile.kernels.access import Access
from fungrad.compile.kernels.kernel import REDUCTIONS, Kernel, Output
from fungrad.compile.kernels.operations import Node
from fungrad.compile.kernels.spaces import Axis, merged
from fungrad.core.types import ArrayType

PART = 1 << 16
"""Elements of a part, about."""
MOST = 1 << 12
"""Parts, at most."""
VECTORS = 1 << 6
"""Elements of several vectors: their multiples are computed without a rest."""
FEWEST = 1 << 23
"""Operations on elements from which there are parts, each worth a thread."""


class Partial(NamedTuple):
    """A kernel in parts.

    Attributes
    ----------
    parts
        Gives what each reduction is of each part, a row. Its operands are those of the whole kernel.
    rest
        Gives what they are of what is left; None if nothing is.
    last
        Takes the operands without axes, `numbers`, and then for each reduction an array of what the parts and the rest gave.
    numbers
        Which operands of the whole kernel have no axes.
    """

    parts: Kernel
    rest: Kernel | None
    last: Kernel
    numbers: tuple[int, ...]


def in_parts(kernel: Kernel) -> Partial | None:
    """Return a kernel in parts; None if that is not worth it, or not so simple."""
    axes = merged(kernel, range(len(kernel.space)))
    if kernel.work < FEWEST or kernel.rows or not axes or not _is_simple(kernel):
        return None
    (first, _), others = axes[0], axes[1:]
    count = math.prod([axis.length for axis in others])
    length = _length(first, count)
    parts, rest = divmod(first, length)
    if parts < 2:
        return None
    sums = [n for n, node in enumerate(kernel.nodes) if node.operation in REDUCTIONS]
    partial = _partial(kernel, sums)
    heads = [_in(access, axes[0]) for access in kernel.operands]
    lengths = tuple([axis.length for axis in others])
    cut = [
        _cut(x, others, (parts, length) if head else (), 2, 0)
        for x, head in zip(kernel.operands, heads, strict=True)
    ]
    left = [
        _cut(x, others, (first,) if head else (), 1, parts * length)
        for x, head in zip(kernel.operands, heads, strict=True)
    ]
    given = tuple([Output(n, ArrayType((parts,), kernel.nodes[n].dtype), False) for n in sums])
    one = tuple([o._replace(type=o.type.update(shape=())) for o in given])
    whole = dataclasses.replace(partial, space=(parts, length, *lengths), rows=1)
    remaining = dataclasses.replace(partial, space=(rest, *lengths))
    last, numbers = _last(kernel, sums, parts + (rest > 0))
    return Partial(
        dataclasses.replace(whole, operands=tuple(cut), outputs=given).check(),
        dataclasses.replace(remaining, operands=tuple(left), outputs=one).check() if rest else None,
        last,
        numbers,
    )


def _length(first: int, count: int) -> int:
    """Return the number of rows of a part, each of `count` elements.

    Where possible, parts are equal and of whole vectors, so that nothing is left that needs code of its own.
    """
    length = max(PART // count, first // MOST, 1)
    least = -(-first // length)
    for parts in range(least, min(2 * least, MOST) + 1):
        if first % parts == 0 and first // parts * count % VECTORS == 0:
            return first // parts
    return length


def _is_simple(kernel: Kernel) -> bool:
    """Whether elements serve a single round of reductions of arrays in C order."""
    reduces = any(node.operation in REDUCTIONS for node in kernel.nodes)
    plain = all(
        x.starts is None
        and x.strides is None
        and not x.box
        and list(x.axes) == sorted(map(int, x.axes))  # type: ignore[arg-type]
        for x in kernel.operands
        if None not in x.axes
    ) and all(None not in x.axes for x in kernel.operands)
    places = any(node.operation in ("iota", "inside") for node in kernel.nodes)
    of_numbers = not any(output.of_elements for output in kernel.outputs)
    return reduces and plain and not places and of_numbers and max(kernel.stages) == 1


def _in(access: Access, axis: Axis) -> bool:
    return axis.axes[-1] in access.axes


def _cut(
    access: Access, others: Sequence[Axis], head: tuple[int, ...], ahead: int, start: int
) -> Access:
    """Return an operand along the axes in front, if it has any, and the others that it has."""
    kept = [k for k, axis in enumerate(others) if _in(access, axis)]
    shape = (*head, *[others[k].length for k in kept])
    axes = (*range(len(head)), *[ahead + k for k in kept])
    cut = Access(access.type.update(shape=shape), axes)
    if not start or not head:
        return cut
    return cut._replace(starts=(start, *[0] * len(kept)), steps=(1,) * len(shape))


def _partial(kernel: Kernel, sums: Sequence[int]) -> Kernel:
    """Return the nodes that reductions depend on, in the same places."""
    nodes = [
        node
        if kernel.stages[n] == 0 or n in sums
        else Node("constant", node.dtype, (), node.dtype.type(0))
        for n, node in enumerate(kernel.nodes)
    ]
    return dataclasses.replace(kernel, nodes=tuple(nodes), outputs=(), safe=(), over={})


def _last(kernel: Kernel, sums: Sequence[int], count: int) -> tuple[Kernel, tuple[int, ...]]:
    """Return the kernel that reduces the parts' results, and the scalar operands that it takes first."""
    numbers = tuple([k for k, x in enumerate(kernel.operands) if not x.axes])
    operands = [Access(kernel.operands[k].type, ()) for k in numbers]
    nodes: list[Node] = []
    place: dict[int, int] = {}
    for number, node in enumerate(kernel.nodes):
        if kernel.of_elements[number]:
            continue
        if number in sums:
            operands.append(Access(ArrayType((count,), node.dtype), (0,)))
            nodes.append(Node("load", node.dtype, (), len(operands) - 1))
            node = node._replace(operands=(len(nodes) - 1,))
        else:
            value = numbers.index(node.value) if node.operation == "load" else node.value
            node = node._replace(operands=tuple([place[i] for i in node.operands]), value=value)
        place[number] = len(nodes)
        nodes.append(node)
    outputs = tuple([o._replace(node=place[o.node]) for o in kernel.outputs])
    safe = tuple([place[n] for n in kernel.safe])
    last = Kernel((count,), 0, tuple(operands), tuple(nodes), outputs, safe)
    return last.check(), numbers
