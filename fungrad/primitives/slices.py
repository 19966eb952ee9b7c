"""Parts of arrays along their axes: reverse, slice, pad.

`Slice` and `Pad` are each other's transposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, Shape, type_of
from fungrad.primitives.shaping import (
    AlongAxes,
    Rearrangement,
    ReduceSum,
    Reshape,
    expand,
    full,
    without_axes,
    zeros_like,
)


@primitive
class Reverse(Rearrangement, AlongAxes):
    """Reverse the order of the elements along `axes`."""

    axes: tuple[int, ...]

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


@primitive
class Slice(Rearrangement):
    """Take the elements `start`, `start + step`, ... before `stop` along each axis.

    Bounds lie within the operand and steps are positive. The result lacks the axes `dropped`, along each of
    which one element is taken: so ``x[3]`` is one slice. Transposes to `Pad`.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]
    dropped: tuple[int, ...] = ()

    takes_elements = True

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

    def index_at(self) -> tuple[slice | int, ...]:
        """Return the index, for which no operand is needed."""
        return self.index

    def index_text(self) -> str:
        """Return the source text of the index."""
        return index_source(self.index)

    def impl(self, xp: Any, x: Any) -> Any:
        return x[self.index]

    def expression(self, x: str) -> str:
        return f"{x}[{self.index_text()}]"

    def add_to_taken(self, total: Any, ct: Any, *others: Any) -> None:
        total[self.index] += ct

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
