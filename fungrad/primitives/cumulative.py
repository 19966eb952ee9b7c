"""Cumulative operations along an axis, and the linear recurrence that their derivatives are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import Linear, family, primitive
from fungrad.core.types import ArrayType, check_numbers, kind_of
from fungrad.primitives.elementwise import cast, lead, logical_or, masked, select, sigmoid
from fungrad.primitives.shaping import AlongAxes, zeros_like
from fungrad.primitives.slices import shift


@family
class Cumulative(AlongAxes):
    """Base of cumulative operations along `axis`; `reverse` starts at the end."""

    axis: int
    reverse: bool = False

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        check_numbers(self.name, (x,))
        if not 0 <= self.axis < x.ndim:
            raise ValueError(f"{self.name}: {x} has no axis {self.axis}")
        return x

    def flipped(self, x: Any) -> Any:
        """Return an array with the axis reversed if `reverse`."""
        return x[(slice(None),) * self.axis + (slice(None, None, -1),)] if self.reverse else x

    def previous(self, x: Any, first: Any) -> Any:
        """Return for each position the element that comes before it, `first` for the first."""
        return shift(x, self.axis, -1 if self.reverse else 1, first)

    def recurrence(self) -> LinearRecurrence:
        """Return the recurrence that runs in the same direction."""
        return LinearRecurrence(self.axis, self.reverse)


@primitive
class LinearRecurrence(AlongAxes):
    """Solve ``h[i] = a[i] * h[i-1] + b[i]`` along `axis`; `reverse` runs from the end.

    The first element of ``a`` is not used. Linear in b, and transposes to itself in the other
    direction. All derivatives of cumulative operations are instances: one sequential operation that
    keeps only a, where a scan of an operator on pairs would keep every level of its tree.
    """

    axis: int
    reverse: bool

    def abstract_eval(self, a: ArrayType, b: ArrayType) -> ArrayType:
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise TypeError(f"linear_recurrence: operands differ, {a} and {b}")
        if not 0 <= self.axis < a.ndim:
            raise ValueError(f"linear_recurrence: {a} has no axis {self.axis}")
        return b.update(weak=a.weak and b.weak)

    def impl(self, xp: Any, a: Any, b: Any) -> Any:
        order = slice(None, None, -1 if self.reverse else 1)
        h = b.copy("C")
        _solve_recurrence(*[xp.moveaxis(x, self.axis, 0)[order] for x in (a, h)])
        return h

    def jvp(self, tangents: tuple[Any, ...], out: Any, a: Any, b: Any) -> Any:
        ta, tb = tangents
        if ta is not None:
            term = ta * shift(out, self.axis, -1 if self.reverse else 1)
            tb = term if tb is None else tb + term
        return self(a, tb)

    def transpose(self, ct: Any, a: Any, b: Any) -> tuple[Any, ...]:
        if isinstance(a, Linear):
            raise self.missing("transpose")
        coefficients = shift(a, self.axis, 1 if self.reverse else -1)
        return None, LinearRecurrence(self.axis, not self.reverse)(coefficients, ct)


def _solve_recurrence(a: Any, h: Any) -> None:
    """Turn `h`, which holds b, into the solution along axis 0, in place.

    Cyclic reduction (Hockney 1965; as a scan, Blelloch 1990): two steps make one, which leaves a
    recurrence of half the length for the odd positions; the even ones follow from their neighbours.
    """
    n = len(h)
    if n < 2:
        return
    h[1::2] += a[1::2] * h[: n - 1 : 2]
    if n > 3:
        _solve_recurrence(a[1::2] * a[: n - 1 : 2], h[1::2])
    h[2::2] += a[2::2] * h[1 : n - 1 : 2]


class Accumulation(Cumulative):
    """Base of cumulative sum and product: a method of arrays, in the operand's dtype."""

    method: ClassVar[str]

    def impl(self, xp: Any, x: Any) -> Any:
        return self.flipped(getattr(self.flipped(x), self.method)(self.axis, x.dtype))

    def expression(self, x: str) -> str | None:
        return None if self.reverse else f"{x}.{self.method}({self.axis}, {x}.dtype)"


@primitive
class CumSum(Accumulation):
    """Cumulative sum. Transposes to itself in the other direction."""

    name = method = "cumsum"
    linear = (0,)

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (CumSum(self.axis, not self.reverse)(ct),)


@primitive
class CumProd(Accumulation):
    """Cumulative product. Differentiable at zeros."""

    name = method = "cumprod"

    def jvp(self, tangents: tuple[Any, ...], out: Any, x: Any) -> Any:
        # out[i] = out[i-1] x[i]
        return self.recurrence()(x, tangents[0] * self.previous(out, 1))


class Extremum(Cumulative):
    """Base of cumulative maximum and minimum. Ties share the tangent equally."""

    ufunc: ClassVar[str]

    def impl(self, xp: Any, x: Any) -> Any:
        return self.flipped(_accumulate(xp, self.ufunc, self.flipped(x), self.axis))

    def jvp(self, tangents: tuple[Any, ...], out: Any, x: Any) -> Any:
        # The tangent is the mean of those where the extremum was attained since it last changed.
        t = tangents[0]
        attained = ties(x, out)
        lasts = cast(ties(self.previous(out, 0), out), t)
        total = self.recurrence()(lasts, masked(attained, t))
        number = self.recurrence()(lasts, cast(attained, t))
        return total / number


@primitive
class CumMax(Extremum):
    """Cumulative maximum; NaN from the first NaN on."""

    name = "cummax"
    ufunc = "maximum"


@primitive
class CumMin(Extremum):
    """Cumulative minimum; NaN from the first NaN on."""

    name = "cummin"
    ufunc = "minimum"


@primitive
class CumLogSumExp(Cumulative):
    """Cumulative log(sum(exp(x))) of real numbers, without overflow."""

    name = "cumlogsumexp"

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if kind_of(x.dtype) != "f":
            raise TypeError(f"cumlogsumexp takes real floating-point numbers, got {x}")
        return super().abstract_eval(x)

    def impl(self, xp: Any, x: Any) -> Any:
        return self.flipped(_accumulate(xp, "logaddexp", self.flipped(x), self.axis))

    def jvp(self, tangents: tuple[Any, ...], out: Any, x: Any) -> Any:
        # exp(out[i]) = exp(out[i-1]) + exp(x[i]), so the tangents have these weights, which lie
        # between 0 and 1.
        past = self.previous(out, -np.inf)
        ahead = select(past == zeros_like(past) - np.inf, past, lead(past, x))
        return self.recurrence()(sigmoid(ahead), sigmoid(-ahead) * tangents[0])


def ties(x: Any, extremum: Any) -> Any:
    """Return where `x` attains the extremum, taking NaNs as equal."""
    equals = x == extremum
    return logical_or(equals, x != x) if kind_of(x.dtype) in "fc" else equals


def _accumulate(xp: Any, ufunc: str, x: Any, axis: int) -> Any:
    """Return ``ufunc.accumulate(x, axis)``; CuPy has that for sums and products only."""
    function = getattr(xp, ufunc)
    if target_of(xp).all_reduce:
        return function.accumulate(x, axis)
    out = xp.moveaxis(x, axis, 0).copy()
    step = 1
    while step < len(out):  # each round doubles how far back it looks (Hillis & Steele 1986)
        out[step:] = function(out[step:], out[:-step])
        step *= 2
    return xp.moveaxis(out, 0, axis)
