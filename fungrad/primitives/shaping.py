"""Moving elements around: broadcast, reshape, permute, reverse, concatenate, slice, pad.

`ReduceSum` is here too: it and `Broadcast` are each other's transposes, as are `Slice` and `Pad`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.tracer import innermost_trace
from fungrad.core.types import ArrayType, Shape, type_of


@primitive
class Broadcast(Primitive):
    """Repeat along new axes: the result has `shape`, of which `axes` are not in the operand.

    Transposes to `ReduceSum` over `axes`. (NumPy's stretching of axes of length 1 is a `Reshape`
    that drops them, then this.)
    """

    shape: Shape
    axes: tuple[int, ...]

    linear = (0,)
    view = True
    warns = False
    rearranges = True
    total = True

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
        if not self.leading:
            x = x.reshape(self.with_unit_axes())
        return xp.broadcast_to(x, self.shape)

    def expression(self, x: str) -> str:
        operand = x if self.leading else f"{x}.reshape({self.with_unit_axes()})"
        return f"np.broadcast_to({operand}, {self.shape})"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (ReduceSum(self.axes)(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return Broadcast((size, *self.shape), tuple(a + 1 for a in self.axes))(x)


@primitive
class ReduceSum(Primitive):
    """Sum over `axes`, which the result lacks, in the operand's dtype.

    Transposes to `Broadcast`.
    """

    axes: tuple[int, ...]

    linear = (0,)
    total = True

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x.update(shape=without_axes(self, x))

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.sum(x, axis=self.axes, dtype=x.dtype)

    def expression(self, x: str) -> str:
        # The ufunc's method costs less than half of a call of np.sum; CuPy has it since version 12.
        return f"np.add.reduce({x}, {self.axes}, {x}.dtype)"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (Broadcast(x.shape, self.axes)(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return ReduceSum(tuple(a + 1 for a in self.axes))(x)


def without_axes(reduction: Any, x: ArrayType) -> Shape:
    """Return the shape of `x` without the axes of `reduction`; check that they are axes of `x`."""
    axes: tuple[int, ...] = reduction.axes
    if len({*axes}) != len(axes) or not all(0 <= a < x.ndim for a in axes):
        raise ValueError(f"{reduction.name}: {axes} are not distinct axes of {x}")
    return tuple(n for i, n in enumerate(x.shape) if i not in axes)


@primitive
class Reshape(Primitive):
    """Give the elements, in row-major order, another shape."""

    shape: Shape

    linear = (0,)
    view = True
    warns = False
    rearranges = True
    total = True

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
class Permute(Primitive):
    """Reorder the axes: axis `i` of the result is axis `axes[i]` of the operand."""

    axes: tuple[int, ...]

    linear = (0,)
    view = True
    warns = False
    rearranges = True
    total = True

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
class Reverse(Primitive):
    """Reverse the order of the elements along `axes`."""

    axes: tuple[int, ...]

    linear = (0,)
    view = True
    warns = False
    rearranges = True
    total = True

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        without_axes(self, x)
        return x

    def impl(self, xp: Any, x: Any) -> Any:
        return x[self._index()]

    def expression(self, x: str) -> str:
        return f"{x}[{index_source(self._index())}]"

    def _index(self) -> tuple[slice, ...]:
        backwards, all_ = slice(None, None, -1), slice(None)
        return tuple(
            backwards if i in self.axes else all_ for i in range(max(self.axes, default=-1) + 1)
        )

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (self(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return Reverse(tuple(a + 1 for a in self.axes))(x)


@primitive
class Concatenate(Primitive):
    """Join arrays along an axis they have. Transposes to a `Slice` for each."""

    axis: int

    linear = ()  # in all operands
    warns = False
    total = True

    def abstract_eval(self, *xs: ArrayType) -> ArrayType:
        if not xs:
            raise ValueError("need at least one array to concatenate")
        first, axis = xs[0], self.axis
        if not 0 <= axis < first.ndim:
            raise ValueError(f"cannot concatenate along axis {axis} of {first}")
        for x in xs:
            if x.dtype != first.dtype:
                raise TypeError(f"concatenate: operands of different dtypes, {first} and {x}")
            if (x.shape[:axis], x.shape[axis + 1 :]) != (
                first.shape[:axis],
                first.shape[axis + 1 :],
            ):
                raise ValueError(
                    f"all the input array dimensions except for the concatenation axis {axis} must "
                    f"match exactly, but the operands are {first} and {x}"
                )
        length = sum(x.shape[axis] for x in xs)
        shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
        return ArrayType(shape, first.dtype, all(x.weak for x in xs))

    def impl(self, xp: Any, *xs: Any) -> Any:
        return xp.concatenate(xs, self.axis)

    def expression(self, *xs: str) -> str:
        return f"np.concatenate(({', '.join(xs)},), {self.axis})"

    def call_into(self, out: str, *xs: str) -> str:
        return f"np.concatenate(({', '.join(xs)},), {self.axis}, {out})"

    def transpose(self, ct: Any, *xs: Any) -> tuple[Any, ...]:
        cts = []
        start = 0
        for x in xs:
            stop = start + x.shape[self.axis]
            cts.append(slice_axis(ct, self.axis, start, stop) if isinstance(x, Linear) else None)
            start = stop
        return tuple(cts)

    def batch(self, size: int, batched: tuple[bool, ...], *xs: Any) -> Any:
        return Concatenate(self.axis + 1)(
            *[expand(size, x, b) for x, b in zip(xs, batched, strict=True)]
        )


@primitive
class Slice(Primitive):
    """Take the elements `start`, `start + step`, ... before `stop` along each axis.

    Bounds lie within the operand and steps are positive. The result lacks the axes `dropped`, along each of
    which one element is taken: so ``x[3]`` is one slice. Transposes to `Pad`.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]
    dropped: tuple[int, ...] = ()

    linear = (0,)
    view = True
    warns = False
    rearranges = True
    total = True

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if not len(self.start) == len(self.stop) == len(self.step) == x.ndim:
            raise ValueError(f"{self} needs a start, a stop and a step for each axis of {x}")
        for i, n in enumerate(x.shape):
            if not (0 <= self.start[i] <= self.stop[i] <= n and self.step[i] > 0):
                raise ValueError(
                    f"{self} of {x}: 0 <= start <= stop <= {n} and step > 0 do not hold on axis {i}"
                )
        shape = tuple(len(range(*s)) for s in zip(self.start, self.stop, self.step, strict=True))
        return x.update(shape=without_units(self, shape))

    @property
    def index(self) -> tuple[slice | int, ...]:
        """The index that takes the slice: an integer for each axis that is dropped."""
        return tuple(
            start if axis in self.dropped else slice(start, stop, step)
            for axis, (start, stop, step) in enumerate(
                zip(self.start, self.stop, self.step, strict=True)
            )
        )

    def impl(self, xp: Any, x: Any) -> Any:
        return x[self.index]

    def expression(self, x: str) -> str:
        return f"{x}[{index_source(self.index)}]"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        low, high = [], []
        lengths = with_units(ct.shape, self.dropped)
        for start, step, n, length in zip(self.start, self.step, x.shape, lengths, strict=True):
            end = start + (length - 1) * step + 1 if length else start
            low.append(start)
            high.append(n - end)
        return (pad(ct, low, high, [s - 1 for s in self.step], dropped=self.dropped),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        dropped = tuple(a + 1 for a in self.dropped)
        return Slice((0, *self.start), (size, *self.stop), (1, *self.step), dropped)(x)


@primitive
class Pad(Primitive):
    """Put elements `value` around and between those of `x`, or crop.

    Along each axis `interior` elements go between neighbours, then `low` before the first and
    `high` after the last; where negative, so many are cut off there. Operands are x and value. In
    general value has the shape of the leading axes of the result, which then are not padded: one value
    for each row. `x` lacks the axes `dropped` and has one element along each of them. Transposes to
    `Pad` and `Slice`, and for the value to the sum over where it went.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]
    dropped: tuple[int, ...] = ()

    linear = (0, 1)
    warns = False

    def abstract_eval(self, x: ArrayType, value: ArrayType) -> ArrayType:
        full = with_units(x.shape, self.dropped)
        if not len(self.low) == len(self.high) == len(self.interior) == len(full):
            raise ValueError(f"{self} needs a low, a high and an interior for each axis of {x}")
        if value.dtype != x.dtype:
            raise TypeError(f"pad: operands of different dtypes, {x} and {value}")
        rows = value.ndim
        if value.shape != full[:rows] or any(
            (*self.low[:rows], *self.high[:rows], *self.interior[:rows])
        ):
            raise ValueError(
                f"{self}: the value, {value}, must be 0-d or have the shape of leading axes of {x} "
                "that are not padded"
            )
        if min(self.interior, default=0) < 0:
            raise ValueError(f"{self}: interior padding cannot be negative")
        shape = self._shape(full)
        if min(shape, default=0) < 0:
            raise ValueError(f"{self} cuts off more than all of {x}")
        return ArrayType(shape, x.dtype, x.weak and value.weak)

    def _shape(self, shape: Shape) -> Shape:
        return tuple(
            low + n + max(n - 1, 0) * interior + high
            for n, low, high, interior in zip(
                shape, self.low, self.high, self.interior, strict=True
            )
        )

    def impl(self, xp: Any, x: Any, value: Any) -> Any:
        if self.dropped:
            x = x.reshape(with_units(x.shape, self.dropped))
        shape = self._shape(x.shape)
        out = xp.empty(shape, x.dtype)
        rows = type_of(value).shape
        out[...] = value.reshape(rows + (1,) * (x.ndim - len(rows))) if rows else value
        source, target = [], []
        for n, size, low, interior in zip(x.shape, shape, self.low, self.interior, strict=True):
            step = interior + 1
            # Element i of x goes to low + i * step; the first and the last that fall inside:
            first = max(0, -(low // step))
            last = min(n - 1, (size - 1 - low) // step)
            count = max(0, last - first + 1)
            source.append(slice(first, first + count))
            start = low + first * step
            target.append(slice(start, start + count * step, step) if count else slice(0, 0))
        out[tuple(target)] = x[tuple(source)]
        return out

    def region(self, shape: Shape) -> Slice | None:
        """Return the slice of the result that an operand of `shape` is; None if this crops."""
        if min((*self.low, *self.high), default=0) < 0:
            return None
        shape = with_units(shape, self.dropped)
        step = tuple(i + 1 for i in self.interior)
        stop = tuple(
            low + (n - 1) * s + 1 if n else low
            for low, n, s in zip(self.low, shape, step, strict=True)
        )
        return Slice(self.low, stop, step, self.dropped)

    def transpose(self, ct: Any, x: Any, value: Any) -> tuple[Any, ...]:
        ct_x = ct_value = None
        zeros = (0,) * len(self.low)
        if isinstance(value, Linear):
            here = self(zeros_like(x), full(ArrayType(value.shape, value.dtype), 1))
            ct_value = ReduceSum(tuple(range(value.ndim, len(self.low))))(ct * here)
        if isinstance(x, Linear):
            low, high, step = self.low, self.high, tuple(i + 1 for i in self.interior)
            if min((*low, *high), default=0) < 0:
                # Put zeros where this cropped, crop where it padded; what is left is the interior.
                ct, low, high = pad(ct, [-n for n in low], [-n for n in high]), zeros, zeros
            stop = tuple(n - h for n, h in zip(ct.shape, high, strict=True))
            ct_x = Slice(low, stop, step, self.dropped)(ct)
        return ct_x, ct_value

    def batch(self, size: int, batched: tuple[bool, ...], x: Any, value: Any) -> Any:
        if batched[1] or type_of(value).ndim:
            value = expand(size, value, batched[1])
        dropped = tuple(a + 1 for a in self.dropped)
        return Pad((0, *self.low), (0, *self.high), (0, *self.interior), dropped)(
            expand(size, x, batched[0]), value
        )


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


def with_units(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """Return a shape with axes of length 1 put in, where the result has them."""
    if not axes:
        return shape
    rest = iter(shape)
    return tuple([1 if a in axes else next(rest, -1) for a in range(len(shape) + len(axes))])


def without_units(op: Any, shape: Shape) -> Shape:
    """Return a shape without the axes that `op` drops; check that these are of length 1."""
    dropped: tuple[int, ...] = op.dropped
    if not dropped:
        return shape
    if len({*dropped}) != len(dropped) or not all(
        0 <= a < len(shape) and shape[a] == 1 for a in dropped
    ):
        raise ValueError(f"{op}: {dropped} are not distinct axes of length 1 of shape {shape}")
    return tuple([n for a, n in enumerate(shape) if a not in dropped])


def index_source(index: Sequence[slice | int]) -> str:
    """Return the source text of an index."""

    def text(s: slice | int) -> str:
        if not isinstance(s, slice):  # an integer, also of NumPy
            return str(s)
        parts = ["" if part is None else str(part) for part in (s.start, s.stop, s.step)]
        return ":".join(parts if s.step not in (None, 1) else parts[:2])

    return ", ".join(map(text, index)) or "()"


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


def slice_axis(x: Any, axis: int, start: int, stop: int, step: int = 1) -> Any:
    """Return ``x[..., start:stop:step, ...]`` along one axis; bounds lie within it."""
    shape = x.shape
    if (start, stop, step) == (0, shape[axis], 1):
        return x
    starts, stops, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], stops[axis], steps[axis] = start, stop, step
    return Slice(tuple(starts), tuple(stops), tuple(steps))(x)


def index_axis(x: Any, axis: int, place: int) -> Any:
    """Return ``x[..., place, ...]`` at one place of an axis, which the result lacks."""
    shape = x.shape
    starts, stops = [0] * len(shape), list(shape)
    starts[axis], stops[axis] = place, place + 1
    return Slice(tuple(starts), tuple(stops), (1,) * len(shape), (axis,))(x)


def pad(
    x: Any,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
    value: Any = 0,
    dropped: tuple[int, ...] = (),
) -> Any:
    """Pad with a constant: the numbers of elements along each axis are those of `Pad`."""
    if not any((*low, *high, *(interior or ()))):
        return Reshape(with_units(x.shape, dropped))(x) if dropped else x
    scalar = np.asarray(value, x.dtype)[()]
    return Pad(tuple(low), tuple(high), tuple(interior or (0,) * len(low)), dropped)(x, scalar)


def shift(x: Any, axis: int, by: int, value: Any = 0) -> Any:
    """Move the elements `by` places up the axis (down if negative); constants fill the gap."""
    low = [0] * len(x.shape)
    low[axis] = by
    return pad(x, low, [-n for n in low], value=value)


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
