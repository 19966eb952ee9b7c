"""Reading and writing elements at places given by integer arrays or by static slices.

`Gather` and `Scatter` are canonical: the indexed axes lead, and there is one index array for each of
them, all of one shape. Every NumPy index is brought to this form by `fungrad.numpy.indexing`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.elementwise import Cast, add, equal, logical_or, masked, not_equal, select
from fungrad.primitives.shaping import (
    Broadcast,
    Permute,
    Reshape,
    constant_like,
    counting,
    expand,
    move_axis,
    zeros_like,
)
from fungrad.primitives.slices import Slice
from fungrad.primitives.writing import write


@primitive
class Gather(Primitive):
    """Take the elements of ``x`` at index arrays, one for each of its leading axes.

    Operands are x and the index arrays, integers of one shape; the result has this shape and then the
    axes of x without an index. Negative indices count from the end. `unique` promises that no place
    is read twice, which makes the transpose, `Scatter` with "add", faster.
    """

    unique: bool = False

    linear = (0,)
    warns = False
    takes_elements = True

    def abstract_eval(self, x: ArrayType, *indices: ArrayType) -> ArrayType:
        return x.update(shape=_indexed_shape(self, x, indices))

    def impl(self, xp: Any, x: Any, *indices: Any) -> Any:
        if not target_of(xp).takes_scalars:
            x, *indices = map(xp.asarray, (x, *indices))  # type: ignore[assignment]
        result = x[tuple(indices)]
        return result if np.ndim(indices[0]) else result.copy()  # scalar indices give a view

    def add_to_taken(self, total: Any, ct: Any, *others: Any) -> None:
        if self.unique or math.prod(np.shape(others[0])) <= 1:
            total[others] += ct
        elif total.flags.c_contiguous:
            write(np.add, total, ct, others)
        else:
            total[...] = Scatter("add").impl(np, total, ct, *others)

    def transpose(self, ct: Any, x: Linear, *indices: Any) -> tuple[Any, ...]:
        zeros = zeros_like(x)
        return (Scatter("add", self.unique)(zeros, ct, *indices), *[None] * len(indices))

    def batch(self, size: int, batched: tuple[bool, ...], x: Any, *indices: Any) -> Any:
        k = len(indices)
        if not any(batched[1:]):  # the batch axis goes behind the indexed ones, then in front
            return move_axis(self(move_axis(x, 0, k), *indices), len(indices[0].shape), 0)
        indices = tuple([expand(size, i, b) for i, b in zip(indices, batched[1:], strict=True)])
        if not batched[0]:
            return Gather()(x, *indices)
        return self(x, counting(indices[0].shape, 0, *indices, x), *indices)


ASSIGNMENTS = {"set": "=", "add": "+="}
"""The operators of Python for the kinds of update that are linear."""


def write_on_gpu(xp: Any, ufunc: Any, out: Any, updates: Any, indices: Sequence[Any]) -> None:
    """Combine CuPy arrays where places may be hit repeatedly."""
    from fungrad.primitives.rounds import write_on_device  # few programs need it

    write_on_device(xp, ufunc, out, updates, indices)


@primitive
class Scatter(Primitive):
    """Return ``x`` with `updates` written at, or combined with, the elements at index arrays.

    Operands are x, updates and index arrays as of `Gather`, whose result the updates have the shape of.
    `kind` is "set", "add", "mul", "min" or "max". Where several updates go to one place, all of them
    count, except for "set": there the last one does. `unique` promises that this does not happen.
    """

    kind: str
    unique: bool = False

    @property
    def linear(self) -> tuple[int, ...] | None:
        """The positions of x and updates, if this is linear in them."""
        return (0, 1) if self.kind in ("set", "add") else None

    def abstract_eval(self, x: ArrayType, updates: ArrayType, *indices: ArrayType) -> ArrayType:
        if self.kind not in UFUNCS:
            raise ValueError(f"scatter: kind is one of {list(UFUNCS)}, got {self.kind!r}")
        shape = _indexed_shape(self, x, indices)
        if updates.dtype != x.dtype or updates.shape != shape:
            raise TypeError(f"{self} into {x} takes updates of shape {shape}, got {updates}")
        return x.update(weak=x.weak and updates.weak)

    def impl(self, xp: Any, x: Any, updates: Any, *indices: Any) -> Any:
        if not target_of(xp).takes_scalars:
            x, updates, *indices = map(xp.asarray, (x, updates, *indices))  # type: ignore[assignment]
        ufunc = getattr(xp, UFUNCS[self.kind] or "", None)
        if self.unique or math.prod(np.shape(indices[0])) <= 1:
            out, index = xp.array(x, order="C"), tuple(indices)
            out[index] = ufunc(out[index], updates) if ufunc else updates
            return out
        out = xp.array(x, order="C")
        if target_of(xp).on_host:
            write(ufunc, out, updates, indices)
        else:
            write_on_gpu(xp, ufunc, out, updates, indices)
        return out

    def assignment(self, x: str, updates: str, *indices: str) -> str | None:
        if not self.unique or self.kind not in ASSIGNMENTS:
            return None
        return f"{x}[{', '.join(indices)}] {ASSIGNMENTS[self.kind]} {updates}"

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        if self.linear:
            return super().jvp(tangents, out, *operands)
        x, updates, *indices = operands
        t_x, t_updates = tangents[:2]
        if self.kind == "mul":
            terms = []
            if t_x is not None:
                terms.append(self(t_x, updates, *indices))
            if t_updates is not None:
                others = self._product_of_others(x, updates, indices)
                added = t_updates * others
                terms.append(Scatter("add", self.unique)(zeros_like(out), added, *indices))
            return terms[0] if len(terms) == 1 else add(*terms)
        # All that attain the minimum or maximum have equal shares in it.
        attained_x = _attains(x, out)
        attained = _attains(updates, Gather(self.unique)(out, *indices))
        accumulate = Scatter("add", self.unique)
        count = accumulate(attained_x, attained, *indices)
        t_x = zeros_like(out) if t_x is None else t_x * attained_x
        if t_updates is not None:
            t_x = accumulate(t_x, t_updates * attained, *indices)
        return t_x / count

    def _product_of_others(self, x: Any, updates: Any, indices: Sequence[Any]) -> Any:
        """Return for each update the product of x and all other updates that go to its place."""
        gather = Gather(self.unique)
        if self.unique:
            return gather(x, *indices)
        # The quotient by the update itself, zeros aside: where it is the only zero, the product is
        # that of the others; where there is another zero, it is zero.
        one = constant_like(updates, 1)
        zero = constant_like(updates, 0)
        is_zero = equal(updates, zero)
        divisor = select(is_zero, one, updates)
        product = gather(self(x, divisor, *indices), *indices)
        counted = Cast(np.dtype(np.int64))(is_zero)
        places = constant_like(x, 0, np.dtype(np.int64))
        zeros = gather(Scatter("add")(places, counted, *indices), *indices)
        return select(equal(zeros, counted), product / divisor, zero)

    def transpose(self, ct: Any, x: Any, updates: Any, *indices: Any) -> tuple[Any, ...]:
        ct_x = ct_updates = None
        if self.kind in ("min", "max") or (self.kind == "mul" and isinstance(updates, Linear)):
            raise self.missing("transpose")
        if isinstance(updates, Linear):  # first: what is read before it is written to is not copied
            ct_updates = Gather(self.unique)(ct, *indices)
            if self.kind == "set" and not self.unique and math.prod(indices[0].shape) > 1:
                ct_updates = masked(_winners(ct.shape, ct_updates.shape, indices), ct_updates)
        if isinstance(x, Linear):
            if self.kind == "mul":
                ct_x = self(ct, updates, *indices)
            elif self.kind == "add":
                ct_x = ct
            else:
                ct_x = Scatter("set", self.unique)(ct, zeros_like(updates), *indices)
        return (ct_x, ct_updates, *[None] * len(indices))

    def batch(
        self, size: int, batched: tuple[bool, ...], x: Any, updates: Any, *indices: Any
    ) -> Any:
        k = len(indices)
        x, updates = expand(size, x, batched[0]), expand(size, updates, batched[1])
        # Integers are repeated, for an array that is written to at one place after the other is not to be moved each time.
        if not any(batched[2:]) and indices[0].shape:
            updates = move_axis(updates, 0, len(indices[0].shape))
            return move_axis(self(move_axis(x, 0, k), updates, *indices), k, 0)
        indices = tuple([expand(size, i, b) for i, b in zip(indices, batched[2:], strict=True)])
        return self(x, updates, counting(indices[0].shape, 0, *indices, x), *indices)


UFUNCS = {"set": None, "add": "add", "mul": "multiply", "min": "minimum", "max": "maximum"}
"""The ufunc that combines an element with an update, for each kind of `Scatter`."""


class Update(Primitive):
    """Return ``x`` with `updates` put at, or added to, the elements of the slice `region`.

    Operands are x, updates, and those that the slice takes beside x. `kind` is "set" or "add".
    """

    kind: str

    linear = (0, 1)

    @property
    def region(self) -> Any:
        """The slice that is written to."""
        raise NotImplementedError

    def abstract_eval(self, x: ArrayType, updates: ArrayType, *starts: ArrayType) -> ArrayType:
        if self.kind not in ASSIGNMENTS:
            raise ValueError(f'{self.name}: kind is "set" or "add", got {self.kind!r}')
        expected = self.region.abstract_eval(x, *starts)
        if updates.shape != expected.shape or updates.dtype != x.dtype:
            raise TypeError(f"{self} takes updates of type {expected}, got {updates}")
        return x.update(weak=x.weak and updates.weak)

    def impl(self, xp: Any, x: Any, updates: Any, *starts: Any) -> Any:
        out, index = xp.array(x, order="C"), self.region.index_at(*starts)
        if self.kind == "set":
            out[index] = updates
        else:
            out[index] += updates
        return out

    def assignment(self, x: str, updates: str, *starts: str) -> str:
        return f"{x}[{self.region.index_text(*starts)}] {ASSIGNMENTS[self.kind]} {updates}"

    def transpose(self, ct: Any, x: Any, updates: Any, *starts: Any) -> tuple[Any, ...]:
        ct_x = ct_updates = None
        if isinstance(updates, Linear):
            ct_updates = self.region(ct, *starts)
        if isinstance(x, Linear):
            ct_x = ct
            if self.kind == "set":
                written = Linear(ArrayType(tuple(updates.shape), x.dtype))
                ct_x = self(ct, zeros_like(written), *starts)
        return (ct_x, ct_updates, *[None] * len(starts))


@primitive
class UpdateSlice(Update):
    """Return ``x`` with `updates` in place of, or added to, the elements that `Slice` takes.

    The updates lack the axes `dropped`, as the slice does.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]
    kind: str = "set"
    dropped: tuple[int, ...] = ()

    @classmethod
    def at(cls, region: Slice, kind: str = "set") -> UpdateSlice:
        """Return the update of a slice."""
        return cls(region.start, region.stop, region.step, kind, region.dropped)

    @property
    def region(self) -> Slice:
        """The slice that is written to."""
        return Slice(self.start, self.stop, self.step, self.dropped)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any, updates: Any) -> Any:
        dropped = tuple(a + 1 for a in self.dropped)
        start, stop, step = (0, *self.start), (size, *self.stop), (1, *self.step)
        return UpdateSlice(start, stop, step, self.kind, dropped)(
            expand(size, x, batched[0]), expand(size, updates, batched[1])
        )


