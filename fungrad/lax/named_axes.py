"""Names of axes, and the parts of an array that go to each call: the base of collectives."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import fungrad.numpy as fnp
from fungrad.core.axes import named_axis
from fungrad.core.primitive import Primitive
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import type_of
from fungrad.transforms.arguments import argument_type, as_operand

AxisName = Hashable
"""A name, or a tuple of names."""

Groups = Sequence[Sequence[int]] | None

Axes = list[tuple[Hashable, int]]
"""Names of axes and their lengths."""


def axes_named(name: AxisName, function: str, groups: Groups = None) -> Axes:
    """Return the axes of a name or several; `function` says for whom, in error messages.

    Raises
    ------
    NameError
        If an axis is not open.
    """
    if groups is not None:
        raise NotImplementedError(
            f"lax.{function}: axis_index_groups must be None. Give groups an axis of their own: reshape the "
            "mapped axis to (groups, members), map over each with a vmap that names it, and pass the "
            "name of the members"
        )
    names = name if isinstance(name, (tuple, list)) else (name,)
    for n in names:
        if not isinstance(n, Hashable):
            raise TypeError(
                f"lax.{function}: an axis name must be hashable, got {n!r} of type {type(n).__name__}"
            )
    if len(set(names)) < len(names):
        raise ValueError(f"lax.{function}: axis_name has a name twice: {name!r}")
    open_ = [(n, named_axis(n)) for n in names]
    return [part for n, axis in open_ for part in axis.parts or ((n, axis.size),)]


def one_axis(name: Hashable, function: str) -> Axes:
    """Return the one axis that `name` must be: its parts, if it is of a mesh."""
    axes = axes_named(name, function)
    if isinstance(name, (tuple, list)) and len(name) != 1:
        raise NotImplementedError(
            f"lax.{function} takes one axis name, got {name!r}; move along one axis after the other"
        )
    return axes


def count_of(axes: Axes) -> int:
    """Return how many calls there are along all of `axes`."""
    return math.prod([size for _, size in axes])


def traced(x: Any, function: str) -> Any:
    """Return a leaf as a tracer of the function that is running, if it is none yet."""
    argument_type(x, f"lax.{function}")
    trace = innermost_trace()
    if type(x) is Tracer:
        return x
    return as_operand(x) if trace is None else trace.lift(x)


def across(x: Any, axes: Axes, make: Callable[[Hashable, int], Primitive]) -> Any:
    """Apply the primitive that `make` makes of an axis, for one after the other."""
    for name, size in reversed(axes):
        x = make(name, size)(x)
    return x


def split(x: Any, axis: int, axes: Axes, tiled: bool, argument: str, function: str) -> Any:
    """Return `x` with `axis` in front, as one axis for each of `axes`.

    With `tiled`, as many slices as there are calls are in front; else elements.
    """
    count, length = count_of(axes), x.shape[axis]
    if length % max(count, 1) if tiled else length != count:
        raise ValueError(
            f"lax.{function}: axis {axis} ({argument}) of the operand {type_of(x)} has length {length}; it must be "
            + (f"a multiple of {count}" if tiled else f"{count}")
            + ", the size of the named axis"
            + ("" if tiled else ". With tiled=True a call gets a slice instead of an element")
        )
    if tiled:
        part = length // count if count else 0
        x = x.reshape(*x.shape[:axis], count, part, *x.shape[axis + 1 :])
    x = fnp.moveaxis(x, axis, 0)
    return x.reshape(*[size for _, size in axes], *x.shape[1:])


def joined(x: Any, axes: Axes, axis: int, tiled: bool) -> Any:
    """Return `x` with its leading axes, one for each of `axes`, at `axis`.

    With `tiled`, they are joined to the axis that is there.
    """
    rest = x.shape[len(axes) :]
    x = fnp.moveaxis(x.reshape(count_of(axes), *rest), 0, axis)
    if not tiled:
        return x
    return x.reshape(*rest[:axis], count_of(axes) * rest[axis], *rest[axis + 1 :])


def check_indices(indices: Sequence[int], size: int, what: str, function: str, perm: Any) -> None:
    """Check that indices along an axis are in range and differ."""
    if len(set(indices)) < len(indices) or not all(0 <= i < size for i in indices):
        raise ValueError(
            f"lax.{function}: each {what} must be an index below the size of the axis, {size}, and occur "
            f"once; got perm={perm!r}"
        )
