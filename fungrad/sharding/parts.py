"""Each process's part of an array, and messages where there is none."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad import tree
from fungrad.extend.trees import broadcast_prefix
from fungrad.sharding.mesh import Mesh, PartitionSpec

NOT_DIVIDED = PartitionSpec()


class Shaped(NamedTuple):
    """Shape and dtype of an array in messages, which need not be of numbers."""

    dtype: str
    shape: Sequence[int]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def uneven(
    label: str, axis: int, what: str, type_: Any, count: int, names: Sequence[Hashable]
) -> ValueError:
    """Return the error for an axis that does not divide into equal parts."""
    length = type_.shape[axis]
    return ValueError(
        f"{label}: axis {axis} of {what}, of type {type_}, cannot be divided into {count} equal parts, along {names} of the mesh; pad it "
        f"to {-(-length // count) * count}, with a weight of 0 for what is added, or take a length that can"
    )


def runs(
    mesh: Mesh, names: Sequence[Hashable], length: int, process: int | None = None
) -> list[slice]:
    """Return a process's slices of an axis, whose length must be a multiple of the number of parts."""
    own, count = mesh.blocks(names, process)
    size = length // count
    follow = np.split(own, np.flatnonzero(np.diff(own) != 1) + 1)
    return [slice(int(b[0]) * size, (int(b[-1]) + 1) * size) for b in follow]


def specs_of(specs: Any, whole: Any, label: str) -> list[PartitionSpec]:
    """Return the spec of each leaf of a tree; `specs` is a prefix of it, or None where nothing is divided."""
    if specs is None:
        return [NOT_DIVIDED] * len(tree.leaves(whole))
    per_leaf = broadcast_prefix(specs, whole, f"{label}: specs")
    for spec in per_leaf:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"{label}: specs must be a PartitionSpec or a tree of them, got {spec!r}"
            )
    return per_leaf


def check_spec(label: str, spec: PartitionSpec, mesh: Mesh, what: str, type_: Any) -> None:
    """Raise if a spec is not for arrays of so many axes, or divides an axis into unequal parts."""
    _check_axes(label, spec, what, type_)
    for d, names in enumerate(spec):
        _, count = mesh.blocks(names)
        if type_.shape[d] % count:
            raise uneven(label, d, what, type_, count, names)


def whole_shape(
    label: str, spec: PartitionSpec, mesh: Mesh, what: str, type_: Any
) -> tuple[int, ...]:
    """Return the whole shape of an array from a process's part; raise if its places cannot divide it."""
    _check_axes(label, spec, what, type_)
    shape = list(type_.shape)
    for d, names in enumerate(spec):
        own, count = mesh.blocks(names)
        if shape[d] % len(own):
            raise uneven(label, d, what, type_, len(own), names)
        shape[d] = shape[d] // len(own) * count
    return tuple(shape)


def _check_axes(label: str, spec: PartitionSpec, what: str, type_: Any) -> None:
    if len(spec) > len(type_.shape):
        raise ValueError(
            f"{label}: {spec} is for {len(spec)} axes or more, but {what} is of type {type_}"
        )
