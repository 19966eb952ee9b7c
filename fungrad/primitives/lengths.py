"""Lengths of vectors, with derivatives of every order that are as right at 0 as they can be.

With u a vector and n its length, dn = u . du / n. Where n is 0, u is too, and dn is 0 by convention. The derivative of
u / n in turn is du / n there: 0 in a direction in which u stays 0, and in another it does not exist (`over_length`).

A cotangent w of n that is 0 there has two cases that look alike. It may have been masked, and all is 0. Or it depends
on n, as that of n^2, and falls with it: then the derivative of w u / n is the finite dw/dn, which is unknown here. So
u gets 0, and w gets NaN: a mask, which throws away what comes back to it, throws that away too; all else hands it on
(`along`).

Sums of powers that overflow or underflow are computed again
of vectors that are scaled by powers of two, which changes no digit.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import IntegerPower, absolute, along, hypot, mul
from fungrad.primitives.elementwise import over_length as over_length
from fungrad.primitives.shaping import AlongAxes, Broadcast, ReduceSum, without_axes
from fungrad.primitives.ufunc import OfOneDtype, total


class Length(AlongAxes):
    """A length of vectors along `axes` and over the operands: real and imaginary parts, say."""

    axes: tuple[int, ...]

    def abstract_eval(self, *types: ArrayType) -> ArrayType:
        first = types[0]
        if any(t.dtype.kind != "f" or t.update(weak=first.weak) != first for t in types):
            raise TypeError(f"{self.name} takes real arrays of one type, got {types}")
        return first.update(shape=without_axes(self, first))

    def sums(self, xp: Any, *parts: Any) -> Any:
        """Return the sums of powers."""
        raise NotImplementedError

    def root(self, xp: Any, sums: Any) -> Any:
        """Return the lengths, given these sums."""
        raise NotImplementedError

    def slopes(self, n: Any, *parts: Any) -> Sequence[Any]:
        """Return the derivatives by the elements, given the lengths, broadcast."""
        raise NotImplementedError

    def impl(self, xp: Any, *parts: Any) -> Any:
        with np.errstate(over="ignore", under="ignore"):
            sums = self.sums(xp, *parts)
        low, high = _bounds(np.dtype(sums.dtype))
        if sums.ndim:
            # NaNs are in no range.
            if not sums.size or (low <= sums.min() and sums.max() <= high):
                return self.root(xp, sums)
        elif low <= sums <= high:
            return self.root(xp, sums)
        return _scaled(xp, self, parts, sums)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *parts: Any) -> Any:
        n = Broadcast(parts[0].shape, self.axes)(out)
        moved = zip(tangents, self.slopes(n, *parts), strict=True)
        return ReduceSum(self.axes)(total([along(t, s, n) for t, s in moved if t is not None]))


@functools.cache
def _bounds(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return between which sums of powers have all their digits."""
    info = np.finfo(dtype)
    return float(info.tiny / np.sqrt(info.eps)), float(info.max)


def _scaled(xp: Any, length: Length, parts: Sequence[Any], sums: Any) -> Any:
    """Return the lengths of vectors; those whose squares leave the range are scaled first."""
    if not parts[0].size:
        return length.root(xp, sums)
    low, high = _bounds(np.dtype(sums.dtype))
    tops = [xp.max(xp.abs(x), axis=length.axes, keepdims=True) for x in parts]
    top = functools.reduce(xp.maximum, tops)
    plain = ((low <= sums) & (sums <= high)).reshape(top.shape) | (top == 0) | ~xp.isfinite(top)
    exponents = xp.where(plain, 0, xp.frexp(xp.where(plain, 1, top))[1])
    sums = length.sums(xp, *[xp.ldexp(x, -exponents) for x in parts])
    return xp.ldexp(length.root(xp, sums), exponents.reshape(sums.shape))


@primitive
class RootMeanSquare(Length):
    """The root of a sum of squares over `axes` and over the operands, divided by `number`."""

    axes: tuple[int, ...]
    number: float

    def sums(self, xp: Any, *parts: Any) -> Any:
        squares = sum(map(xp.square, parts[1:]), xp.square(parts[0]))
        sums = xp.sum(squares, axis=self.axes)
        return sums if self.number == 1 else sums / self.number

    def root(self, xp: Any, sums: Any) -> Any:
        return xp.sqrt(sums)

    def slopes(self, n: Any, *parts: Any) -> Sequence[Any]:
        scaled = n if self.number == 1 else self.number * n
        return [over_length(u, scaled) for u in parts]


@primitive
class PowerNorm(Length):
    """Norm of order `p` > 1, of real numbers or of complex ones given by their parts."""

    axes: tuple[int, ...]
    p: float

    def sums(self, xp: Any, *parts: Any) -> Any:
        size = xp.abs(parts[0]) if len(parts) == 1 else xp.hypot(*parts)
        return xp.sum(size**self.p, axis=self.axes)

    def root(self, xp: Any, sums: Any) -> Any:
        return sums ** (1 / self.p)

    def slopes(self, n: Any, *parts: Any) -> Sequence[Any]:
        """Return u |u|^(p - 2) / n^(p - 1)."""
        ratios = [over_length(u, n) for u in parts]
        if self.p % 2 == 0:  # smooth
            factor = IntegerPower(int(self.p) // 2 - 1)(total([r * r for r in ratios]))
            return [mul(r, factor) for r in ratios]
        size = absolute(ratios[0]) if len(ratios) == 1 else hypot(*ratios)
        if self.p < 2:
            divisor = RootLike(2 - self.p)(size)
            return [over_length(r, divisor) for r in ratios]
        factor = RootLike(self.p - 2)(size)
        return [mul(r, factor) for r in ratios]


@primitive
class RootLike(OfOneDtype):
    """A positive power of a nonnegative number, whose derivatives at 0 are 0, by convention."""

    exponent: float

    kinds = "f"

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.power(x, self.exponent)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return mul(tangents[0], self.exponent * over_length(out, operands[0]))
