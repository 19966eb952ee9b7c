"""The parts of arrays that processes have, as an index of shards says which they are."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.extend.trees import leaves_with_paths
from fungrad.sharding import Mesh, PartitionSpec
from fungrad.sharding.parts import runs, specs_of
from fungrad.training.structure import Known, declared, put_together

INDEX = "index"
KEY = "sharded checkpoint 1"
NAME = re.compile(r"[0-9a-f]{16}-\d+\.shard")

Runs = tuple[tuple[tuple[int, int], ...], ...]
"""Runs of a part along each axis, in its order: start in the whole, and length."""


@dataclasses.dataclass
class Piece:
    """A part of an array, and where it is."""

    shard: int
    member: int
    runs: Runs


def runs_of(mesh: Mesh, spec: PartitionSpec, shape: Sequence[int], process: int) -> Runs:
    """Return a process's runs of an array."""
    names = [*spec, *[()] * (len(shape) - len(spec))]
    return tuple(
        tuple((r.start, r.stop - r.start) for r in runs(mesh, along, n, process))
        for along, n in zip(names, shape, strict=True)
    )


def whole_of(shape: Sequence[int]) -> Runs:
    """Return all of an array of this shape."""
    return tuple(((0, n),) for n in shape)


def size_of(part: Runs) -> int:
    """Return how many elements there are."""
    return math.prod(sum(n for _, n in axis) for axis in part)


class Outline:
    """A tree with an array of its shape, but without memory, for each of its arrays."""

    def __init__(self, nodes: list[Any], known: Known) -> None:
        self.stubs = [np.broadcast_to(np.False_, shape) for _, shape in declared(nodes)]
        self.tree = put_together(nodes, self.stubs, known)

    def placed(self, specs: Any, label: str) -> list[tuple[str, PartitionSpec]]:
        """Return the path and the spec of each array."""
        numbers = {id(stub): i for i, stub in enumerate(self.stubs)}
        pairs = [(f"array {i}", PartitionSpec()) for i in range(len(self.stubs))]
        leaves = leaves_with_paths(self.tree)
        for (path, leaf), spec in zip(leaves, specs_of(specs, self.tree, label), strict=True):
            if id(leaf) in numbers:
                pairs[numbers[id(leaf)]] = path or "the tree", spec
            elif any(spec):
                raise TypeError(
                    f"{label}: {path or 'the tree'} is divided by {spec}, and is no array with axes"
                )
        return pairs
