"""Primitives along an axis, step by step, in LLVM's functions: running sums, recurrences, argmax."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.places import Place, Unsupported
from fungrad.compile.kernels.narrow import is_narrow
from fungrad.compile.kernels.scalar import Scalar, Scalars
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.cumulative import CumMax, CumMin, CumProd, CumSum, LinearRecurrence
from fungrad.primitives.reductions import ArgMax, ArgMin

COMBINED = {CumSum: "add", CumProd: "mul", CumMax: "max", CumMin: "min"}
"""Operation with the element before."""
ORDERED = (CumMax, CumMin, ArgMax, ArgMin)
RUNNING = (*COMBINED, LinearRecurrence, ArgMax, ArgMin)
"""The primitives that have a form here."""


def has_form(primitive: Primitive, operand: ArrayType) -> bool:
    """Whether an equation of one of these primitives has a form, given the type of its first operand."""
    dtype = operand.dtype
    if isinstance(primitive, ORDERED):  # NumPy warns of NaN in half precision
        return dtype.kind in "iuf" and not is_narrow(dtype)
    return dtype.kind in "iufcV"


def computed(
    to: Function, primitive: Any, operands: Sequence[Place], targets: Targets
) -> list[Place]:
    """Write the result."""
    if not has_form(primitive, operands[0].type):
        raise Unsupported(f"{primitive} of {operands[0].type}")
    if isinstance(primitive, (ArgMax, ArgMin)):
        return [_position(to, primitive, operands[0], targets[0])]
    lines = [_along(to, x, primitive.axis, primitive.reverse) for x in (targets[0], *operands)]
    out, *given = lines
    to.move(to.row(out, "0"), to.row(given[-1], "0"))
    if out.type.shape[0] == 1:
        return [targets[0]]
    with to.loop(out.type.shape[0], "1") as i:
        here = to.row(out, i)
        to.move(here, to.row(out, to.emit(f"sub i64 {i}, 1")))
        if isinstance(primitive, LinearRecurrence):
            to.move(here, to.row(given[0], i), "mul")
        to.move(here, to.row(given[-1], i), COMBINED.get(type(primitive), "add"))
    return [targets[0]]


def _along(to: Function, x: Place, axis: int, reverse: bool) -> Place:
    """Return an array with an axis put first, in the direction that is gone."""
    order = (axis, *[a for a in range(x.type.ndim) if a != axis])
    x = to.turned(x, order)
    if not reverse:
        return x
    last = (x.type.shape[0] - 1) * x.strides[0]
    return to.part(x, str(last), x.type.shape, (-x.strides[0], *x.strides[1:]))


def _position(to: Function, primitive: Any, x: Place, out: Place) -> Place:
    """Write the first index of the largest or smallest element along an axis, or of the first NaN."""
    dtype, position = x.type.dtype, out
    lines = _along(to, x, primitive.axis, False)

    def better(s: Scalars, new: Scalar, best: Scalar) -> Scalar:
        exceeds = s.comparison("gt" if isinstance(primitive, ArgMax) else "lt", new, best)
        if dtype.kind != "f":
            return exceeds
        return s.logical_or(exceeds, s.logical_and(new != new, best == best))

    with contextlib.ExitStack() as entered:
        for n in out.type.shape:
            index = entered.enter_context(to.loop(n))
            position = to.row(position, index)
            lines = to.row(to.turned(lines, (1, 0, *range(2, lines.type.ndim))), index)
        best = to.copy(to.row(lines, "0"))
        to.store(position, "0")
        if (length := lines.type.shape[0]) > 1:
            with to.loop(length, "1") as i:
                new = to.load(to.row(lines, i))
                old, where = to.load(best), to.load(position)
                exceeds = to.recorded(better, dtype, [new, old], 1)
                for place, value, before in ((best, new, old), (position, i, where)):
                    to.store(place, to.compute("select", place.type.dtype, exceeds, value, before))
    return out
