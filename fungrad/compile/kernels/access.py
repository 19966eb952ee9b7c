"""Places of an array that a kernel reads, as a function of the place in the kernel's index space."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.types import ArrayType, Shape

Box = tuple[tuple[int, int, int], ...]
"""A part of an index space: items ``(axis, low, high)``, in the order of axes.

A place is in it if ``low <= i < high`` along each of these axes."""


class Access(NamedTuple):
    """An array that a kernel reads, and the element read at each place of the kernel's index space.

    Attributes
    ----------
    axes
        For each axis of the array, the axis of the index space that it follows. None stands for an axis of which one place
        is read throughout. The number ``-1 - k`` stands for a gather: the index is the k-th operand of the kernel's node that
        loads the element, and whoever makes the access sees to it that it is in range. Along all other axes of the index space, elements are repeated.
    starts, steps
        At index `i`, an axis of the array is read at ``start + step * i``. None stands for 0 and for 1. Without
        `starts`, an axis of the array is as long as the axis of the index space that it follows.
    strides
        For each axis, the distance in memory of successive elements, counted in elements. None stands for C order.
    box
        The part of the index space where the element matters. Outside of it any element may be read.
    """

    type: ArrayType
    axes: tuple[int | None, ...]
    strides: tuple[int, ...] | None = None
    starts: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None
    box: Box = ()

    @property
    def lines(self) -> tuple[tuple[int | None, int, int, int], ...]:
        """For each axis of the array: the axis of the index space, start, step and stride."""
        return _lines(self)

    @property
    def origin(self) -> int:
        """Distance, in elements, from the array's first element to the one read at place 0."""
        return sum([start * stride for _, start, _, stride in self.lines])

    def fits(self, space: Shape) -> bool:
        """Whether the elements read lie within the array, and the box within the index space."""
        given = [a for a in self.axes if a is not None and a >= 0]
        if len(self.axes) != self.type.ndim or len({*given}) != len(given):
            return False
        if not is_part(self.box, space) or not all(a < len(space) for a in given):
            return False
        bounds = {a: (low, high) for a, low, high in self.box}
        for n, (axis, start, step, _) in zip(self.type.shape, self.lines, strict=True):
            if axis is not None and axis < 0:
                continue
            low, high = (0, 1) if axis is None else bounds.get(axis, (0, space[axis]))
            if high > low and not all(0 <= start + step * i < n for i in (low, high - 1)):
                return False
            if axis is not None and self.starts is None and n != space[axis]:
                return False
        return True

    def of(self, array: Any, space: Shape, indices: Sequence[Any] = ()) -> Any:
        """Return the elements read from `array`, with an axis for each axis of the index space.

        Axes along which elements are repeated have length 1. ``indices[k]`` is the index of the gather ``-1 - k``.
        """
        bounds = {a: (low, high - 1) for a, low, high in self.box}
        index = []
        for axis, start, step, _ in self.lines:
            if axis is None:
                index.append(np.full((1,) * len(space), start))
            elif axis < 0:
                index.append(start + step * indices[-1 - axis])
            else:
                here = np.clip(np.arange(space[axis]), *bounds.get(axis, (0, space[axis] - 1)))
                shape = [-1 if a == axis else 1 for a in range(len(space))]
                index.append(start + step * here.reshape(shape))
        values = np.asarray(array, self.type.dtype)
        return values[tuple(index)] if index else values.reshape((1,) * len(space))

    def __str__(self) -> str:
        """Show the axes that are followed, starts and steps, and the box, if there are any."""
        text = f"{self.type} along {list(self.axes)}"
        if self.starts is not None:
            text += f" from {list(self.starts)} by {[step for _, _, step, _ in self.lines]}"
        return f"{text}{' ' * bool(self.box)}{box_text(self.box)}"


@functools.lru_cache(maxsize=1 << 10)
def _lines(access: Access) -> tuple[tuple[int | None, int, int, int], ...]:
    ndim = access.type.ndim
    starts = (0,) * ndim if access.starts is None else access.starts
    steps = (1,) * ndim if access.steps is None else access.steps
    strides = in_order(access.type.shape) if access.strides is None else access.strides
    return tuple(zip(access.axes, starts, steps, strides, strict=True))


def is_part(box: Box, space: Shape) -> bool:
    """Whether a box is well formed, lies within an index space, and is not empty."""
    axes = [axis for axis, _, _ in box]
    if sorted({*axes}) != axes:
        return False
    return all(0 <= a < len(space) and 0 <= low < high <= space[a] for a, low, high in box)


def box_text(box: Box) -> str:
    """Return a box as text: the bounds of each axis."""
    return " and ".join([f"{low} <= i{axis} < {high}" for axis, low, high in box])


def inside(box: Box, space: Shape) -> Any:
    """Return a mask of the places of an index space that are in a box."""
    mask: Any = np.ones((1,) * len(space), bool)
    for axis, low, high in box:
        here = np.arange(space[axis])
        shape = [-1 if a == axis else 1 for a in range(len(space))]
        mask = mask & ((low <= here) & (here < high)).reshape(shape)
    return mask


@functools.lru_cache(maxsize=1 << 10)
def in_order(shape: Shape) -> tuple[int, ...]:
    """Return the strides, in elements, of an array in C order."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def view_of(
    shape: Shape, strides: Sequence[int], view: Callable[[Any], Any]
) -> tuple[int, Shape, tuple[int, ...]] | None:
    """Return the first element, shape and strides that a function of NumPy's gives of an array.

    Strides are counted in elements. None if the function, which rearranges elements, gives no view.
    """
    made = np.asarray(view(sum(_lines_of(shape, strides), np.zeros(shape, np.int64))))
    if not made.size:
        return None
    first = int(made.flat[0])
    ends = [made.take(min(n - 1, 1), axis).flat[0] for axis, n in enumerate(made.shape)]
    apart = tuple([int(end) - first for end in ends])
    fits = (made == sum(_lines_of(made.shape, apart), first)).all()
    return (first, made.shape, apart) if fits else None


def _lines_of(shape: Shape, strides: Sequence[int]) -> list[Any]:
    """Return how far elements are from the first one, along each axis."""
    places = np.ogrid[tuple([slice(n) for n in shape])] if shape else []
    return [i * s for i, s in zip(places, strides, strict=True)]
