"""The named axes that are open: those of the calls of `vmap` with an axis_name that are being traced.

A collective, such as `psum`, works across the calls of one such `vmap`. It is never run: applied to arrays
alone, it is recorded in the trace of that `vmap`, which replaces it by an operation along the axis.

Design: docs/design/17-named-axes-and-processes.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import NamedTuple

from fungrad.core.recorder import Recorder
from fungrad.core.state import holding, state_variable
from fungrad.core.tracer import current_trace


class NamedAxis(NamedTuple):
    """The length of an open axis, and the trace of the function that is mapped over it. Or its parts."""

    size: int
    trace: Recorder
    parts: tuple[tuple[Hashable, int], ...] = ()


_NONE: Mapping[Hashable, NamedAxis] = MappingProxyType({})
_open = state_variable("open_axes", _NONE)

open_axes = _open.get
"""Return the open axes by name, in the order in which they were opened."""

_UNNAMED: Hashable = None
name_in_batch = state_variable("name_in_batch", _UNNAMED)
"""The name of the axis for which batch rules are running; None if it has none."""


def opened(
    name: Hashable, size: int, trace: Recorder, parts: tuple[tuple[Hashable, int], ...] = ()
) -> AbstractContextManager[None]:
    """Context in which an axis can be named; an outer one of the same name cannot. None is no name."""
    axes = _open.get()
    if name is not None:
        axes = MappingProxyType({**axes, name: NamedAxis(size, trace, parts)})
    return holding(_open, axes)


def named_axis(name: Hashable) -> NamedAxis:
    """Return the open axis of that name.

    Raises
    ------
    NameError
        If there is none.
    """
    axes = _open.get()
    try:
        return axes[name]
    except KeyError:
        there = f"open here: {', '.join(map(repr, axes))}" if axes else "none is open here"
        raise NameError(
            f"unbound axis name: {name!r} ({there}). Collectives work within a function that is mapped "
            f"with vmap(..., axis_name={name!r})"
        ) from None


def open_sizes() -> tuple[tuple[Hashable, ...], ...]:
    """Return the names, lengths and parts of the open axes, on which a traced function may depend."""
    return tuple([(name, axis.size, *axis.parts) for name, axis in _open.get().items()])


def home(names: frozenset[Hashable], top: Recorder | None) -> Recorder | None:
    """Return the trace that records an operation across the axes `names`.

    `top` is the highest trace of its operands.

    While rules are run on another program's equations it is their trace, where equations are put for
    later; else it is at least that of the axes.
    """
    if not names:
        return top
    trace = current_trace.get()
    if trace is None or not trace.mode.rewriting:
        trace = max([named_axis(name).trace for name in names], key=lambda t: t.level)
    return trace if top is None or trace.level > top.level else top
