"""Batches in chunks: as many calls at once as memory takes, and one chunk after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from fungrad.core import tree
from fungrad.core.cached import in_steps
from fungrad.core.reading import as_read
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import ArrayType
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import move_axis
from fungrad.transforms.arguments import as_operand

ChunkSize: TypeAlias = int | Literal["auto"] | None

SHARE = 4
"""A chunk of size "auto" takes at most one in so many of the bytes that are free."""
DEFAULT = 1 << 30
"""Bytes that are taken to be free where the system does not tell."""


def check_chunk_size(chunk_size: Any, label: str) -> None:
    """Raise unless this is a number of calls, "auto" or None."""
    if chunk_size is None or chunk_size == "auto":
        return
    if isinstance(chunk_size, (int, np.integer)) and not isinstance(chunk_size, bool):
        if chunk_size > 0:
            return
        raise ValueError(f"{label}: chunk_size must be positive, got {chunk_size}")
    raise TypeError(f'{label}: chunk_size is an integer, "auto" or None, got {chunk_size!r}')


def in_chunks(
    vmap: Callable[..., Any],
    fun: Callable[..., Any],
    chunk_size: Any,
    leaves: Sequence[Any],
    structure: tree.TreeDef,
    axes: Sequence[int | None],
    size: int,
    out_axes: Any,
    label: str,
) -> Any:
    """Return the result of `vmap` of a function, computed in chunks.

    Where something is traced, the chunks are the steps of a loop in the program. Else each is a call of `vmap`, so that the
    function's Python may look at values.
    """
    mapped = [i for i, a in enumerate(axes) if a is not None]
    pairs = zip(leaves, axes, strict=True)
    rows = [move_axis(as_operand(x), a, 0) for x, a in pairs if a is not None]
    numbers = np.arange(size)

    def of_row(row: Sequence[Any]) -> Any:
        given = list(leaves)
        for i, x in zip(mapped, row[1:], strict=True):
            given[i] = x
        args, kwargs = tree.unflatten(structure, given)
        run = as_read(fun)  # under a name: errors look up which function is called here
        return run(*args, **kwargs)

    of_row.__name__ = getattr(fun, "__name__", "function")
    xs = [numbers, *rows]  # where nothing is mapped there are numbers all the same
    count = _fitting(label, of_row, xs) if chunk_size == "auto" else int(chunk_size)
    if count >= size:
        result = vmap(of_row)(xs)
    elif current_trace.get() is not None or any(type(x) is Tracer for x in leaves):
        result = in_steps.get()(of_row, xs, batch_size=count)
    else:
        parts = [vmap(of_row)([x[i : i + count] for x in xs]) for i in range(0, size, count)]
        result = tree.map(lambda *ys: Concatenate(0)(*ys), *parts)
    if type(out_axes) is int and out_axes == 0:
        return result
    flat, out_structure = tree.flatten(result)
    wanted = tree.broadcast_prefix(out_axes, result, f"{label}: out_axes")
    return tree.unflatten(out_structure, list(map(_placed, flat, wanted)))


def _placed(x: Any, axis: int | None) -> Any:
    """Return a batch with its axis where it is wanted; without it, the first of equal results."""
    return x[0] if axis is None else move_axis(x, 0, axis % len(x.shape))


def _fitting(label: str, of_row: Callable[..., Any], xs: Sequence[Any]) -> int:
    """Return how many calls fit into a share of the free memory, by the peak memory of one."""
    from fungrad.compile.lower import Program
    from fungrad.compile.peak import peak
    from fungrad.core.types import type_of
    from fungrad.transforms.abstract import ShapeDtypeStruct, trace_abstractly

    row = [ShapeDtypeStruct.of(_of_row(type_of(x))) for x in xs]
    expr = trace_abstractly(label, of_row, (row,), {}).expr
    given = sum(x.nbytes for x in row)
    one: int = peak(Program(expr).schedule) + given + sum(t.nbytes for t in expr.output_types)
    return max(1, free_memory() // SHARE // max(one, 1))


def _of_row(t: ArrayType) -> ArrayType:
    return t.update(shape=t.shape[1:])


def free_memory() -> int:
    """Return about how many bytes of memory are free for this process."""
    found = []
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":") for line in file)
        found.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        names = getattr(os, "sysconf_names", {})
        if "SC_AVPHYS_PAGES" in names:
            found.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:  # the limit of a container
        with (
            open("/sys/fs/cgroup/memory.max") as most,
            open("/sys/fs/cgroup/memory.current") as now,
        ):
            found.append(int(most.read()) - int(now.read()))
    except (OSError, ValueError):
        pass
    return max(0, min(found, default=DEFAULT))
