"""Slices along some axes at integers along others, as of ``x[i, 1:-1, j]``: views.

The integers are operands. `Gather` does the same after the axes have been sliced and moved; but what is written there would be
parts of parts, each a copy. A loop that goes over the rows of an array, or its columns, writes to nothing but the row.
"""

from __future__ import annotations

from typing import Any

from fungrad.core.backend import target_of
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.indexing import Gather, Scatter, Update, UpdateSlice
from fungrad.primitives.shaping import expand, inverse_permutation, permuted, zeros_like
from fungrad.primitives.slices import Slice


@primitive
class IndexedSlice(Primitive):
    """Take elements at integers along `axes`, which the result lacks, and a slice along the others.

    Operands are x and a 0-d integer for each of `axes`, of which negative ones count from the end. `start`, `stop` and `step` are those of a
    `Slice`; along `axes` it takes all. Transposes to `IndexedUpdate`.
    """

    axes: tuple[int, ...]
    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]

    linear = (0,)
    warns = False
    view = True
    takes_elements = True

    @property
    def dropped(self) -> tuple[int, ...]:
        """The axes that the result lacks."""
        return self.axes

    @property
    def whole(self) -> Slice:
        """The slice along all axes, before elements are taken."""
        return Slice(self.start, self.stop, self.step)

    def abstract_eval(self, x: ArrayType, *places: ArrayType) -> ArrayType:
        if len(places) != len(self.axes) or any(
            p.shape or p.dtype.kind not in "iu" for p in places
        ):
            raise TypeError(f"{self} takes a 0-d integer for each of its axes, got {places}")
        shape = self.whole.abstract_eval(x).shape
        if any(shape[a] != x.shape[a] for a in self.axes):
            raise ValueError(f"{self} of {x}: it takes all along the axes that are indexed")
        return x.update(shape=tuple([n for a, n in enumerate(shape) if a not in self.axes]))

    def index_at(self, *places: Any) -> tuple[Any, ...]:
        """Return the index of the elements."""
        index: list[Any] = list(map(slice, self.start, self.stop, self.step))
        for axis, place in zip(self.axes, places, strict=True):
            index[axis] = place
        return tuple(index)

    def index_text(self, *places: str) -> str:
        """Return the source text of the index."""
        bounds = zip(self.start, self.stop, self.step, strict=True)
        index = [f"{a}:{b}" if step == 1 else f"{a}:{b}:{step}" for a, b, step in bounds]
        for axis, place in zip(self.axes, places, strict=True):
            index[axis] = place
        return ", ".join(index)

    def impl(self, xp: Any, x: Any, *places: Any) -> Any:
        if not target_of(xp).takes_scalars:
            x, *places = map(xp.asarray, (x, *places))  # type: ignore[assignment]
        return x[self.index_at(*places)]

    def expression(self, x: str, *places: str) -> str:
        return f"{x}[{self.index_text(*places)}]"

    def add_to_taken(self, total: Any, ct: Any, *others: Any) -> None:
        total[self.index_at(*others)] += ct

    def transpose(self, ct: Any, x: Linear, *places: Any) -> tuple[Any, ...]:
        into = IndexedUpdate(self.axes, self.start, self.stop, self.step, "add")
        return (into(zeros_like(x), ct, *places), *[None] * len(places))

    def batch(self, size: int, batched: tuple[bool, ...], x: Any, *places: Any) -> Any:
        if not any(batched[1:]):
            return type(self)(*_batched(self, x))(x, *places)
        parts, order = self._arranged(x, batched[0])
        return Gather(True).batch(size, batched, permuted(parts, order), *places)

    def _arranged(self, x: Any, batched: bool) -> tuple[Any, tuple[int, ...]]:
        """Return the slice, and the order of axes in which the indexed ones lead, behind the batch."""
        bounds = _batched(self, x)[1:] if batched else (self.start, self.stop, self.step)
        rest = [a for a in range(len(self.start)) if a not in self.axes]
        order: Shape = (*self.axes, *rest)
        return Slice(*bounds)(x), (0, *[a + 1 for a in order]) if batched else order


@primitive
class IndexedUpdate(Update):
    """Return ``x`` with `updates` in place of, or added to, the elements that `IndexedSlice` takes.

    Operands are x, updates and the integers. The updates lack the axes that are indexed.
    """

    axes: tuple[int, ...]
    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]
    kind: str = "set"

    @property
    def region(self) -> IndexedSlice:
        return IndexedSlice(self.axes, self.start, self.stop, self.step)

    def impl(self, xp: Any, x: Any, updates: Any, *places: Any) -> Any:
        if not target_of(xp).takes_scalars:
            x, updates, *places = map(xp.asarray, (x, updates, *places))  # type: ignore[assignment]
        return super().impl(xp, x, updates, *places)

    def batch(
        self, size: int, batched: tuple[bool, ...], x: Any, updates: Any, *places: Any
    ) -> Any:
        x, updates = expand(size, x, batched[0]), expand(size, updates, batched[1])
        if not any(batched[2:]):
            return IndexedUpdate(*_batched(self, x), self.kind)(x, updates, *places)
        region = self.region
        parts, order = region._arranged(x, True)
        flags = (True, True, *batched[2:])
        scatter = Scatter(self.kind, unique=True)
        changed = scatter.batch(size, flags, permuted(parts, order), updates, *places)
        bounds = _batched(self, x)[1:]
        return UpdateSlice(*bounds)(x, permuted(changed, inverse_permutation(order)))


def _batched(op: IndexedSlice | IndexedUpdate, x: Any) -> tuple[Any, ...]:
    """Return the axes and bounds for an array whose first axis is that of a batch."""
    size = x.shape[0]
    return tuple([a + 1 for a in op.axes]), (0, *op.start), (size, *op.stop), (1, *op.step)
