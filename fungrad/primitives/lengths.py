"""Roots of sums of squares, with derivatives of every order that are as right at 0 as they can be.

With u a vector and n its length, dn = u . du / n. Where n is 0, u is too, and dn is 0 by convention. The derivative of
u / n in turn is du / n there: 0 in a direction in which u stays 0, and in another it does not exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import div, keep_dtype, mul, neg, nonzero, select
from fungrad.primitives.shaping import AlongAxes, Broadcast, ReduceSum, without_axes, zeros_like
from fungrad.primitives.ufunc import Function, elementwise, total


def over_length_of(xp: Any, u: Any, n: Any) -> Any:
    """Return u / n; where n is 0, 0 if u is 0 too, else NaN."""
    flat = n == 0
    if not flat.any():
        return u / n
    inside = xp.where(u == 0, xp.zeros_like(n), xp.nan)
    return xp.where(flat, inside, u / xp.where(flat, 1, n)).astype(n.dtype)


def over_or_nan(ct: Any, n: Any) -> Any:
    """Return ct / n, and NaN where n is 0: a zero of `ct` may be one that a factor made before the quotient."""
    return div(select(n == 0, zeros_like(n) + np.nan, ct), nonzero(n))


over_length: Function = elementwise(
    "over_length",
    lambda t, out, u, n: over_length(t, n),
    lambda t, out, u, n: mul(t, neg(over_length(out, n))),
    transposes=(lambda ct, u, n: over_or_nan(ct, n), None),
    function=over_length_of,
    dtype=keep_dtype,
)


@primitive
class RootMeanSquare(AlongAxes):
    """The root of a sum of squares over `axes` and over the operands, divided by `number`."""

    axes: tuple[int, ...]
    number: float

    def abstract_eval(self, *types: ArrayType) -> ArrayType:
        first = types[0]
        if any(t.dtype.kind != "f" or t.update(weak=first.weak) != first for t in types):
            raise TypeError(f"{self.name} takes real arrays of one type, got {types}")
        return first.update(shape=without_axes(self, first))

    def impl(self, xp: Any, *parts: Any) -> Any:
        squares = sum(map(xp.square, parts[1:]), xp.square(parts[0]))
        sums = xp.sum(squares, axis=self.axes)
        return xp.sqrt(sums if self.number == 1 else sums / self.number)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *parts: Any) -> Any:
        n = Broadcast(parts[0].shape, self.axes)(out if self.number == 1 else self.number * out)
        moved = zip(tangents, parts, strict=True)
        slopes = [mul(t, over_length(u, n)) for t, u in moved if t is not None]
        return ReduceSum(self.axes)(total(slopes))
