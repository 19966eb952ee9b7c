"""Slices whose starts are operands: integers that are known when the program runs, not before.

The workhorses of loops: the program of a loop's body reads and writes at the loop's counter, so the
elements written are not copied, and neither is what is around them.

Design: docs/design/11-dynamic-slices-convolutions-windows.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.elementwise import Cast, add, clamp, less, minimum, select
from fungrad.primitives.indexing import Gather, Scatter, Update
from fungrad.primitives.shaping import (
    Broadcast,
    Reshape,
    constant_like,
    counting,
    expand,
    inverse_permutation,
    permuted,
    zeros_like,
)
from fungrad.primitives.slices import Slice, with_units, without_units

Axes = tuple[int, ...]


@primitive
class DynamicSlice(Primitive):
    """Take `sizes` elements along `axes` from starts that are operands; all along the other axes.

    Operands are x and a start for each of `axes`, a 0-d integer. A negative start counts from the
    end. It is then moved into the range from 0 to its limit, the largest start from which the slice
    fits; so sizes and `limits` add up to the lengths of the axes. The result lacks the axes `dropped`, along
    each of which it has one element. `within` promises that starts are in that range as they are. Transposes to
    `DynamicUpdateSlice`.
    """

    axes: Axes
    sizes: tuple[int, ...]
    limits: tuple[int, ...]
    dropped: Axes = ()
    within: bool = False

    linear = (0,)
    view = True
    takes_elements = True

    def abstract_eval(self, x: ArrayType, *starts: ArrayType) -> ArrayType:
        return x.update(shape=_sliced_shape(self, x, starts))

    def index_at(self, *starts: Any) -> tuple[slice | int, ...]:
        """Return the index of the slice; starts on a GPU are waited for."""
        index: list[slice | int] = [slice(None)] * (
            max((*self.axes, *self.dropped), default=-1) + 1
        )
        for axis in self.dropped:
            index[axis] = 0
        for axis, size, limit, start in zip(
            self.axes, self.sizes, self.limits, starts, strict=True
        ):
            i = int(start)
            if not self.within:
                i = min(max(i + size + limit if i < 0 else i, 0), limit)
            index[axis] = i if axis in self.dropped else slice(i, i + size)
        return tuple(index)

    def index_text(self, *starts: str) -> str:
        """Return the source text of the value of `index_at`, written out, so that nothing is called."""
        index = [":"] * (max((*self.axes, *self.dropped), default=-1) + 1)
        for axis in self.dropped:
            index[axis] = "0"
        for axis, size, limit, start in zip(
            self.axes, self.sizes, self.limits, starts, strict=True
        ):
            first = f"min(max(_i + {size + limit} if (_i := int({start})) < 0 else _i, 0), {limit})"
            if self.within:
                first = start
                index[axis] = first if axis in self.dropped else f"{first}:{first} + {size}"
            else:
                index[axis] = first if axis in self.dropped else f"(_i := {first}):_i + {size}"
        return ", ".join(index) or "()"

    def impl(self, xp: Any, x: Any, *starts: Any) -> Any:
        return x[self.index_at(*starts)]

    def expression(self, x: str, *starts: str) -> str:
        return f"{x}[{self.index_text(*starts)}]"

    def add_to_taken(self, total: Any, ct: Any, *others: Any) -> None:
        total[self.index_at(*others)] += ct

    def transpose(self, ct: Any, x: Linear, *starts: Any) -> tuple[Any, ...]:
        region = self.axes, self.sizes, self.limits
        into = DynamicUpdateSlice(*region, "add", self.dropped, self.within)
        return (into(zeros_like(x), ct, *starts), *[None] * len(starts))

    def batch(self, size: int, batched: tuple[bool, ...], x: Any, *starts: Any) -> Any:
        if not any(batched[1:]):
            moved = _next(self.axes), self.sizes, self.limits, _next(self.dropped)
            return DynamicSlice(*moved, self.within)(x, *starts)
        if self.dropped:
            whole = DynamicSlice(self.axes, self.sizes, self.limits)
            slices = whole.batch(size, batched, x, *starts)
            kept = [n for a, n in enumerate(slices.shape) if a - 1 not in self.dropped]
            return Reshape(tuple(kept))(slices)
        places = _places(self, size, batched[1:], starts)
        ndim = len(x.shape) - batched[0]
        if batched[0]:
            order = _leading(self.axes, ndim)
            slices = Gather(True)(permuted(x, order), *places)
        else:  # elements of the batch may read the same
            order = tuple(a - 1 for a in _leading(self.axes, ndim)[1:])
            slices = Gather()(permuted(x, order), *places[1:])
        return permuted(slices, inverse_permutation(_leading(self.axes, ndim)))


SLICES = Slice, DynamicSlice
"""The primitives that take a part of an array which is a view."""


@primitive
class DynamicUpdateSlice(Update):
    """Return ``x`` with `updates` in place of, or added to, the elements that `DynamicSlice` takes.

    Operands are x, updates and the starts. The updates lack the axes `dropped`.
    """

    axes: Axes
    sizes: tuple[int, ...]
    limits: tuple[int, ...]
    kind: str = "set"
    dropped: Axes = ()
    within: bool = False

    @property
    def region(self) -> DynamicSlice:
        return DynamicSlice(self.axes, self.sizes, self.limits, self.dropped, self.within)

    def batch(
        self, size: int, batched: tuple[bool, ...], x: Any, updates: Any, *starts: Any
    ) -> Any:
        x, updates = expand(size, x, batched[0]), expand(size, updates, batched[1])
        if not any(batched[2:]):
            moved = _next(self.axes), self.sizes, self.limits, self.kind, _next(self.dropped)
            return DynamicUpdateSlice(*moved, self.within)(x, updates, *starts)
        if self.dropped:
            updates = Reshape(with_units(updates.shape, _next(self.dropped)))(updates)
        order = _leading(self.axes, len(x.shape) - 1)
        places = _places(self, size, batched[2:], starts)
        written = Scatter(self.kind, unique=True)(
            permuted(x, order), permuted(updates, order), *places
        )
        return permuted(written, inverse_permutation(order))


def clamped(start: Any, limit: int) -> Any:
    """Return integers as int64, moved into the range from 0 to `limit`."""
    if start.dtype == np.uint64:  # which may be beyond int64
        start = minimum(start, constant_like(start, limit))
    start = Cast(np.dtype(np.int64))(start)
    return clamp(constant_like(start, 0), start, constant_like(start, limit))


def wrapped(start: Any, length: int) -> Any:
    """Return integers with those that are negative counted from the end of an axis, as int64."""
    if start.dtype.kind == "u":
        return start
    start = Cast(np.dtype(np.int64))(start)
    from_end = add(start, constant_like(start, length))
    return select(less(start, constant_like(start, 0)), from_end, start)


def _sliced_shape(op: Any, x: ArrayType, starts: tuple[ArrayType, ...]) -> Shape:
    """Return the shape of the slice; check the operands."""
    if not len(op.axes) == len(op.sizes) == len(op.limits) == len(starts):
        raise ValueError(f"{op} takes a start for each of the axes {op.axes}, got {len(starts)}")
    if any(s.shape or s.dtype.kind not in "iu" for s in starts):
        raise TypeError(f"{op}: starts are 0-d integers, got {starts}")
    shape = list(x.shape)
    for axis, size, limit in zip(op.axes, op.sizes, op.limits, strict=True):
        if not 0 <= axis < x.ndim or min(size, limit) < 0 or size + limit != x.shape[axis]:
            raise ValueError(f"{op}: {size} elements from up to {limit} do not fit {x}")
        shape[axis] = size
    return without_units(op, tuple(shape))


def _places(op: Any, size: int, batched: Sequence[bool], starts: Sequence[Any]) -> tuple[Any, ...]:
    """Return index arrays of shape (batch, *sizes): the number in the batch, and one for each axis."""
    shape = (size, *op.sizes)
    places = [counting(shape, 0, *starts)]
    parameters = zip(op.sizes, op.limits, starts, batched, strict=True)
    for k, (length, limit, start, mapped) in enumerate(parameters):
        first = clamped(wrapped(start, length + limit), limit)
        others = tuple(range(1 if mapped else 0, len(shape)))
        places.append(Broadcast(shape, others)(first) + counting(shape, k + 1, *starts))
    return tuple(places)


def _next(axes: Axes) -> Axes:
    return tuple(a + 1 for a in axes)


def _leading(axes: Axes, ndim: int) -> Axes:
    """Return the order of axes with the batch first, then `axes`, then the others, of `ndim` in all."""
    return (0, *_next(axes), *[a + 1 for a in range(ndim) if a not in axes])
