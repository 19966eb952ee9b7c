"""Sums and extrema over windows that slide along one axis.

Windows over several axes are windows along one after the other: sums and extrema of sums and extrema.
So a window of n by n elements costs 2 n operations and not n * n.

Design: docs/design/11-dynamic-slices-convolutions-windows.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import Linear, family, primitive
from fungrad.core.types import ArrayType, kind_of
from fungrad.primitives.convolution import fitting
from fungrad.primitives.shaping import AlongAxes, with_length
from fungrad.primitives.slices import pad, slice_axis

Arrays = Sequence[Any]


def every(x: Any, axis: int, start: int, count: int, step: int) -> Any:
    """Return `count` slices of `x` along an axis, from `start` on by `step`."""
    if not count:
        return slice_axis(x, axis, 0, 0)
    return slice_axis(x, axis, start, start + (count - 1) * step + 1, step)


def slide(
    combine: Callable[[Arrays, Arrays], Arrays],
    xs: Arrays,
    axis: int,
    length: int,
    stride: int,
    dilation: int,
) -> Arrays:
    """Return the result of an associative operation over each window, with earlier elements on the left.

    `combine` takes and returns as many arrays as there are `xs`. Windows that overlap little are reduced element by
    element. If they overlap much, each is combined from windows of 1, 2, 4, ... elements.
    """
    n = xs[0].shape[axis]
    count = fitting(n, length, stride, dilation)
    if (length - 1) * count <= 2 * (length.bit_length() - 1) * n:
        taps = [[every(x, axis, k * dilation, count, stride) for x in xs] for k in range(length)]
        return functools.reduce(combine, taps)
    starts = (count - 1) * stride + 1  # of windows, also of those between the steps
    folded: Arrays = ()
    done, width = 0, 1
    while True:
        if length & width:
            part = [every(x, axis, done * dilation, starts, 1) for x in xs]
            folded = combine(folded, part) if done else part
            done += width
        if done == length:
            return [every(x, axis, 0, count, stride) for x in folded]
        shifted, n = width * dilation, n - width * dilation
        left = [slice_axis(x, axis, 0, n) for x in xs]
        xs = combine(left, [slice_axis(x, axis, shifted, shifted + n) for x in xs])
        width *= 2


def kept(xp: Any, mask: Any, x: Any) -> Any:
    """Return x where the mask is true, and 0 elsewhere.

    It masks bits: `np.where` branches on each element, which takes ten times as long if branches are mispredicted.
    """
    if not target_of(xp).on_host or x.itemsize > 8:
        return xp.where(mask, x, x.dtype.type(0))
    bits = np.dtype(f"u{x.itemsize}")
    return (x.view(bits) & np.negative(mask.astype(bits))).view(x.dtype)


@family
class Windows(AlongAxes):
    """Base of operations on windows.

    A window has `length` elements along `axis`, `dilation` apart; the next begins `stride` later. There
    are as many as fit.
    """

    axis: int
    length: int
    stride: int
    dilation: int

    def count(self, x: ArrayType) -> int:
        """Return how many windows there are."""
        if not 0 <= self.axis < x.ndim:
            raise ValueError(f"{self.name}: {x} has no axis {self.axis}")
        return fitting(x.shape[self.axis], self.length, self.stride, self.dilation)

    def taps(self, x: Any, count: int) -> list[Any]:
        """Return views: of the first element of each window, of the second, and so on."""
        starts = range(0, self.length * self.dilation, self.dilation)
        return [every(x, self.axis, start, count, self.stride) for start in starts]


class Reducing(Windows):
    """Base of sums and extrema."""

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x.update(shape=with_length(x.shape, self.axis, self.count(x)))

    def reduced(self, x: Any, ufunc: Any) -> Any:
        """Return each window reduced by a binary ufunc; never a view."""
        (out,) = slide(
            lambda a, b: [ufunc(a[0], b[0])],
            [x],
            self.axis,
            self.length,
            self.stride,
            self.dilation,
        )
        return out.copy() if self.length == 1 else out


@primitive
class WindowSum(Reducing):
    """The sum of each window."""

    linear = (0,)

    def impl(self, xp: Any, x: Any) -> Any:
        if kind_of(x.dtype) == "f" and x.dtype.itemsize < 4:  # round once, not after each term
            return self.reduced(x.astype(np.float32), xp.add).astype(x.dtype)
        return self.reduced(x, xp.add)

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        # An element is in the windows that begin up to `reach` before it: a sum over windows again.
        axis, n, count = self.axis, x.shape[self.axis], ct.shape[self.axis]
        reach = (self.length - 1) * self.dilation
        none = [0] * len(x.shape)
        low, high, interior = none.copy(), none.copy(), none.copy()
        low[axis], interior[axis] = reach, self.stride - 1
        high[axis] = n - ((count - 1) * self.stride + 1 if count else 0)
        spread = pad(ct, low, high, interior)
        return (WindowSum(axis, self.length, 1, self.dilation)(spread),)


class Extremum(Reducing):
    """Base of maxima and minima. The first of equal elements has the derivative."""

    ufunc: ClassVar[str]

    def impl(self, xp: Any, x: Any) -> Any:
        return self.reduced(x, getattr(xp, self.ufunc))

    def jvp(self, tangents: tuple[Any, ...], out: Any, x: Any) -> Any:
        fields = (self.axis, self.length, self.stride, self.dilation)
        return PickInWindow(*fields)(tangents[0], FindInWindow(*fields)(x, out))


@primitive
class WindowMax(Extremum):
    """The maximum of each window; NaN if there is one."""

    ufunc = "maximum"


@primitive
class WindowMin(Extremum):
    """The minimum of each window; NaN if there is one."""

    ufunc = "minimum"


@primitive
class FindInWindow(Windows):
    """Index, in each window of the first operand, of the first element equal to that of the second.

    In a window with NaN, it is the index of the first NaN.
    """

    differentiable = False

    def abstract_eval(self, x: ArrayType, out: ArrayType) -> ArrayType:
        if out.shape != with_length(x.shape, self.axis, self.count(x)) or out.dtype != x.dtype:
            raise TypeError(f"{self}: {out} has not an element for each window of {x}")
        return ArrayType(out.shape, np.min_scalar_type(self.length - 1))

    def impl(self, xp: Any, x: Any, out: Any) -> Any:
        # The number of elements before the first that is equal, or NaN.
        counts = xp.zeros(out.shape, np.min_scalar_type(self.length - 1))
        waiting = xp.ones(out.shape, bool)
        for tap in self.taps(x, out.shape[self.axis])[:-1]:
            waiting &= tap != out
            if kind_of(x.dtype) in "fc":
                waiting &= tap == tap
            counts += waiting
        return counts


@primitive
class PickInWindow(Windows):
    """The element of each window at the index in the second operand. Transposes to `PutInWindow`."""

    linear = (0,)

    def abstract_eval(self, x: ArrayType, which: ArrayType) -> ArrayType:
        if (
            which.shape != with_length(x.shape, self.axis, self.count(x))
            or which.dtype.kind not in "iu"
        ):
            raise TypeError(f"{self}: {which} has not an integer for each window of {x}")
        return x.update(shape=which.shape)

    def impl(self, xp: Any, x: Any, which: Any) -> Any:
        out = xp.zeros(which.shape, x.dtype)
        for k, tap in enumerate(self.taps(x, which.shape[self.axis])):
            out += kept(xp, which == k, tap)
        return out

    def transpose(self, ct: Any, x: Any, which: Any) -> tuple[Any, ...]:
        put = PutInWindow(self.axis, self.length, self.stride, self.dilation, x.shape[self.axis])
        return put(ct, which), None


@primitive
class PutInWindow(Windows):
    """Add each element, in `n` zeros, at the index in its window given by the second operand."""

    n: int

    linear = (0,)

    def abstract_eval(self, x: ArrayType, which: ArrayType) -> ArrayType:
        result = x.update(shape=with_length(x.shape, self.axis, self.n))
        if not x.shape == which.shape == with_length(x.shape, self.axis, self.count(result)):
            raise TypeError(f"{self}: {x} and {which} have not an element for each window")
        return result

    def impl(self, xp: Any, x: Any, which: Any) -> Any:
        out = xp.zeros(with_length(x.shape, self.axis, self.n), x.dtype)
        for k, tap in enumerate(self.taps(out, x.shape[self.axis])):
            tap += kept(xp, which == k, x)
        return out

    def transpose(self, ct: Any, x: Any, which: Any) -> tuple[Any, ...]:
        pick = PickInWindow(self.axis, self.length, self.stride, self.dilation)
        return pick(ct, which), None
