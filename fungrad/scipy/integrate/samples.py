"""Integrals of sampled functions: the sums of `scipy.integrate`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.integrate
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import as_tracer, strong
from fungrad.scipy.arguments import double

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]


def _prepared(y: Any, x: Any, dx: Any, axis: int, what: str) -> tuple[Any, Any]:
    """Return the samples with `axis` as the last, and the distances between them, which broadcast."""
    y = as_tracer(y) if isinstance(y, (list, tuple)) else y
    ndim = len(type_of(y).shape)
    axis = normalize_axis_index(axis, ndim)
    if not type_of(y).inexact:
        y = y.astype(float)
    if x is None:
        return np.moveaxis(y, axis, -1), dx
    x = as_tracer(x) if isinstance(x, (list, tuple)) else x
    if not type_of(x).inexact:
        x = x.astype(float)  # differences of whole numbers are divided by each other
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise ValueError(f"{what}: if given, length of x along axis must be the same as y")
        return np.moveaxis(y, axis, -1), np.diff(x)
    if x.ndim != ndim:
        raise ValueError(f"{what}: if given, shape of x must be 1-D or the same as y")
    return np.moveaxis(y, axis, -1), np.diff(np.moveaxis(x, axis, -1))


@implements(scipy.integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    y, x = [as_tracer(v) if isinstance(v, (list, tuple)) else v for v in (y, x)]
    return np.trapezoid(y, x, dx, axis)


@implements(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1, initial: Any = None
) -> Any:
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    y, d = _prepared(y, x, dx, axis, "cumulative_trapezoid")
    sums = np.cumsum(d * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        sums = np.concatenate([np.zeros_like(sums[..., :1]), sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


@implements(scipy.integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: Any = -1) -> Any:
    y, d = _prepared(y, x, dx, axis, "simpson")
    n = y.shape[-1]
    if n != 2 and (x is not None or n % 2 == 0) and _scipy_widens():
        y, d = double(y), double(d)
    if n == 1:
        return np.sum(0.0 * y, axis=-1)
    if n == 2:
        return np.sum(d * (y[..., :1] + y[..., 1:]) / 2.0, axis=-1)
    first = _first_intervals(y, d)
    last = _last_intervals(y, d)
    total = np.sum(first[..., ::2] + last[..., ::2], axis=-1)
    # Of an even number of samples the last interval has no partner: it is taken from the last parabola.
    return total + last[..., -1] if n % 2 == 0 else total


@functools.cache
def _scipy_widens() -> bool:
    """Whether SciPy's `simpson` computes single precision in double precision, as before version 1.18."""
    return bool(scipy.integrate.simpson(np.zeros(4, np.float32)).dtype == np.float64)


def _first_intervals(y: Any, d: Any) -> Any:
    """Integrate the parabola through each three neighbours over the first of their two intervals.

    K. V. Cartwright, "Simpson's rule cumulative integration with MS Excel and irregularly-spaced data"
    (2017), equation 8.
    """
    a, b = (d[..., :-1], d[..., 1:]) if np.ndim(d) else (d, d)
    share = a / (a + b)
    tail = share * a / b
    left, middle, right = y[..., :-2], y[..., 1:-1], y[..., 2:]
    return a / 6.0 * ((3.0 - share) * left + (3.0 + tail + share) * middle - tail * right)


def _last_intervals(y: Any, d: Any) -> Any:
    """Integrate the same parabolas over their second intervals."""
    mirrored = _first_intervals(y[..., ::-1], d[..., ::-1] if np.ndim(d) else d)
    return mirrored[..., ::-1]


@implements(scipy.integrate.cumulative_simpson)
def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: Any = -1, initial: Any = None
) -> Any:
    y, d = _prepared(y, x, dx, axis, "cumulative_simpson")
    if x is not None and type(d) is not Tracer and not (d > 0).all():
        raise ValueError("Input x must be strictly increasing.")
    n = y.shape[-1]
    if n < 3:
        parts = d * (y[..., 1:] + y[..., :-1]) / 2.0
    else:
        d = strong(d)  # a Python number is of double precision here, in SciPy too
        # Each interval belongs to the pair that begins at an even place; a last one to the last pair.
        first, last = _first_intervals(y, d), _last_intervals(y, d)
        both = np.concatenate([first, last], axis=-1)
        places = [i if i % 2 == 0 else n - 2 + i - 1 for i in range(n - 1)]
        places[-1] = 2 * (n - 2) - 1
        parts = np.take(both, np.array(places), axis=-1)
    sums = np.cumsum(parts, axis=-1)
    if initial is not None:
        start = np.moveaxis(
            np.broadcast_to(initial, np.shape(np.moveaxis(sums[..., :1], -1, axis))), axis, -1
        )
        sums = np.concatenate([start + 0.0 * sums[..., :1], start + sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


@implements(scipy.integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: Any = -1, show: bool = False) -> Any:
    if show:
        raise ValueError("romb: show=True prints values, and traced arrays may have none")
    y, d = _prepared(double(y), None, dx, axis, "romb")
    intervals = y.shape[-1] - 1
    levels = intervals.bit_length() - 1
    if intervals < 1 or 1 << levels != intervals:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    row: list[
        Any
    ] = []  # of Romberg's table: trapezoidal sums, and what Richardson's extrapolation makes of them
    for level in range(levels + 1):
        step = intervals >> level
        used = y[..., ::step]
        ends = (used[..., 0] + used[..., -1]) / 2.0
        new = [(ends + np.sum(used[..., 1:-1], axis=-1)) * (step * d)]
        for k, before in enumerate(row):
            new.append(new[-1] + (new[-1] - before) / (4.0 ** (k + 1) - 1.0))
        row = new
    return row[-1]
