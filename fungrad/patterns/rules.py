"""Rules of dependence: the index sets of a primitive's results, by its class.

A rule may give sets that are too large, and never ones that are too small. A primitive without a rule of its own mixes all
elements of all operands.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.patterns.index_sets import (
    Sets,
    everything,
    grouped,
    numbered,
    related,
    stacked,
    taken,
    union,
    without,
)
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.elementwise import mul, select
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.naming import Named
from fungrad.primitives.shaping import Rearrangement
from fungrad.primitives.slices import Pad, Reverse
from fungrad.primitives.ufunc import Elementwise


class Operands(Protocol):
    """The operands of one equation."""

    sets: Sequence[Sets]
    types: Sequence[ArrayType]

    def value(self, i: int) -> Any:
        """Return the value of an operand that is the same whatever the inputs are; None if it is not known."""

    def peek(self, i: int) -> Any:
        """Return the same, without a note that the sets depend on it."""


@functools.singledispatch
def dependence(primitive: Primitive, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    """Return the index sets of each result; at least one operand has some."""
    return [everything(given.sets, t.size) for t in results]


@dependence.register
def _(primitive: Elementwise, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    sets = [*given.sets]
    if primitive is mul:
        for i in (0, 1):
            factor = given.peek(1 - i)
            if sets[i] is not None and factor is not None and not np.all(factor):
                sets[i] = without(sets[i], np.equal(given.value(1 - i), 0))
    elif primitive is select and given.peek(0) is not None:
        where = np.asarray(given.value(0))
        sets = [None, without(sets[1], ~where), without(sets[2], where)]
    return [union(sets)]


@dependence.register(Rearrangement)
@dependence.register(Concatenate)
@dependence.register(Stack)
@dependence.register(Roll)
@dependence.register(Reverse)
@dependence.register(Named)
@dependence.register(Pad)
@dependence.register(UpdateSlice)
def _(primitive: Any, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    return [_moved(primitive, given, ())]


def _moved(primitive: Any, given: Operands, indices: Sequence[Any]) -> Sets:
    """Return the sets of a primitive that only moves elements, by running it on their positions.

    The last operands are `indices`. Values that are added to x, not set, go into an array without sets first.
    """
    count = len(given.types) - len(indices)
    sizes = [t.size for t in given.types[:count]]
    starts = np.cumsum([0, *sizes])
    positions = [
        np.full(t.shape, -1) if s is None else numbered(t.shape, start)
        for s, t, start in zip(given.sets, given.types[:count], starts, strict=False)
    ]
    all_sets = stacked(given.sets[:count], sizes)
    if getattr(primitive, "kind", "set") == "set":
        return taken(all_sets, np.asarray(primitive.impl(np, *positions, *indices)))
    positions[0] = np.full(given.types[0].shape, -1)
    into = dataclasses.replace(primitive, kind="set")
    added = taken(all_sets, np.asarray(into.impl(np, *positions, *indices)))
    return union([given.sets[0], added])


def _values(given: Operands, first: int) -> list[Any] | None:
    """Return the operands from `first` on, such as indices; None if one is not known."""
    count = len(given.types)
    if any(given.peek(i) is None for i in range(first, count)):
        return None
    return [np.asarray(given.value(i)) for i in range(first, count)]


@dependence.register
def _(primitive: Gather, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    indices = _values(given, 1)
    if indices is not None:
        return [_moved(primitive, given, indices)]
    shape = given.types[0].shape
    cells = _cells(shape, given, 1)
    found = grouped(given.sets[0], np.broadcast_to(cells, shape), cells.size)
    return [taken(found, _read(cells, given, 1))]


@dependence.register
def _(primitive: Scatter, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    shape = given.types[0].shape
    indices = _values(given, 2)
    if indices is not None and primitive.kind == "set":
        return [_moved(primitive, given, indices)]
    cells = _cells(shape, given, 2)
    found = grouped(given.sets[1], _read(cells, given, 2), cells.size)
    return [union([given.sets[0], taken(found, np.broadcast_to(cells, shape))])]


def _cells(shape: Sequence[int], given: Operands, first: int) -> np.ndarray[Any, Any]:
    """Return the number of the cell of each element; an axis is one cell if its index is unknown.

    The indices are the operands from `first` on.
    """
    unknown = [i - first for i in range(first, len(given.types)) if given.peek(i) is None]
    return numbered([1 if a in unknown else n for a, n in enumerate(shape)])


def _read(cells: np.ndarray[Any, Any], given: Operands, first: int) -> np.ndarray[Any, Any]:
    """Return the cells that index arrays, the operands from `first` on, point to."""
    indices = [
        np.zeros(given.types[i].shape, int) if given.peek(i) is None else np.asarray(given.value(i))
        for i in range(first, len(given.types))
    ]
    return np.asarray(cells[tuple(indices)])


def _window(
    primitive: DynamicSlice | DynamicUpdateSlice, shape: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the shape without the axes along which a window moves, of length 1, and that of the window."""
    kept, window = [*shape], [*shape]
    for axis, size in zip(primitive.axes, primitive.sizes, strict=True):
        kept[axis], window[axis] = 1, size
    return kept, window


