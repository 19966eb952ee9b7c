"""The steps that lead from an array to a view of it, and back.

A step is a primitive that rearranges elements, an index of which integers are traced, or sliding windows. It
is applied by calling it; `put` undoes it, and `laid_out` says how NumPy would lay its result out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, Primitive
from fungrad.core.tracer import Tracer
from fungrad.numpy.indexing import getitem, item_of, setitem_functional
from fungrad.primitives import elementwise as e
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.shaping import Broadcast, Permute
from fungrad.primitives.slices import Reverse, Slice

Item = Any  # an integer, (start, stop, step), None, Ellipsis, or Tracer for a traced integer


@dataclass(frozen=True, slots=True)
class AtIndex:
    """``x[key]`` for a key of slices and integers, some of them traced.

    Attributes
    ----------
    items
        The items of the key, each traced integer replaced by the class `Tracer`.
    indices
        The traced integers, which are scalars: nothing changes them.
    """

    items: tuple[Item, ...]
    indices: tuple[Tracer, ...] = field(default=(), compare=False)

    def key(self, *indices: Any) -> tuple[Any, ...]:
        """Return the key with these in place of the traced integers."""
        rest = iter(indices)
        return tuple(
            [
                next(rest) if item is Tracer else slice(*item) if type(item) is tuple else item
                for item in self.items
            ]
        )

    def __call__(self, x: Any) -> Any:
        """Return the elements."""
        return getitem(x, self.key(*self.indices))


def at_index(parts: tuple[Any, ...]) -> AtIndex:
    """Return the step for the items of a key."""
    traced = tuple([part for part in parts if type(part) is Tracer])
    return AtIndex(
        tuple([Tracer if type(part) is Tracer else item_of(part) for part in parts]), traced
    )


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """All windows of given lengths along axes, as new last axes."""

    lengths: tuple[int, ...]
    axes: tuple[int, ...]

    def __call__(self, x: Any) -> Any:
        """Return the windows."""
        last = x.ndim - 1
        for axis, n in zip(self.axes, self.lengths, strict=True):
            places = np.arange(x.shape[axis] + 1 - n)[:, None] + np.arange(n)
            x = getitem(x, (slice(None),) * axis + (places,))
            last += 1
            order = [i for i in range(last + 1) if i != axis + 1]
            x = Permute((*order, axis + 1))(x)
        return x


Step = Primitive | AtIndex | SlidingWindows
Steps = tuple[Step, ...]


def put(step: Step, old: Tracer, new: Tracer) -> Tracer:
    """Return the array that is `new` when seen through `step`, and elsewhere `old`."""
    if isinstance(step, AtIndex):
        return setitem_functional(old, step.key(*step.indices), new)  # type: ignore[no-any-return]
    if isinstance(step, Slice):
        return UpdateSlice.at(step)(old, new)  # type: ignore[no-any-return]
    if step is e.real:
        return e.complex_(new, e.imag(old))  # type: ignore[no-any-return]
    if step is e.imag:
        return e.complex_(e.real(old), new)  # type: ignore[no-any-return]
    assert isinstance(step, Primitive), "windows are read-only"
    return step.transpose(new, Linear(old._type))[0]  # type: ignore[no-any-return]  # its inverse


def form(step: Step) -> Step:
    """Return a step without the values of its indices."""
    return AtIndex(step.items) if isinstance(step, AtIndex) else step


def laid_out(step: Step, array: Any) -> Any:
    """Return the view of a NumPy array that a step, but for a reshape, makes of it."""
    if isinstance(step, AtIndex):
        return array[step.key(*[0] * step.items.count(Tracer))]
    if isinstance(step, SlidingWindows):
        return np.lib.stride_tricks.sliding_window_view(array, step.lengths, step.axes)
    if isinstance(step, Slice):
        return array[step.index]
    if isinstance(step, Permute):
        return array.transpose(step.axes)
    if isinstance(step, Reverse):
        return np.flip(array, step.axes)
    if isinstance(step, Broadcast):
        return np.broadcast_to(array.reshape(step.with_unit_axes()), step.shape)
    # The real or the imaginary parts: every other number.
    double = tuple([2 * n for n in array.strides])
    return np.lib.stride_tricks.as_strided(array, array.shape, double)
