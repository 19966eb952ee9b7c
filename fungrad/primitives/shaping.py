"""Moving elements around: broadcast, reshape, permute; and numbers that count up.

`ReduceSum` is here too: it and `Broadcast` are each other's transposes. What takes parts of arrays is in `slices.py`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.nesting import trace_of
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import ArrayType, Shape, check_numbers, is_half, type_of


class Rearrangement(Primitive):
    """Base of primitives that move or repeat elements: the result may share the operand's memory."""

    linear = (0,)
    view = True
    warns = False
    rearranges = True
    total = True


@primitive
class Broadcast(Rearrangement):
    """Repeat along new axes: the result has `shape`, and the operand lacks `axes`.

    Transposes to `ReduceSum` over `axes`. (NumPy's stretching of axes of length 1 is a `Reshape`
    that drops them, then this.)
    """

    shape: Shape
    axes: tuple[int, ...]

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        kept = tuple(n for i, n in enumerate(self.shape) if i not in self.axes)
        if kept != x.shape:
            raise TypeError(f"cannot broadcast {x} to {self.shape} with new axes {self.axes}")
        return x.update(shape=self.shape)

    def then(self, outer: Broadcast) -> Broadcast:
        """Return the one broadcast that `outer` after this one is."""
        kept = [a for a in range(len(outer.shape)) if a not in outer.axes]
        return Broadcast(outer.shape, tuple(sorted([*outer.axes, *(kept[a] for a in self.axes)])))

    def with_unit_axes(self) -> Shape:
        """Return the shape of an operand that NumPy broadcasts to the result by itself."""
        return tuple(1 if i in self.axes else n for i, n in enumerate(self.shape))

    @property
    def leading(self) -> bool:
        """Whether the new axes all come first, as in NumPy's own broadcasting."""
        return self.axes == tuple(range(len(self.axes)))

    def impl(self, xp: Any, x: Any) -> Any:
        if (
            target_of(xp).on_host
            and x.dtype.kind in "fciub"
            and x.flags.c_contiguous
            and 0 not in self.shape
        ):
            return self._spread(np.asarray(x))
        if not self.leading:
            x = x.reshape(self.with_unit_axes())
        return xp.broadcast_to(x, self.shape)

    def _spread(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return `numpy.broadcast_to` of an array in C order, in a third of the time."""
        steps = iter(x.strides)
        strides = tuple([0 if i in self.axes else next(steps) for i in range(len(self.shape))])
        result: np.ndarray[Any, Any] = np.ndarray(self.shape, x.dtype, x, 0, strides)
        result.flags.writeable = False
        return result

    def expression(self, x: str) -> str:
        operand = x if self.leading else f"{x}.reshape({self.with_unit_axes()})"
        return f"np.broadcast_to({operand}, {self.shape})"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (ReduceSum(self.axes)(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return Broadcast((size, *self.shape), tuple(a + 1 for a in self.axes))(x)


class AlongAxes(Primitive):
    """Base of primitives along the field `axis` or `axes`, counted in all operands.

    A batch is one more axis before them.
    """

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        moved = [expand(size, x, b) for x, b in zip(operands, batched, strict=True)]
        return one_axis_on(self)(*moved)


@functools.lru_cache(maxsize=1 << 10)
def one_axis_on(along: Any) -> Any:
    """Return the primitive that works along the next axes."""
    if hasattr(along, "axis"):
        return dataclasses.replace(along, axis=along.axis + 1)
    return dataclasses.replace(along, axes=tuple([a + 1 for a in along.axes]))


@primitive
class ReduceSum(AlongAxes):
    """Sum over `axes`, which the result lacks, in the operand's dtype.

    Numbers of two bytes or fewer are added up in float32, and the sum is rounded once: NumPy, too, does so along the last
    axis, for float16 alone. Added up in bfloat16, ones would be no more than 256. Transposes to `Broadcast`.
    """

    axes: tuple[int, ...]

    linear = (0,)
    total = True

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        check_numbers("sum", (x,))
        return x.update(shape=without_axes(self, x))

    # The ufunc's method costs less than half of a call of np.sum; CuPy has it since version 12.

    def impl(self, xp: Any, x: Any) -> Any:
        if is_half(x.dtype):
            return xp.add.reduce(x, self.axes, np.float32).astype(x.dtype)
        return xp.add.reduce(x, self.axes, x.dtype)

    def expression(self, x: str) -> str:
        return f"np.add.reduce({x}, {self.axes}, {x}.dtype)"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (Broadcast(x.shape, self.axes)(ct),)


def without_axes(reduction: Any, x: ArrayType) -> Shape:
    """Return the shape of `x` without the axes of `reduction`; check that they are axes of `x`."""
    axes: tuple[int, ...] = reduction.axes
    if len({*axes}) != len(axes) or not all(0 <= a < x.ndim for a in axes):
        raise ValueError(f"{reduction.name}: {axes} are not distinct axes of {x}")
    return tuple(n for i, n in enumerate(x.shape) if i not in axes)


@primitive
class Reshape(Rearrangement):
    """Give the elements, in row-major order, another shape."""

    shape: Shape

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if math.prod(self.shape) != x.size:
            raise ValueError(f"cannot reshape {x} of size {x.size} into shape {self.shape}")
        return x.update(shape=self.shape)

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.reshape(x, self.shape)

    def expression(self, x: str) -> str:
        return f"{x}.reshape({self.shape})"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (Reshape(x.shape)(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return Reshape((size, *self.shape))(x)


@primitive
class Permute(Rearrangement):
    """Reorder the axes: axis `i` of the result is axis `axes[i]` of the operand."""

    axes: tuple[int, ...]

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if sorted(self.axes) != list(range(x.ndim)):
            raise ValueError(f"axes {self.axes} are not a permutation of the axes of {x}")
        return x.update(shape=tuple(x.shape[a] for a in self.axes))

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.transpose(x, self.axes)

    def expression(self, x: str) -> str:
        return f"{x}.transpose({self.axes})"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (Permute(inverse_permutation(self.axes))(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return Permute((0, *(a + 1 for a in self.axes)))(x)


@primitive
class Iota(Primitive):
    """The numbers 0, 1, 2, ... along `axis` of an array of `shape`; no operands."""

    shape: Shape
    dtype: np.dtype[Any]
    axis: int

    view = True  # of one row: not to be written into

    differentiable = False
    warns = False

    def abstract_eval(self) -> ArrayType:
        if not 0 <= self.axis < len(self.shape):
            raise ValueError(f"iota: shape {self.shape} has no axis {self.axis}")
        if self.dtype.kind not in "iufc":
            raise TypeError(f"iota: {self.dtype} does not count")
        return ArrayType(self.shape, self.dtype)

    def impl(self, xp: Any) -> Any:
        numbers = xp.arange(self.shape[self.axis], dtype=self.dtype)
        others = tuple(i for i in range(len(self.shape)) if i != self.axis)
        return Broadcast(self.shape, others).impl(xp, numbers)

    def expression(self) -> str | None:
        return (
            f"np.arange({self.shape[0]}, dtype={self.dtype.str!r})"
            if len(self.shape) == 1
            else None
        )

    def batch(self, size: int, batched: tuple[bool, ...]) -> Any:
        return Iota((size, *self.shape), self.dtype, self.axis + 1)()


def with_length(shape: Shape, axis: int, n: int) -> Shape:
    """Return a shape with another length of an axis."""
    return (*shape[:axis], n, *shape[axis + 1 :])


def expand(size: int, x: Any, batched: bool) -> Any:
    """Return `x` with a batch axis in front: its own, or a new one of length `size`."""
    return x if batched else Broadcast((size, *type_of(x).shape), (0,))(x)


def permuted(x: Any, axes: Sequence[int]) -> Any:
    """Reorder axes, unless they are in that order already."""
    axes = tuple(axes)
    return x if axes == tuple(range(len(axes))) else Permute(axes)(x)


def inverse_permutation(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the order that undoes one; of any different numbers, the order that sorts them."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def move_axis(x: Any, source: int, destination: int) -> Any:
    """Move one axis, the others keeping their order."""
    if source == destination:
        return x
    axes = [a for a in range(len(x.shape)) if a != source]
    axes.insert(destination, source)
    return Permute(tuple(axes))(x)


def full(type_: ArrayType, value: Any) -> Any:
    """Return an array of one value: recorded in the innermost open trace if there is one."""
    scalar = np.asarray(value, type_.dtype)[()]
    trace = innermost_trace()
    x = scalar if trace is None else trace.lift(scalar)
    if not type_.shape:
        return x
    return Broadcast(type_.shape, tuple(range(type_.ndim)))(x)


def zeros_like(x: Any) -> Any:
    """Return zeros of the type of `x`, an array, a tracer or a `Linear`."""
    return full(x.type if isinstance(x, Linear) else ArrayType(x.shape, x.dtype), 0)


def iota(shape: Shape, dtype: Any, axis: int = 0) -> Any:
    """Return 0, 1, 2, ... along an axis: recorded in the innermost open trace if there is one."""
    counting = Iota(shape, np.dtype(dtype), axis)
    trace = innermost_trace()
    return counting() if trace is None else trace.record(counting, ())


def constant_like(x: Any, value: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """Return an array of one value with the shape of `x`, recorded where `x` is.

    What is computed from it then belongs to the primal program, not to that of the tangents.
    """
    scalar: Any = np.asarray(value, dtype or x.dtype)[()]
    trace = trace_of((x,))
    if trace is not None:
        scalar = trace.lift(scalar)
    shape = x.shape
    return Broadcast(shape, tuple(range(len(shape))))(scalar) if shape else scalar


def counting(shape: Shape, axis: int, *near: Any) -> Any:
    """Return an index array whose elements are their positions along `axis`.

    It is recorded where the first tracer among `near` is: the elements of an array made at once would
    all be stored in the program, these need no memory.
    """
    counter = Iota(shape, np.dtype(np.int64), axis)
    trace = next((x._owner for x in near if type(x) is Tracer), None)
    return counter() if trace is None else trace.record(counter, ())
