"""Maps over the one device: its part is the whole array, and each mesh axis has length 1."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad
from fungrad.compat.jax.crossing import Crossed
from fungrad.core import tree


def pmap(
    fun: Callable[..., Any],
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Any = (),
    devices: Any = None,
    backend: Any = None,
    axis_size: int | None = None,
    donate_argnums: Any = (),
) -> Any:
    """Return `fun` mapped over an axis as long as there are devices: one."""
    static = (
        (static_broadcasted_argnums,)
        if isinstance(static_broadcasted_argnums, int)
        else static_broadcasted_argnums
    )

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = [*in_axes] if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
        axes = [None if i in static else axis for i, axis in enumerate(axes)]
        for x, axis in zip(args, axes, strict=False):
            if isinstance(axis, int):
                _check_lengths(x, axis)
        return fungrad.vmap(fun, tuple(axes), out_axes, axis_name, 1)(*args, **kwargs)

    return Crossed(mapped)


def _check_lengths(x: Any, axis: int) -> None:
    for leaf in tree.leaves(x):
        shape = np.shape(leaf)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"pmap was asked to map an argument along axis {axis}, but that has the shape {shape}"
            )
        if shape[axis] != 1:
            raise ValueError(
                f"pmap maps over devices, and there is one, but the mapped axis of an argument has length {shape[axis]}; "
                "map with jax.vmap"
            )


def shard_map(
    f: Any = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Any = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Return `f`, whose part of each argument is the whole, with named mesh axes of length 1."""
    if f is None:
        return functools.partial(shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh)
    if mesh is not None and mesh.size > 1:
        raise ValueError(f"shard_map: there is one device, and the mesh has {mesh.size}")
    mapped = f
    for name in getattr(mesh, "axis_names", tuple(axis_names)):
        mapped = functools.partial(_along, mapped, name)
    return Crossed(functools.wraps(f)(lambda *args: mapped(*args)))


def _along(f: Callable[..., Any], name: Any, *args: Any) -> Any:
    """Return the result of `f` where an axis of length 1 has a name."""
    out = fungrad.vmap(lambda _: f(*args), axis_name=name)(fungrad.numpy.zeros(1))
    return tree.map(lambda x: x[0], out)
