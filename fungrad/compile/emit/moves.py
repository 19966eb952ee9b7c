"""Primitives that move elements, within functions of LLVM's: slices, joins, indexing by arrays."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.compile.emit.function import I64, Function, Targets
from fungrad.compile.emit.places import Place, Unsupported
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, kind_of
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.slices import Pad, Slice
from fungrad.primitives.stacks import TakenAsHermitian


def view(to: Function, primitive: Primitive, operands: Sequence[Place]) -> Place:
    """Return the view that a primitive makes of its operand, as in NumPy."""
    (x,) = operands
    if isinstance(primitive, Broadcast):
        steps = [0] * len(primitive.shape)
        kept = [a for a in range(len(primitive.shape)) if a not in primitive.axes]
        for axis, step in zip(kept, x.strides, strict=True):
            steps[axis] = step
        return to.part(x, "0", primitive.shape, tuple(steps))
    impl = functools.partial(primitive.impl, np)
    viewed = to.viewed(x, impl) or to.viewed(to.copy(x), impl)
    if viewed is None:
        raise Unsupported(f"{primitive} is no view")
    # An element is a scalar, of its own; and a view keeps what it shows alive, a copy does not.
    return viewed if viewed.type.shape else to.copy(viewed)


def _dynamic(to: Function, op: Any, x: Place, starts: Sequence[Place]) -> Place:
    """Return the part of an array that `DynamicSlice` takes."""
    terms, shape = [], list(x.type.shape)
    for axis, size, limit, start in zip(op.axes, op.sizes, op.limits, starts, strict=True):
        i = to.integer(start)
        shape[axis] = size
        if to.proven:
            terms.append((i, x.strides[axis]))
            continue
        if start.type.dtype == np.uint64:  # which may be beyond what has a sign
            beyond = to.emit(f"icmp slt i64 {i}, 0")
            i = to.emit(f"select i1 {beyond}, i64 {limit}, i64 {i}")
        elif start.type.dtype.kind == "i":
            negative = to.emit(f"icmp slt i64 {i}, 0")
            shifted = to.emit(f"add i64 {i}, {size + limit}")
            i = to.emit(f"select i1 {negative}, i64 {shifted}, i64 {i}")
        terms.append((to.clamped(i, limit), x.strides[axis]))
    kept = [a for a in range(len(shape)) if a not in op.dropped]
    strides = tuple([x.strides[a] for a in kept])
    return to.part(x, to.offset(terms), tuple([shape[a] for a in kept]), strides)


def dynamic_slice(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> Place:
    """Return a slice; an element is a scalar, of its own."""
    x, *starts = operands
    part = _dynamic(to, primitive, x, starts)
    return part if part.type.shape else to.copy(part)


def _indexed(to: Function, op: IndexedSlice, x: Place, places: Sequence[Place]) -> Place:
    """Return the part of an array that `IndexedSlice` takes."""
    terms: list[tuple[str, int]] = [
        ("1", sum(a * s for a, s in zip(op.start, x.strides, strict=True)))
    ]
    for axis, place in zip(op.axes, places, strict=True):
        if place.type.dtype == np.uint64:
            raise Unsupported("integers that may be beyond 64 bits with a sign")
        terms.append((to.within(to.integer(place), x.type.shape[axis]), x.strides[axis]))
    shape = op.abstract_eval(x.type, *[p.type for p in places]).shape
    steps = map(operator.mul, op.step, x.strides)
    strides = tuple([s for a, s in enumerate(steps) if a not in op.axes])
    return to.part(x, to.offset(terms), shape, strides)


def indexed_slice(
    to: Function, primitive: IndexedSlice, operands: Sequence[Place], targets: Targets
) -> Place:
    """Return a slice."""
    x, *places = operands
    return _indexed(to, primitive, x, places)


def indexed_update(
    to: Function, primitive: IndexedUpdate, target: Place, operands: Sequence[Place]
) -> None:
    """Set or add to the elements of a slice."""
    updates, *places = operands
    _write(to, _indexed(to, primitive.region, target, places), updates, primitive.kind)


def _region(to: Function, x: Place, function: Callable[[Any], Any]) -> Place:
    region = to.viewed(x, function)
    if region is None:
        raise Unsupported("a region that is no view")
    return region


def _slice(to: Function, x: Place, axis: int, start: int, count: int) -> Place:
    """Return some elements along one axis."""
    shape = (*x.type.shape[:axis], count, *x.type.shape[axis + 1 :])
    return to.part(x, str(start * x.strides[axis]), shape, x.strides)


def concatenate(
    to: Function, primitive: Concatenate, operands: Sequence[Place], targets: Targets
) -> Place:
    """Copy arrays beside each other."""
    out, start, axis = targets[0], 0, primitive.axis
    for x in operands:
        n = x.type.shape[axis]
        to.move(_slice(to, out, axis, start, n), x)
        start += n
    return out


def stack(to: Function, primitive: Stack, operands: Sequence[Place], targets: Targets) -> Place:
    """Copy arrays along a new axis."""
    out, axis = targets[0], primitive.axis
    strides = (*out.strides[:axis], *out.strides[axis + 1 :])
    for k, x in enumerate(operands):
        to.move(to.part(out, str(k * out.strides[axis]), x.type.shape, strides), x)
    return out


def roll(to: Function, primitive: Roll, operands: Sequence[Place], targets: Targets) -> Place:
    """Copy the two parts along each axis that change places."""
    (x,) = operands
    for step, axis in zip(primitive.steps, primitive.axes, strict=True):
        n = x.type.shape[axis]
        out, by = to.new(x.type), step % n
        for there, here, count in ((by, 0, n - by), (0, n - by, by)):
            if count:
                to.move(_slice(to, out, axis, there, count), _slice(to, x, axis, here, count))
        x = out
    return x


def padded(to: Function, primitive: Pad, out: Place, value: Place) -> Place | None:
    """Fill the padding; return the place of an operand that is not cut off."""
    sides = [*zip(primitive.low, primitive.high, primitive.interior, strict=True)]
    if value.type.ndim or any(low < 0 or high < 0 or interior for low, high, interior in sides):
        steps = (*value.strides, *(0,) * (out.type.ndim - value.type.ndim))
        to.move(out, Place(value.pointer, out.type, steps, value.memory))
        return None
    for axis, (low, high, _) in enumerate(sides):
        n = out.type.shape[axis]
        for start, count in ((0, low), (n - high, high)):
            if count:
                to.fill(_slice(to, out, axis, start, count), value)
        out = _slice(to, out, axis, low, n - low - high)
    kept = [a for a in range(out.type.ndim) if a not in primitive.dropped]
    shape, strides = [tuple([x[a] for a in kept]) for x in (out.type.shape, out.strides)]
    return to.part(out, "0", shape, strides)


def pad(to: Function, primitive: Pad, operands: Sequence[Place], targets: Targets) -> Place:
    """Fill the padding, and copy the operand inside."""
    x, value = operands
    out = targets[0]
    inside = padded(to, primitive, out, value)
    if inside is not None:
        to.move(inside, x)
        return out
    there: list[Any] = []
    here: list[Any] = []
    axes = iter(range(x.type.ndim))
    for axis, n_out in enumerate(out.type.shape):
        dropped = axis in primitive.dropped
        n = 1 if dropped else x.type.shape[next(axes)]
        low, step = primitive.low[axis], primitive.interior[axis] + 1
        inside_of = [i for i in range(n) if 0 <= low + i * step < n_out]
        if not inside_of:
            return out
        first, last = inside_of[0], inside_of[-1]
        start = low + first * step
        there.append(start if dropped else slice(start, low + last * step + 1, step))
        if not dropped:
            here.append(slice(first, last + 1))
    part = _region(to, out, lambda a: a[tuple(there)])
    to.move(part, _region(to, x, lambda a: a[tuple(here)]))
    return out


def _at(to: Function, x: Place, indices: Sequence[str]) -> Place:
    """Return the place at indices of the leading axes."""
    for index, n in zip(indices, x.type.shape, strict=False):
        x = to.row(x, to.within(index, n))
    return x


@contextlib.contextmanager
def _each(to: Function, indices: Sequence[Place]) -> Any:
    """Go over index arrays: yield the place in them, and the integers that they hold there."""
    with contextlib.ExitStack() as entered:
        places = [entered.enter_context(to.loop(n)) for n in indices[0].type.shape]
        integers = []
        for x in indices:
            if x.type.dtype == np.uint64:
                raise Unsupported("indices that may be beyond 64 bits with a sign")
            integers.append(to.convert(to.at(x, *places), x.type.dtype, I64, 1))
        yield places, integers


def gather(to: Function, primitive: Gather, operands: Sequence[Place], targets: Targets) -> Place:
    """Copy the elements at index arrays."""
    x, *indices = operands
    out = targets[0]
    with _each(to, indices) as (places, integers):
        here = out
        for place in places:
            here = to.row(here, place)
        to.move(here, _at(to, x, integers))
    return out


def scatter(to: Function, primitive: Scatter, target: Place, operands: Sequence[Place]) -> None:
    """Combine elements at index arrays with updates."""
    updates, *indices = operands
    if primitive.kind in ("min", "max") and kind_of(target.type.dtype) == "f":
        raise Unsupported("NumPy warns of NaN here")
    shape = (*indices[0].type.shape, *target.type.shape[len(indices) :])
    updates = _repeated(updates, updates.type.update(shape=shape))
    with _each(to, indices) as (places, integers):
        for place in places:
            updates = to.row(updates, place)
        to.move(_at(to, target, integers), updates, primitive.kind)


def update_slice(
    to: Function, primitive: UpdateSlice, target: Place, operands: Sequence[Place]
) -> None:
    """Set or add to the elements of a slice."""
    index = Slice(primitive.start, primitive.stop, primitive.step, primitive.dropped).index
    region = _region(to, target, lambda a: a[index])
    _write(to, region, operands[0], primitive.kind)


def dynamic_update_slice(
    to: Function, primitive: DynamicUpdateSlice, target: Place, operands: Sequence[Place]
) -> None:
    """Set or add to the elements of a slice."""
    updates, *starts = operands
    _write(to, _dynamic(to, primitive, target, starts), updates, primitive.kind)


def _write(to: Function, region: Place, updates: Place, kind: str) -> None:
    if updates.memory == region.memory:  # what has been written is not to be read
        updates = to.copy(updates)
    to.move(region, _repeated(updates, region.type), kind)


def _repeated(x: Place, type_: ArrayType) -> Place:
    """Return an array repeated along new leading axes."""
    steps = (0,) * (type_.ndim - x.type.ndim) + x.strides
    return Place(x.pointer, type_, steps, x.memory)


Update = Callable[[Any, Any, Place, Sequence[Place]], None]

UPDATES: dict[type[Primitive], Update] = {
    UpdateSlice: update_slice,
    DynamicUpdateSlice: dynamic_update_slice,
    IndexedUpdate: indexed_update,
    Scatter: scatter,
}
"""Writers that update the first operand, which dies, into the result."""

Rule = Callable[[Any, Any, Sequence[Place], Targets], Place]

RULES: dict[type[Primitive], Rule] = {
    DynamicSlice: dynamic_slice,
    IndexedSlice: indexed_slice,
    Concatenate: concatenate,
    Stack: stack,
    Roll: roll,
    Pad: pad,
    Gather: gather,
    TakenAsHermitian: lambda to, primitive, operands, targets: operands[0],
}
"""Writers of the only result of operands."""
