"""Where windows of an array are, given by an array of indices: what `gather` and `scatter` share.

They are XLA's operations (openxla.org/xla/operation_semantics), brought to the form of the primitives `Gather` and
`Scatter`: the axes along which windows move lead, and there is one index array for each of them.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.backend import namespace
from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape, type_of
from fungrad.lax.arguments import array_of, axes_of
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexing import counting
from fungrad.primitives.shaping import Broadcast

__all__ = [
    "GatherScatterMode",
]

Axes = tuple[int, ...]


class GatherScatterMode(enum.Enum):
    """What becomes of windows that are not inside the operand.

    `CLIP` moves them inside; `FILL_OR_DROP` fills them with a value when reading and leaves them out when
    writing; `PROMISE_IN_BOUNDS` says there are none.

    Examples
    --------
    >>> from fungrad import lax
    >>> lax.GatherScatterMode.from_any("clip")
    <GatherScatterMode.CLIP: 1>
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """Return the mode of a name: "clip", "fill", "drop" or "promise_in_bounds".

        Parameters
        ----------
        mode
            A name, a mode, or None for `FILL_OR_DROP`.

        Returns
        -------
        GatherScatterMode
            The mode.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        modes = {
            None: GatherScatterMode.FILL_OR_DROP,
            "fill": GatherScatterMode.FILL_OR_DROP,
            "drop": GatherScatterMode.FILL_OR_DROP,
            "clip": GatherScatterMode.CLIP,
            "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
        }
        if mode not in modes:
            raise ValueError(
                f'mode must be "clip", "fill", "drop", "promise_in_bounds" or a GatherScatterMode, got {mode!r}'
            )
        return modes[mode]


class Windows(NamedTuple):
    """Where windows are: the axes they move along, index arrays for these, and which are inside.

    Index arrays have the axes of the indices and then those of the window. `inside` is None if all are.
    `sure` says that indices are what they were given as.
    """

    moving: Axes
    places: list[Any]
    inside: Any
    sure: bool

    def order(self, ndim: int) -> Axes:
        """Return the axes of the operand, those along which windows move first."""
        return (*self.moving, *[a for a in range(ndim) if a not in self.moving])


def indices_of(name: str, indices: Any, mapped: Axes) -> Any:
    """Return the array of indices, checked: along its last axis it has one for each mapped axis."""
    found = array_of(name, "indices", indices)
    type_ = type_of(found)
    if type_.dtype.kind not in "iu" or not type_.shape or type_.shape[-1] != len(mapped):
        raise TypeError(
            f"lax.{name}: indices must be integers with a last axis of length {len(mapped)}, one for each axis in "
            f"{mapped}, got {type_}"
        )
    return found


def windows_at(
    shape: Shape,
    indices: Any,
    sizes: Sequence[int],
    mapped: Axes,
    batching: dict[int, int],
    mode: GatherScatterMode,
) -> Windows:
    """Return the places of windows of `sizes` in an array of `shape`.

    `batching` gives the axis of the indices for each axis of the array that goes together with one.
    """
    stack = tuple(np.shape(indices)[:-1])
    moving = tuple(
        a
        for a, (n, size) in enumerate(zip(shape, sizes, strict=True))
        if a in batching or n != size
    )
    whole = (*stack, *[sizes[a] for a in moving])
    inside, first = None, {}
    for k, a in enumerate(mapped):
        first[a], here = _start(indices[..., k], shape[a] - sizes[a], mode)
        inside = here if inside is None else fnp.logical_and(inside, here)
    sure = mode is GatherScatterMode.PROMISE_IN_BOUNDS
    if inside is not None and type(inside) is not Tracer and bool(np.all(inside)):
        inside, sure = None, True
    places = []
    for k, a in enumerate(moving):
        place = _counting(whole, batching.get(a, len(stack) + k), indices)
        if a in first:
            place = place + Broadcast(whole, tuple(range(len(stack), len(whole))))(first[a])
        places.append(place)
    return Windows(moving, places, inside, sure)


def _start(index: Any, limit: int, mode: GatherScatterMode) -> tuple[Any, Any]:
    """Return where windows start along an axis, and which of the starts were inside, if it matters."""
    if index.dtype == np.uint64:  # what is beyond int64 stays outside
        index = fnp.minimum(index, limit + 1)
    start = Cast(np.dtype(np.int64))(index)
    if mode is GatherScatterMode.PROMISE_IN_BOUNDS:
        return start, None
    inside = None
    if mode is GatherScatterMode.FILL_OR_DROP:
        inside = fnp.logical_and(start >= 0, start <= limit)
    return fnp.clip(start, 0, limit), inside


def _counting(shape: Shape, axis: int, near: Any) -> Any:
    """Return the positions along an axis, recorded where `near` is, or on its device."""
    numbers = counting(shape, axis, near)
    return numbers if type(numbers) is Tracer else namespace((near,)).asarray(numbers)


def check_distinct(name: str, what: str, axes: Axes) -> None:
    if len({*axes}) < len(axes):
        raise ValueError(f"lax.{name}: {what} name an axis twice: {axes}")


def paired_axes(name: str, x: Any, indices: Any, batching: Any, of_indices: Any) -> dict[int, int]:
    """Return the axes of the indices that go together with axes of the operand."""
    mine = axes_of(name, "operand_batching_dims", batching, np.ndim(x))
    others = axes_of(name, "the indices' batching dims", of_indices, np.ndim(indices) - 1)
    if [np.shape(x)[a] for a in mine] != [np.shape(indices)[a] for a in others]:
        raise ValueError(
            f"lax.{name}: axes {mine} of the operand, {type_of(x)}, and axes {others} of the indices, "
            f"{type_of(indices)}, go together and must have equal lengths"
        )
    return dict(zip(mine, others, strict=True))


def arrangement(stack: int, kept: list[int], offsets: Axes) -> Axes:
    """Return the permutation that takes (indices' axes, axes `kept` of windows) to those of the result.

    The axes of windows go to `offsets`, in ascending order.
    """
    of_window = {
        place: stack + kept.index(a) for place, a in zip(offsets, sorted(kept), strict=True)
    }
    of_stack = iter(range(stack))
    return tuple(
        of_window[i] if i in of_window else next(of_stack) for i in range(stack + len(kept))
    )


def inverse_of(permutation: Axes) -> Axes:
    """Return the permutation that undoes one."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))
