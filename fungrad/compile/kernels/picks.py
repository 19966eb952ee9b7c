"""Reads at index arrays, and writes that hit each row once, by lines along the result's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fungrad.compile.kernels.reads import Line, Lines
from fungrad.core.types import ArrayType


class Index(NamedTuple):
    """An index array: its operand, its elements' lines, and the length and the axis that it indexes."""

    operand: int
    lines: Lines
    length: int
    axis: int


def gathered(types: Sequence[ArrayType], counts: Sequence[int | None]) -> tuple[Lines, list[Index]]:
    """Return the lines of the elements that `Gather` takes; index k is for the axis ``-1 - k``.

    Index arrays may count: then what they are an index of lies along an axis of the result, as `counts` says.
    """
    x, first, *_ = types
    ndim = first.ndim
    lines: list[Line] = []
    indices: list[Index] = []
    for axis, (n, along) in enumerate(zip(x.shape, counts, strict=False)):
        if along is not None and first.shape[along] <= n:
            lines.append(Line(along))
        else:
            lines.append(Line(-1 - len(indices)))
            indices.append(Index(1 + axis, tuple([Line(a) for a in range(ndim)]), n, axis))
    lines += [Line(ndim + k) for k in range(x.ndim - len(counts))]
    return tuple(lines), indices


def written(
    types: Sequence[ArrayType], counts: Sequence[int | None]
) -> tuple[Lines, list[Index]] | None:
    """Return the lines of `Scatter`'s updates, and the index arrays of their targets, by result axes.

    None if an element may get more than one of them: each axis of the index arrays is to be one of the result, all of it.
    """
    x, _, first, *_ = types
    place: dict[int, int] = {}  # by axis of the index arrays, the axis of the result
    for axis, along in enumerate(counts):
        if along is not None and along not in place and first.shape[along] == x.shape[axis]:
            place[along] = axis
    if any(n != 1 and along not in place for along, n in enumerate(first.shape)):
        return None
    lines = tuple([Line(place.get(along), 0) for along in range(first.ndim)])
    others = [a for a in range(len(counts)) if a not in place.values()]
    if not others:
        return None
    rest = tuple([Line(a) for a in range(len(counts), x.ndim)])
    return lines + rest, [Index(2 + a, lines, x.shape[a], a) for a in others]
