"""Keys of integers and slices with traced integers: their elements are a view, without copies."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.recorder import Recorder
from fungrad.core.types import Shape
from fungrad.numpy.index_plan import Array, Item
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter


class AtIntegers(NamedTuple):
    """Elements that a key takes of an array.

    Attributes
    ----------
    region
        What is taken at integers, along with slices; None if the key is of integers alone.
    integers
        The integers by axis, None in place of those that are traced.
    shape
        The shape of what is taken.
    """

    region: IndexedSlice | None
    integers: tuple[int | None, ...]
    shape: Shape

    def taken(self, trace: Recorder, x: Any, traced: Sequence[Any]) -> Any:
        """Return the elements at the `traced` integers and those that are known."""
        return (self.region or Gather(True))(trace.lift(x), *self._places(trace, traced))

    def written(
        self, trace: Recorder, x: Any, updates: Any, traced: Sequence[Any], kind: str
    ) -> Any:
        """Return `x` with those elements set to `updates`, or with these added."""
        r = self.region
        write = IndexedUpdate(r.axes, r.start, r.stop, r.step, kind) if r else Scatter(kind, True)
        return write(trace.lift(x), updates, *self._places(trace, traced))

    def _places(self, trace: Recorder, traced: Sequence[Any]) -> list[Any]:
        rest = iter(traced)
        return [trace.lift(next(rest) if i is None else np.int64(i)) for i in self.integers]


@functools.lru_cache(maxsize=1 << 13)
def at_integers(shape: Shape, items: tuple[Item, ...]) -> AtIntegers | None:
    """Return the elements of a key without arrays that have axes; None if it does more.

    Rows are what `Gather` takes by itself. A key that NumPy refuses is none either.
    """
    used = sum(item is not None and item is not Ellipsis for item in items)
    if None in items or items.count(Ellipsis) > 1 or used > len(shape):
        return None
    if any(type(item) is Array and item.axes != 1 for item in items):
        return None
    by_axis = _by_axis(items, len(shape) - used)
    taken = [_taken(item, n) for item, n in zip(by_axis, shape, strict=True)]
    axes = tuple([a for a, t in enumerate(taken) if type(t) is not range])
    if any(t is None for t in taken):
        return None
    integers = tuple([None if type(by_axis[a]) is Array else int(taken[a]) for a in axes])  # type: ignore[arg-type]
    rest = [t for t in taken if type(t) is range]
    if not rest:
        return AtIntegers(None, integers, ())
    whole = all(type(t) is not range or t == range(n) for t, n in zip(taken, shape, strict=True))
    if whole and axes == tuple(range(len(axes))) and all(i is None for i in integers):
        return None
    bounds = [
        (t.start, t.stop, t.step) if type(t) is range else (0, n, 1)
        for t, n in zip(taken, shape, strict=True)
    ]
    start, stop, step = zip(*bounds, strict=True)
    return AtIntegers(
        IndexedSlice(axes, start, stop, step), integers, tuple([len(t) for t in rest])
    )


def _by_axis(items: tuple[Item, ...], left: int) -> list[Item]:
    """Return an item for each axis: slices of everything for the ellipsis, or behind all others."""
    found: list[Item] = []
    for item in items if Ellipsis in items else (*items, Ellipsis):
        found += [(None, None, None)] * left if item is Ellipsis else [item]
    return found


def _taken(item: Item, n: int) -> range | int | None:
    """Return an item's range along an axis of length `n`, or its integer, 0 if traced."""
    if type(item) is Array:
        return 0
    if type(item) is int:
        return item % n if -n <= item < n else None
    taken = range(*slice(*item).indices(n))
    if len(taken) <= 1:
        return range(taken[0], taken[0] + 1) if taken else range(0)
    return taken if taken.step > 0 else None