def _attains(x: Any, extremum: Any) -> Any:
    """Return 1 where `x` equals the extremum, or is NaN and made it NaN, and 0 elsewhere."""
    return Cast(x.dtype)(logical_or(equal(x, extremum), not_equal(x, x)))


def _indexed_shape(op: Primitive, x: ArrayType, indices: tuple[ArrayType, ...]) -> Shape:
    """Return the shape of the indexed elements."""
    if not 1 <= len(indices) <= x.ndim:
        raise ValueError(f"{op} takes 1 to {x.ndim} index arrays for {x}, got {len(indices)}")
    first = indices[0]
    if any(i.shape != first.shape or i.dtype.kind not in "iu" for i in indices):
        raise TypeError(f"{op}: indices are integer arrays of one shape, got {indices}")
    return first.shape + x.shape[len(indices) :]


def _winners(x_shape: Shape, updates_shape: Shape, indices: Sequence[Any]) -> Any:
    """Return which updates stay, of those that `Scatter` with "set" writes one after the other."""
    shape = indices[0].shape
    numbers = Reshape(shape)(counting((math.prod(shape),), 0, *indices))
    untouched = Linear(ArrayType(x_shape[: len(indices)], np.dtype(np.int64)))
    last = Scatter("set")(zeros_like(untouched), numbers, *indices)
    wins = equal(Gather()(last, *indices), numbers)
    rest = tuple(range(len(shape), len(updates_shape)))
    return Broadcast(updates_shape, rest)(wins) if rest else wins


def along_axis(x: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """Return the operands of `Gather` and `Scatter` for indices along one axis, the others in step.

    The shapes of `x` and `indices` are equal but along `axis`.
    """
    return tuple(
        indices if a == axis else counting(indices.shape, a, indices, x)
        for a in range(len(x.shape))
    )


def take_along_axis(x: Any, indices: Any, axis: int, unique: bool = False) -> Any:
    """Return ``numpy.take_along_axis(x, indices, axis)``; shapes are equal but along `axis`."""
    return Gather(unique)(x, *along_axis(x, indices, axis))


def take(x: Any, indices: Any, axis: int) -> Any:
    """Return ``numpy.take(x, indices, axis)``."""
    result = Gather()(move_axis(x, axis, 0), indices)
    if axis == 0:
        return result
    first = len(indices.shape)  # of the axes of x that are left
    end = len(result.shape)
    return Permute((*range(first, first + axis), *range(first), *range(first + axis, end)))(result)
