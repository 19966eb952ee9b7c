"""Elementary functions in kernels: a few are inlined, many are calls of one function each.

LLVM's time grows with the lines of a kernel, and a sine is some forty of them. A call costs a kernel about as much as five operations.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterable, Sequence
from typing import Any

from fungrad.compile.kernels import functions
from fungrad.compile.kernels.operations import FUNCTIONS, DType, Node
from fungrad.compile.kernels.scalar import Scalar, Scalars

SPELLED = 512
"""Up to how many operations a kernel is, its elementary functions spelled out, none of them is called."""
FEW = 2
"""Most occurrences of an elementary function in a longer kernel that are inlined."""


class Spelled(Scalars):
    """Records elementary functions as the operations that they are made of."""

    def __init__(self) -> None:
        super().__init__()
        self.safe: list[int] = []  # nodes that have to be true everywhere

    def require(self, truth: Scalar) -> None:
        """Require a truth everywhere for the results to count."""
        self.safe.append(truth.index)

    def function(self, name: str, *operands: Scalar) -> Scalar:
        """Record an elementary function."""
        if (safe := functions.SAFE.get(name)) is not None:
            self.require(safe(self, *operands))
        result: Scalar = getattr(functions, name)(self, *operands)
        return result


class Body(Spelled):
    """Body of a called function: elementary functions of the same operands.

    Attributes
    ----------
    results
        The nodes of the functions.
    """

    def __init__(self, names: Sequence[str], dtype: DType, count: int) -> None:
        super().__init__()
        operands = [self.node("load", dtype, value=k) for k in range(count)]
        self.results = [self.function(name, *operands).index for name in names]


@functools.lru_cache(maxsize=1 << 8)
def operations_in(name: str, dtype: DType, count: int) -> int:
    """Return how many operations an elementary function of so many operands is."""
    return len(Body([name], dtype, count).nodes) - count


def weight(node: Node) -> int:
    """Return how many operations a node is, its function spelled out."""
    if node.operation not in FUNCTIONS:
        return 1
    return operations_in(node.operation, node.dtype, len(node.operands))


def weight_of(nodes: Iterable[Node]) -> int:
    """Return how many operations nodes are, their functions spelled out."""
    return sum(map(weight, nodes))


def spelled(
    nodes: Sequence[Node], safe: Iterable[int]
) -> tuple[Sequence[Node], Sequence[int], Sequence[int]]:
    """Return nodes with functions inlined or called, the required truths, and the new numbers of nodes."""
    counts = collections.Counter(
        [(x.operation, x.dtype) for x in nodes if x.operation in FUNCTIONS]
    )
    if not counts:
        return nodes, [*safe], range(len(nodes))
    short = weight_of(nodes) <= SPELLED
    namespace, place = Spelled(), list[Scalar]()
    for operation, dtype, operands, value in nodes:
        given = [place[i] for i in operands]
        if operation in FUNCTIONS and (short or counts[operation, dtype] <= FEW):
            place.append(namespace.function(operation, *given))
        else:
            place.append(namespace.node(operation, dtype, *given, value=value))
    required = [*[place[i].index for i in safe], *namespace.safe]
    return namespace.nodes, required, [x.index for x in place]


def with_same_operands(nodes: Sequence[Node], groups: Iterable[Any]) -> dict[int, list[int]]:
    """Return, for each node that is a function, the functions of the same operands in the same group."""
    found: dict[Any, list[int]] = {}
    for number, (node, group) in enumerate(zip(nodes, groups, strict=True)):
        if node.operation in FUNCTIONS:
            found.setdefault((node.operands, node.dtype, group), []).append(number)
    return {number: numbers for numbers in found.values() for number in numbers}