@dependence.register
def _(primitive: DynamicSlice, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    starts = _values(given, 1)
    if starts is not None:
        return [_moved(primitive, given, starts)]
    shape = given.types[0].shape
    kept, window = _window(primitive, shape)
    found = grouped(given.sets[0], np.broadcast_to(numbered(kept), shape), math.prod(kept))
    return [taken(found, np.broadcast_to(numbered(kept), window))]


@dependence.register
def _(primitive: DynamicUpdateSlice, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    starts = _values(given, 2)
    if starts is not None:
        return [_moved(primitive, given, starts)]
    shape = given.types[0].shape
    kept, window = _window(primitive, shape)
    found = grouped(given.sets[1], np.broadcast_to(numbered(kept), window), math.prod(kept))
    return [union([given.sets[0], taken(found, np.broadcast_to(numbered(kept), shape))])]


@dependence.register
def _(primitive: DotGeneral, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    of_operands = primitive.names(*[t.ndim for t in given.types])
    lengths = {
        name: n
        for names, t in zip(of_operands, given.types, strict=False)
        for name, n in zip(names, t.shape, strict=True)
    }
    parts = []
    for i in (0, 1):
        if given.sets[i] is None:
            continue
        other = given.peek(1 - i)
        if other is not None and not np.all(other):
            parts.append(_product_with(given.sets[i], i, given.value(1 - i), of_operands, lengths))
            continue
        summed = [n for n in of_operands[i] if n in of_operands[2]]
        kept = [lengths[n] for n in summed]
        groups = _positions(kept, summed, of_operands[i], lengths)
        found = grouped(given.sets[i], groups, math.prod(kept))
        parts.append(taken(found, _positions(kept, summed, of_operands[2], lengths)))
    return [union(parts)]


def _positions(
    shape: Sequence[int], names: Sequence[int], among: Sequence[int], lengths: dict[int, int]
) -> np.ndarray[Any, Any]:
    """Return, for each element of an array with axes `among`, its position in one with axes `names`."""
    position = np.zeros([1] * len(among), int)
    step = 1
    for name, n in zip(reversed(names), reversed(shape), strict=True):
        axis = among.index(name)
        position = position + step * np.arange(n).reshape(
            [-1 if a == axis else 1 for a in range(len(among))]
        )
        step *= n
    return np.broadcast_to(position, [lengths[name] for name in among])


def _product_with(
    sets: Sets, i: int, other: Any, names: Sequence[Sequence[int]], lengths: dict[int, int]
) -> Sets:
    """Return the sets of a product with a known array, whose zeros take no part."""
    places = np.nonzero(other)
    index = dict(zip(names[1 - i], places, strict=True))
    free = [n for n in names[i] if n not in index]  # each non-zero meets all elements along these
    count = math.prod([lengths[n] for n in free])
    along = np.unravel_index(np.arange(count), [lengths[n] for n in free]) if free else ()
    index = {n: p[:, None] for n, p in index.items()}
    index |= {n: p[None, :] for n, p in zip(free, along, strict=True)}

    def position(of: Sequence[int]) -> Any:
        total = np.zeros((len(places[0]) if places else 1, count), int)
        for n in of:
            total = total * lengths[n] + index[n]
        return total.reshape(-1)

    rows, columns = position(names[2]), position(names[i])
    shape = [math.prod([lengths[n] for n in of]) for of in (names[2], names[i])]
    return related(sp.csr_array((np.ones(rows.size, bool), (rows, columns)), shape=shape), sets)
