"""Where the elements of views, of slices that are put together and of updated slices come from.

The element of a rearrangement at a place is an element of its operand at another place. Of an array joined of several
(`Pad`, `Concatenate`, `Stack`, `Roll`, `UpdateSlice`), the place also decides from which of them it comes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from fungrad.compile.kernels.access import Box
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.shaping import Broadcast, Permute, Reshape
from fungrad.primitives.slices import Pad, Reverse, Slice


class Line(NamedTuple):
    """Position along an axis of an array: ``start + step * i``; `i` counts along another axis, if any."""

    axis: int | None
    start: int = 0
    step: int = 1


Lines = tuple[Line, ...]
"""Of each axis of an array, where an element lies, by axes of another array or of an index space."""


class Part(NamedTuple):
    """A part of a joined array: its operand, the lines of its elements, and its box in the result.

    They are added to those of the operands after it if it is `added`, and else stand in place of them.
    """

    operand: int
    lines: Lines
    box: Box = ()
    added: bool = False


@functools.lru_cache(maxsize=64)
def straight(ndim: int) -> Lines:
    """Return where elements lie that lie at the place itself; the same object each time."""
    return tuple([Line(axis) for axis in range(ndim)])


def after(outer: Lines, inner: Lines) -> Lines:
    """Return the composition: where elements lie for places of `outer` in an array that lies as `inner`."""
    lines = []
    for axis, start, step in inner:
        if axis is None:
            lines.append(Line(None, start, 1))
        else:
            further, first, apart = outer[axis]
            lines.append(Line(further, start + step * first, step * apart))
    return tuple(lines)


def through(primitive: Primitive, operand: ArrayType) -> Lines | None:
    """Return where in the operand of a rearrangement its elements lie; None if that is not so simple."""
    shape = operand.shape
    match primitive:
        case Broadcast():
            return tuple([Line(a) for a in range(len(primitive.shape)) if a not in primitive.axes])
        case Slice():
            kept = iter(range(len(shape)))
            return tuple(
                [
                    Line(None, start) if a in primitive.dropped else Line(next(kept), start, step)
                    for a, (start, step) in enumerate(
                        zip(primitive.start, primitive.step, strict=True)
                    )
                ]
            )
        case Permute():
            return tuple([Line(primitive.axes.index(a)) for a in range(len(shape))])
        case Reverse():
            return tuple(
                [
                    Line(a, n - 1, -1) if a in primitive.axes else Line(a)
                    for a, n in enumerate(shape)
                ]
            )
        case Reshape():
            return _without_units(primitive.shape, shape)
    return None


def _without_units(shape: Shape, operand: Shape) -> Lines | None:
    """Return the lines of a reshape that puts in or leaves out axes of length 1 alone."""
    longer = [a for a, n in enumerate(shape) if n != 1]
    if [shape[a] for a in longer] != [n for n in operand if n != 1]:
        return None
    rest = iter(longer)
    return tuple([Line(None) if n == 1 else Line(next(rest)) for n in operand])


def parts(primitive: Primitive, types: Sequence[ArrayType], shape: Shape) -> list[Part] | None:
    """Return the parts of a joined array of `shape`; the last one fills the rest. None if not simple."""
    match primitive:
        case Pad():
            return _padded(primitive, types[1], types[0].shape, shape)
        case Concatenate():
            return _joined(primitive.axis, [t.shape[primitive.axis] for t in types], len(shape))
        case Stack():
            stacked = _joined(primitive.axis, [1] * len(types), len(shape))
            others = [a for a in range(len(shape)) if a != primitive.axis]
            lines = tuple([Line(a) for a in others])
            return [part._replace(lines=lines) for part in stacked]
        case Roll():
            return _rolled(primitive, shape)
        case UpdateSlice():
            return _updated(primitive, shape)
    return None


def _padded(primitive: Pad, value: ArrayType, operand: Shape, shape: Shape) -> list[Part] | None:
    if any(primitive.interior) or value.shape:
        return None
    lengths = iter(operand)
    lines, box = [], []
    for axis, low in enumerate(primitive.low):
        dropped = axis in primitive.dropped
        length = 1 if dropped else next(lengths)
        first, last = max(low, 0), min(low + length, shape[axis])
        if first >= last:
            return None
        if (first, last) != (0, shape[axis]):
            box.append((axis, first, last))
        if not dropped:
            lines.append(Line(axis, -low))
    return [Part(0, tuple(lines), tuple(box)), Part(1, ())]


def _joined(axis: int, lengths: Sequence[int], ndim: int) -> list[Part]:
    """Return arrays one behind the other along an axis."""
    joined, first = [], 0
    for operand, length in enumerate(lengths):
        lines = [Line(a, -first) if a == axis else Line(a) for a in range(ndim)]
        if length:
            joined.append(Part(operand, tuple(lines), ((axis, first, first + length),)))
        first += length
    return joined


def _rolled(primitive: Roll, shape: Shape) -> list[Part] | None:
    if len(primitive.axes) != 1:
        return None
    (axis,), (step,) = primitive.axes, primitive.steps
    length = shape[axis]
    ahead = step % length

    def moved(by: int) -> Lines:
        return tuple([Line(a, by) if a == axis else Line(a) for a in range(len(shape))])

    if not ahead:
        return [Part(0, straight(len(shape)))]
    ends = Part(0, moved(length - ahead), ((axis, 0, ahead),))
    return [Part(0, moved(-ahead), ((axis, ahead, length),)), ends]


def _updated(primitive: UpdateSlice, shape: Shape) -> list[Part] | None:
    lines, box = [], []
    sides = zip(primitive.start, primitive.stop, primitive.step, strict=True)
    for axis, (start, stop, step) in enumerate(sides):
        if start >= stop or (step != 1 and axis not in primitive.dropped):
            return None
        if (start, stop) != (0, shape[axis]):
            box.append((axis, start, stop))
        if axis not in primitive.dropped:
            lines.append(Line(axis, -start))
    adds = primitive.kind == "add"
    return [Part(1, tuple(lines), tuple(box), adds), Part(0, straight(len(shape)))]
