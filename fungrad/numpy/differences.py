"""Differences of neighbours: gradients, integrals, unwrapped phases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy import plans
from fungrad.numpy.cumulative import cumsum
from fungrad.numpy.dispatch import implements
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import apply, as_array, as_tracer, broadcast_to, cast
from fungrad.numpy.reductions import is_exact, missing, sum
from fungrad.numpy.shaping import reshaped
from fungrad.primitives import elementwise as e
from fungrad.primitives.slices import slice_axis


def _steps(x: Tracer, axis: int) -> Any:
    """Return the difference of each element and the one before it."""
    n = x.shape[axis]
    later, earlier = slice_axis(x, axis, min(1, n), n), slice_axis(x, axis, 0, max(n - 1, 0))
    return (e.not_equal if x.dtype.kind == "b" else e.sub)(later, earlier)


@implements(np.diff, view=True)
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = missing, append: Any = missing) -> Any:
    x = as_tracer(a)
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, x.ndim)

    def extra(y: Any) -> Tracer:
        y = as_tracer(y)
        return y if y.ndim else broadcast_to(y, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))  # type: ignore[no-any-return]

    parts = [x]
    if prepend is not missing:
        parts.insert(0, extra(prepend))
    if append is not missing:
        parts.append(extra(append))
    if len(parts) > 1:
        x = joined(parts, axis)
    for _ in range(n):
        x = _steps(x, axis)
    return x


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = as_tracer(ary)
    np.subtract(x, x)  # raises NumPy's error for booleans
    parts = [_steps(reshaped(x, (x.size,)), 0)]
    for name, values, place in (("to_begin", to_begin, 0), ("to_end", to_end, 2)):
        if values is not None:
            y = as_tracer(values)
            if not np.can_cast(y.dtype, x.dtype, "same_kind"):
                raise TypeError(
                    f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
                )
            parts.insert(place, cast(reshaped(y, (y.size,)), x.dtype))
    return joined(parts, 0)


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    values = as_tracer(y)
    place = normalize_axis_index(axis, values.ndim)
    if x is not None:
        points = as_tracer(x)
        if points.ndim == 1:
            dx = _steps(points, 0)
            dx = reshaped(dx, (*dx.shape, *[1] * (values.ndim - 1 - place)))
        else:
            dx = _steps(points, normalize_axis_index(axis, points.ndim))
    n = values.shape[place]
    pairs = apply(e.add, [slice_axis(values, place, i, i + max(n - 1, 0)) for i in (min(1, n), 0)])
    return sum(apply(e.div, (apply(e.mul, (dx, pairs)), 2.0)), axis)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> Any:
    x = as_tracer(p)
    axis = normalize_axis_index(axis, x.ndim)
    steps = _steps(x, axis)
    dtype = plans.result_dtype(steps._type, type_of(as_array(period)))
    if not x.shape[axis]:
        return cast(x, dtype)
    discont = period / 2 if discont is None else discont
    high, rest = divmod(period, 2) if is_exact(dtype) else (period / 2, 0)
    low = -high
    wrapped = np.mod(steps - low, period) + low
    if rest == 0:  # a step of half a period keeps its sign
        wrapped = np.where((wrapped == low) & (steps > 0), high, wrapped)
    corrections = np.where(np.absolute(steps) < discont, 0, wrapped - steps)
    n = x.shape[axis]
    later = cast(slice_axis(x, axis, 1, n) + cumsum(corrections, axis), dtype)
    return joined([cast(slice_axis(x, axis, 0, 1), dtype), later], axis)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = as_tracer(f)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    if not varargs:
        varargs = (1.0,)
    if len(varargs) == 1 and not np.ndim(varargs[0]):
        varargs *= len(axes)
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    dtype = x.dtype
    if dtype.kind in "iu":
        x = cast(x, np.dtype(np.float64))
    if is_exact(dtype):
        dtype = np.dtype(np.float64)
    spacings = [_spacing(s, x.shape[i]) for s, i in zip(varargs, axes, strict=True)]
    results = [
        cast(_gradient(x, s, i, edge_order), dtype) for s, i in zip(spacings, axes, strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _spacing(spacing: Any, n: int) -> Any:
    """Return the argument as a number, or as the differences of the places."""
    places = as_array(spacing)
    if not np.ndim(places):
        return places
    if np.ndim(places) != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(places) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if places.dtype.kind in "iu":
        places = places.astype(np.float64)
    steps = np.diff(places)
    if type(steps) is not Tracer and len(steps) and bool(np.equal(steps, steps[0]).all()):
        return steps[0]
    return steps


def _gradient(x: Tracer, h: Any, axis: int, edge_order: int) -> Any:
    """Differentiate along one axis: central differences inside, one-sided ones at the ends."""
    n = x.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    uniform = not np.ndim(h)

    def at(i: int, length: int = 1) -> Any:
        start = i % n
        return slice_axis(x, axis, start, start + length)

    def step(i: int, length: int = 1) -> Any:
        """Return `length` spacings from the i-th on, along the axis."""
        if uniform:
            return h
        start = i % (n - 1)
        return h[start : start + length].reshape((-1, *[1] * (x.ndim - 1 - axis)))

    parts = []
    if n > 2:
        if uniform:
            parts = [(at(2, n - 2) - at(0, n - 2)) / (2.0 * h)]
        else:
            h1, h2 = step(0, n - 2), step(1, n - 2)
            weights = -h2 / (h1 * (h1 + h2)), (h2 - h1) / (h1 * h2), h1 / (h2 * (h1 + h2))
            parts = [_combination(weights, [at(i, n - 2) for i in range(3)])]
    if edge_order == 1:
        ends = [(at(i + 1) - at(i)) / step(i if i == 0 else -1) for i in (0, n - 2)]
    else:
        ends = []
        for last in (False, True):
            h1, h2 = (step(-1), step(-2)) if last else (step(0), step(1))
            a = -(2.0 * h1 + h2) / (h1 * (h1 + h2))
            weights = a, (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
            if last:  # the same seen from the other side
                weights = tuple([-w for w in weights])
            ends.append(_combination(weights, [at(-1 - i if last else i) for i in range(3)]))
    return joined([ends[0], *parts, ends[1]], axis)


def _combination(weights: tuple[Any, ...], xs: list[Any]) -> Any:
    first, second, third = [w * x for w, x in zip(weights, xs, strict=True)]
    return first + second + third
