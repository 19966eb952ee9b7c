"""Sliding sums of products, and recursive filters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import sub
from fungrad.primitives.shaping import Broadcast, expand
from fungrad.primitives.slices import Reverse, slice_axis


@primitive
class Correlate(Primitive):
    """Correlation: ``out[i] = sum_j x[i + j] * y[j]``, where `y` fits or, if `full`, wherever both meet.

    Both have the same leading axes, a batch, and then `ndim` axes to slide along. Nothing is conjugated. Beyond the first
    operand there is nothing, rather than zeros: infinite elements of the second are multiplied by none.
    The primitive is closed under transposition: the cotangent slides over x for the one operand, and y,
    reversed, over the cotangent for the other.
    """

    ndim: int
    full: bool = False

    multilinear = True

    def abstract_eval(self, x: ArrayType, y: ArrayType) -> ArrayType:
        if x.dtype != y.dtype:
            raise TypeError(f"correlate: operands of different dtypes, {x} and {y}")
        first = x.ndim - self.ndim
        if self.ndim < 1 or first < 0 or x.ndim != y.ndim or x.shape[:first] != y.shape[:first]:
            raise ValueError(f"{self}: the leading axes of {x} and {y} differ")
        lengths = [(n, m) for n, m in zip(x.shape[first:], y.shape[first:], strict=True)]
        if any(min(n, m) < 1 or (m > n and not self.full) for n, m in lengths):
            raise ValueError(f"{self}: {y} is empty or does not fit into {x}")
        shape = (*x.shape[:first], *(n + (m - 1) * (1 if self.full else -1) for n, m in lengths))
        return ArrayType(shape, x.dtype, x.weak and y.weak)

    def impl(self, xp: Any, x: Any, y: Any) -> Any:
        d = self.ndim
        batch, taps = x.shape[:-d], y.shape[-d:]
        sign = 1 if self.full else -1
        places = tuple(n + (m - 1) * sign for n, m in zip(x.shape[-d:], taps, strict=True))
        steps = min(math.prod(taps), math.prod(places))
        if d == 1 and math.prod(batch) <= steps:  # a call of the library for each row
            out = xp.empty(batch + places, x.dtype)
            for row in np.ndindex(*batch):
                out[row] = xp.convolve(x[row], y[row][::-1], "full" if self.full else "valid")
            return out
        # As few operations on whole arrays as can be: one for each tap, or for each place.
        if steps == math.prod(taps):
            out = xp.zeros(batch + places, x.dtype)
            for tap in np.ndindex(*taps):
                if self.full:
                    met = _window(out, tuple(m - 1 - i for m, i in zip(taps, tap)), x.shape[-d:])
                    met += x * y[(..., *tap)].reshape(batch + (1,) * d)
                    continue
                out += _window(x, tap, places) * y[(..., *tap)].reshape(batch + (1,) * d)
            return out
        out = xp.empty(batch + places, x.dtype)
        for place in np.ndindex(*places):
            product = _window(x, place, taps) * y
            out[(..., *place)] = xp.sum(product, axis=tuple(range(-d, 0)), dtype=x.dtype)
        return out

    def transpose(self, ct: Any, x: Any, y: Any) -> tuple[Any, ...]:
        if isinstance(y, Linear):
            slid = Correlate(self.ndim)
            return None, reversed_tail(slid(ct, x), self.ndim) if self.full else slid(x, ct)
        if self.full:
            return Correlate(self.ndim)(ct, reversed_tail(y, self.ndim)), None
        return convolve(ct, y, self.ndim), None

    def batch(self, size: int, batched: tuple[bool, ...], x: Any, y: Any) -> Any:
        return self(expand(size, x, batched[0]), expand(size, y, batched[1]))


def _window(x: Any, start: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
    window = tuple(slice(i, i + n) for i, n in zip(start, lengths, strict=True))
    return x[(..., *window)]


def reversed_tail(x: Any, ndim: int) -> Any:
    """Return `x` with its last `ndim` axes reversed."""
    n = len(x.shape)
    return Reverse(tuple(range(n - ndim, n)))(x)


def convolve(x: Any, y: Any, ndim: int) -> Any:
    """Return the full convolution of arrays along their last `ndim` axes; the others are a batch."""
    sizes = [math.prod(z.shape[-ndim:]) for z in (x, y)]
    if sizes[0] < sizes[1]:
        x, y = y, x
    return Correlate(ndim, True)(x, reversed_tail(y, ndim))


@primitive
class AllPole(Primitive):
    """Solve ``sum_k a[k] * y[i - k] = u[i]`` for y, along the last axis, with zeros before its start.

    Operands are a, with an axis more than `batch_ndim`, and u. The matrix is triangular and its diagonals
    are constant, so its transpose is the same filter run backwards.
    """

    batch_ndim: int = 0

    linear = (1,)

    def abstract_eval(self, a: ArrayType, u: ArrayType) -> ArrayType:
        if a.dtype != u.dtype or a.dtype.kind not in "fc":
            raise TypeError(f"all_pole takes two inexact arrays of one dtype, got {a} and {u}")
        d = self.batch_ndim
        if a.ndim != d + 1 or u.ndim < a.ndim or a.shape[:d] != u.shape[:d] or not a.shape[-1]:
            raise ValueError(f"{self}: coefficients {a} do not go with signals {u}")
        return u.update(weak=a.weak and u.weak)

    def impl(self, xp: Any, a: Any, u: Any) -> Any:
        out = xp.empty(u.shape, u.dtype)
        if not u.size:
            return out
        lfilter = target_of(xp).scipys("signal").lfilter
        one = xp.ones(1, a.dtype)
        for row in np.ndindex(*a.shape[:-1]):
            out[row] = lfilter(one, a[row], u[row])
        return out

    def jvp(self, tangents: tuple[Any, ...], out: Any, a: Any, u: Any) -> Any:
        ta, tu = tangents
        if ta is not None:
            change = causal(ta, out, self.batch_ndim)
            tu = -change if tu is None else sub(tu, change)
        return self(a, tu)

    def transpose(self, ct: Any, a: Any, u: Any) -> tuple[Any, ...]:
        if isinstance(a, Linear):
            raise self.missing("transpose")
        return None, reversed_tail(self(a, reversed_tail(ct, 1)), 1)

    def batch(self, size: int, batched: tuple[bool, ...], a: Any, u: Any) -> Any:
        u = expand(size, u, batched[1])
        if batched[0]:
            return AllPole(self.batch_ndim + 1)(a, u)
        if not self.batch_ndim:
            return self(a, u)
        return AllPole(self.batch_ndim + 1)(expand(size, a, False), u)


def causal(b: Any, x: Any, batch_ndim: int = 0) -> Any:
    """Return ``out[i] = sum_k b[k] * x[i - k]`` along the last axis of `x`, zero before its start.

    The first `batch_ndim` axes of both are a batch; the other axes of `x` are further signals.
    """
    signals = x.shape[batch_ndim:-1]
    n = x.shape[-1]
    if not n:
        return x
    b = slice_axis(b, batch_ndim, 0, min(n, b.shape[-1]))
    new = tuple(range(batch_ndim, batch_ndim + len(signals)))
    if new:
        b = Broadcast((*x.shape[:-1], b.shape[-1]), new)(b)
    return slice_axis(Correlate(1, True)(x, reversed_tail(b, 1)), len(x.shape) - 1, 0, n)
