"""Whole arrays and each process's parts of them: the meaning of `local_arrays` of `shard_map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fungrad import tree
from fungrad.extend.backend import namespace
from fungrad.extend.packages import api_boundary
from fungrad.extend.trees import leaves_with_paths
from fungrad.sharding.mapping import shard_map
from fungrad.sharding.mesh import Mesh, PartitionSpec
from fungrad.sharding.parts import NOT_DIVIDED, Shaped, check_spec, runs, specs_of, whole_shape
from fungrad.typing import PyTree

T = TypeVar("T")
"""A pytree of arrays."""


@api_boundary
def to_local(whole: T, mesh: Mesh, specs: PyTree) -> T:
    """Return this process's part of a tree of whole arrays, for ``local_arrays=True`` of `shard_map`.

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
    return local_of("to_local", whole, mesh, specs)  # type: ignore[no-any-return]


def local_of(label: str, whole: Any, mesh: Mesh, specs: Any) -> Any:
    """Do as `to_local`, with errors that name another function."""

    def taken(x: Any, spec: PartitionSpec, path: str) -> Any:
        check_spec(label, spec, mesh, path, Shaped(x.dtype.name, x.shape))
        return part(x, mesh, spec)

    return _divided(whole, specs, label, taken)


@api_boundary
def to_global(local: T, mesh: Mesh, specs: PyTree) -> T:
    """Return whole arrays from each process's parts: the inverse of `to_local`. All processes call it.

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

    def gathered(x: Any, spec: PartitionSpec, path: str) -> Any:
        whole_shape("to_global", spec, mesh, path, Shaped(x.dtype.name, x.shape))

        def whole(x: Any) -> Any:
            for d, names in enumerate(spec):
                if names:
                    x = lax.all_gather(x, names, axis=d, tiled=True)
            return x

        run = shard_map(whole, mesh=mesh, in_specs=spec, out_specs=NOT_DIVIDED, local_arrays=True)
        return run(x)

    return _divided(local, specs, "to_global", gathered)  # type: ignore[no-any-return]


def part(x: Any, mesh: Mesh, spec: PartitionSpec, process: int | None = None) -> Any:
    """Return a process's part of an array, as an array of its own."""
    xp = namespace((x,))
    for d, names in enumerate(spec):
        before = (slice(None),) * d
        pieces = [x[(*before, run)] for run in runs(mesh, names, x.shape[d], process)]
        x = pieces[0] if len(pieces) == 1 else xp.concatenate(pieces, axis=d)
    return xp.array(x)


def _divided(
    pytree: Any, specs: Any, label: str, change: Callable[[Any, PartitionSpec, str], Any]
) -> Any:
    """Return a tree whose divided leaves are changed."""
    leaves, structure = tree.flatten(pytree)
    paths = [path for path, _ in leaves_with_paths(pytree)]
    changed = []
    for x, spec, path in zip(leaves, specs_of(specs, pytree, label), paths, strict=True):
        if any(spec):
            if not hasattr(x, "shape"):
                raise TypeError(
                    f"{label}: {path or 'the tree'} is divided by {spec}, and is no array but {type(x).__name__!r}"
                )
            x = change(x, spec, path or "the array")
        changed.append(x)
    return tree.unflatten(structure, changed)
