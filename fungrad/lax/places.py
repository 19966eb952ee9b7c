"""Places of windows of an array, given by an array of indices, for `gather` and `scatter`.

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
from fungrad.lax.checks import array_of, axes_of
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.shaping import Broadcast, counting

Axes = tuple[int, ...]


class GatherScatterMode(enum.Enum):
    """Treatment of windows that are not inside the operand.

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


class Layout(NamedTuple):
    """Which axes of an operand, of indices and of windows belong together.

    Attributes
    ----------
    indices
        The array of indices.
    stack
        Its shape, without the axis that indices lie along.
    mapped
        The axis of the operand that each element of an index is for.
    batching
        For axes of the operand that go together with axes of the indices, these.
    lacking, kept
        The axes of the operand along which windows have length 1 and are dropped, and the others.
    offsets
        Where the axes of windows are among those of all windows; the others are those of the indices.
    """

    indices: Any
    stack: Shape
    mapped: Axes
    batching: dict[int, int]
    lacking: Axes
    kept: list[int]
    offsets: Axes

    def arrangement(self, order: Axes) -> Axes:
        """Return the permutation that takes the axes of indices, then those of windows, to their places.

        The axes of windows are in the given `order` of those of the operand.
        """
        kept = [a for a in order if a in self.kept]
        first = len(self.stack)
        of_windows = {
            place: first + kept.index(a) for a, place in zip(self.kept, self.offsets, strict=True)
        }
        of_stack = iter(range(first))
        return tuple(
            of_windows[i] if i in of_windows else next(of_stack) for i in range(first + len(kept))
        )


def layout_of(name: str, x: Any, indices: Any, numbers: Any, kind: type[Any]) -> Layout:
    """Return the layout that dimension numbers, a named tuple of the type `kind`, give; check them."""
    if not isinstance(numbers, kind):
        raise TypeError(
            f"lax.{name}: dimension_numbers must be a lax.{kind.__name__}, got {numbers!r}"
        )
    named: list[tuple[str, Any]] = list(numbers._asdict().items())
    offset, lack, map_, batch, of_indices = named
    ndim = np.ndim(x)
    mapped = axes_of(name, *map_, ndim)
    index = array_of(name, "indices", indices)
    type_ = type_of(index)
    if type_.dtype.kind not in "iu" or not type_.shape or type_.shape[-1] != len(mapped):
        raise TypeError(
            f"lax.{name}: indices must be integers with a last axis of length {len(mapped)}, one for each axis in "
            f"{mapped}, got {type_}"
        )
    mine, others = axes_of(name, *batch, ndim), axes_of(name, *of_indices, type_.ndim - 1)
    if [np.shape(x)[a] for a in mine] != [type_.shape[a] for a in others]:
        raise ValueError(
            f"lax.{name}: axes {mine} of the operand, {type_of(x)}, and axes {others} of the indices, {type_}, "
            "go together and must have equal lengths"
        )
    lacking = axes_of(name, *lack, ndim) + mine
    for what, axes in ((lack[0], lacking), (map_[0], mapped + mine)):
        if len({*axes}) < len(axes):
            raise ValueError(f"lax.{name}: {what} and {batch[0]} name an axis twice: {axes}")
    kept = [a for a in range(ndim) if a not in lacking]
    offsets = axes_of(name, *offset, type_.ndim - 1 + len(kept))
    if list(offsets) != sorted(offsets) or len(offsets) != len(kept):
        raise ValueError(
            f"lax.{name}: {offset[0]} must be {len(kept)} ascending axes, one for each axis of windows, got {offsets}"
        )
    batching = dict(zip(mine, others, strict=True))
    return Layout(index, type_.shape[:-1], mapped, batching, lacking, kept, offsets)


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


def windows_at(
    shape: Shape, sizes: Sequence[int], layout: Layout, mode: GatherScatterMode
) -> Windows:
    """Return the places of windows of `sizes` in an array of `shape`."""
    indices, stack, batching = layout.indices, layout.stack, layout.batching
    moving = tuple(
        a
        for a, (n, size) in enumerate(zip(shape, sizes, strict=True))
        if a in batching or n != size
    )
    whole = (*stack, *[sizes[a] for a in moving])
    inside, first = None, {}
    for k, a in enumerate(layout.mapped):
        first[a], here = _start(indices[..., k], shape[a] - sizes[a], mode)
        inside = here if inside is None else fnp.logical_and(inside, here)
    sure = mode is GatherScatterMode.PROMISE_IN_BOUNDS
    if inside is not None and type(inside) is not Tracer and bool(np.all(inside)):
        inside, sure = None, True
    places = []
    for k, a in enumerate(moving):
        parts = []
        if a in first:
            parts.append(Broadcast(whole, tuple(range(len(stack), len(whole))))(first[a]))
        if a not in first or sizes[a] != 1:
            parts.append(positions_along(whole, batching.get(a, len(stack) + k), indices))
        places.append(sum(parts[1:], parts[0]))
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


def positions_along(shape: Shape, axis: int, near: Any) -> Any:
    """Return the positions along an axis, recorded where `near` is, or on its device."""
    numbers = counting(shape, axis, near)
    return numbers if type(numbers) is Tracer else namespace((near,)).asarray(numbers)
