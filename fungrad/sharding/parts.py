"""Which part of an array each process has: what `local_arrays` of `shard_map` means, apart from any program."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core import tree
from fungrad.core.backend import namespace
from fungrad.core.errors import api_boundary
from fungrad.core.types import is_array
from fungrad.sharding.mesh import Mesh, PartitionSpec

NOT_DIVIDED = PartitionSpec()


class Shaped(NamedTuple):
    """What messages show of an array, which need not be of numbers."""

    dtype: str
    shape: Sequence[int]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def uneven(
    label: str, axis: int, what: str, found: Any, count: int, names: Sequence[Hashable]
) -> ValueError:
    """Return the error for an axis that does not divide into equal parts."""
    length = found.shape[axis]
    return ValueError(
        f"{label}: axis {axis} of {what}, of type {found}, cannot be divided into {count} equal parts, along {names} of the mesh; pad it "
        f"to {-(-length // count) * count}, with a weight of 0 for what is added, or take a length that can"
    )


def runs(
    mesh: Mesh, names: Sequence[Hashable], length: int, process: int | None = None
) -> list[slice]:
    """Return what a process has of an axis of `length` elements, which must be a multiple of the number of parts, in its order."""
    own, count = mesh.blocks(names, process)
    size = length // count
    follow = np.split(own, np.flatnonzero(np.diff(own) != 1) + 1)
    return [slice(int(b[0]) * size, (int(b[-1]) + 1) * size) for b in follow]


def specs_of(specs: Any, whole: Any, label: str) -> list[PartitionSpec]:
    """Return the spec of each leaf of a tree; `specs` is a prefix of it, or None where nothing is divided."""
    if specs is None:
        return [NOT_DIVIDED] * len(tree.leaves(whole))
    found = tree.broadcast_prefix(specs, whole, f"{label}: specs")
    for spec in found:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"{label}: specs must be a PartitionSpec or a tree of them, got {spec!r}"
            )
    return found


def check_spec(label: str, spec: PartitionSpec, mesh: Mesh, what: str, found: Any) -> None:
    """Raise if a spec is not for arrays of so many axes, or divides an axis into unequal parts."""
    if len(spec) > len(found.shape):
        raise ValueError(
            f"{label}: {spec} is for {len(spec)} axes or more, but {what} is of type {found}"
        )
    for d, names in enumerate(spec):
        _, count = mesh.blocks(names)
        if found.shape[d] % count:
            raise uneven(label, d, what, found, count, names)


def part(x: Any, mesh: Mesh, spec: PartitionSpec, process: int | None = None) -> Any:
    """Return what a process has of an array, as an array of its own."""
    xp = namespace((x,))
    for d, names in enumerate(spec):
        before = (slice(None),) * d
        pieces = [x[(*before, run)] for run in runs(mesh, names, x.shape[d], process)]
        x = pieces[0] if len(pieces) == 1 else xp.concatenate(pieces, axis=d)
    return xp.array(x)


@api_boundary
def to_local(whole: Any, mesh: Mesh, specs: Any) -> Any:
    """Return what this process has of a tree of whole arrays: what `shard_map` takes with ``local_arrays=True``.

    JAX has it as ``multihost_utils.global_array_to_host_local_array``.

    Parameters
    ----------
    whole
        A pytree of arrays, which all processes have.
    mesh
        The places.
    specs
        A tree of `PartitionSpec` that is a prefix of `whole`.

    Returns
    -------
    pytree
        Arrays that are divided are new ones; other leaves are as they are.

    Raises
    ------
    ValueError
        If an axis cannot be divided, or specs do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.sharding import PartitionSpec as P, make_mesh, to_local
    >>> to_local(np.arange(8), make_mesh((4,), ("i",)), P("i"))  # one process has all
    array([0, 1, 2, 3, 4, 5, 6, 7])
    """
    return local_of("to_local", whole, mesh, specs)


def local_of(label: str, whole: Any, mesh: Mesh, specs: Any) -> Any:
    """Do what `to_local` does; errors are those of another function."""

    def taken(x: Any, spec: PartitionSpec, path: str) -> Any:
        check_spec(label, spec, mesh, path, Shaped(x.dtype.name, x.shape))
        return part(x, mesh, spec)

    return _divided(whole, specs, label, taken)


@api_boundary
def to_global(local: Any, mesh: Mesh, specs: Any) -> Any:
    """Return the whole of arrays of which each process has a part: the inverse of `to_local`. All processes call it.

    JAX has it as ``multihost_utils.process_allgather``.

    Parameters
    ----------
    local
        A pytree of what this process has, equally much in each.
    mesh
        The places.
    specs
        A tree of `PartitionSpec` that is a prefix of `local`.

    Returns
    -------
    pytree
        Arrays that are divided are new ones; other leaves are as they are.

    Raises
    ------
    DistributedError
        If the processes have arrays of other types, or one ends.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.sharding import PartitionSpec as P, make_mesh, to_global
    >>> to_global(np.arange(8), make_mesh((4,), ("i",)), P("i"))
    array([0, 1, 2, 3, 4, 5, 6, 7])
    """
    from fungrad import lax
    from fungrad.sharding.mapping import shard_map

    def gathered(x: Any, spec: PartitionSpec, path: str) -> Any:
        def whole(x: Any) -> Any:
            for d, names in enumerate(spec):
                if names:
                    x = lax.all_gather(x, names, axis=d, tiled=True)
            return x

        run = shard_map(whole, mesh=mesh, in_specs=spec, out_specs=NOT_DIVIDED, local_arrays=True)
        return run(x)

    return _divided(local, specs, "to_global", gathered)


def _divided(
    found: Any, specs: Any, label: str, change: Callable[[Any, PartitionSpec, str], Any]
) -> Any:
    """Return a tree of which the leaves that are divided are changed."""
    leaves, structure = tree.flatten(found)
    paths = [path for path, _ in tree.leaves_with_paths(found)]
    changed = []
    for x, spec, path in zip(leaves, specs_of(specs, found, label), paths, strict=True):
        if any(spec):
            if not (isinstance(x, np.ndarray) or is_array(x)):
                raise TypeError(
                    f"{label}: {path or 'the tree'} is divided by {spec}, and is no array but {type(x).__name__!r}"
                )
            x = change(x, spec, path or "the array")
        changed.append(x)
    return tree.unflatten(structure, changed)
