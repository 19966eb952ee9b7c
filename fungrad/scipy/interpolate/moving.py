"""Coefficients of splines through points at traced places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.scipy.interpolate.objects import spread


def slopes(x: Any, y: Any, ends: Sequence[Any], given: Sequence[Any], periodic: bool) -> Any:
    """Return the slopes of the cubic spline through points.

    `ends` are "not-a-knot", or the order of the derivative there, which is the next of `given`. The second derivative is
    continuous: de Boor, *A Practical Guide to Splines* (1978), chapter IV.
    """
    n, h = x.shape[0], np.diff(x)
    secants = np.diff(y, axis=0) / spread(h, y)
    if periodic:
        return _periodic_slopes(h, secants)
    left, right, inner = h[1:], h[:-1], np.arange(n - 2)
    rows: Any = fnp.zeros((n, n))
    rows = rows.at[inner + 1, inner].set(left)
    rows = rows.at[inner + 1, inner + 1].set(2 * (left + right))
    rows = rows.at[inner + 1, inner + 2].set(right)
    values = 3 * (spread(left, y) * secants[:-1] + spread(right, y) * secants[1:])
    conditions, derivatives = [], iter(given)
    for end, at, sign in zip(ends, (0, -1), (1, -1), strict=True):
        one, two = (at, at + sign) if n > 2 else (at, at)  # the last intervals
        first, second = h[at], h[two]
        if end == 1 or (end != 2 and n == 2):
            row, value = [1.0, 0.0], next(derivatives) if end == 1 else secants[0]
        elif end == 2:
            bend = sign * first * next(derivatives) / 2
            row, value = [2.0, 1.0], 3 * secants[one] - bend
        elif n == 3 and "not-a-knot" == ends[0] == ends[1]:
            row, value = [1.0, 1.0], 2 * secants[one]  # a parabola
        else:
            both = first + second
            row = [second, both]
            value = ((first + 2 * both) * second * secants[one] + first**2 * secants[two]) / both
        places = np.array([at, at + sign]) % n
        rows = rows.at[at % n, places].set(fnp.stack([fnp.asarray(r) for r in row]))
        conditions.append(value[None])
    whole = fnp.concatenate([conditions[0], values, conditions[1]])
    return fnp.linalg.solve(rows, whole.reshape((n, -1))).reshape(whole.shape)


def _periodic_slopes(h: Any, secants: Any) -> Any:
    n = h.shape[0]
    before, i = np.roll(h, 1), np.arange(n)
    rows: Any = fnp.zeros((n, n))
    rows = rows.at[i, i].add(2 * (h + before)).at[i, i - 1].add(h).at[i, (i + 1) % n].add(before)
    values = 3 * (spread(h, secants) * np.roll(secants, 1, 0) + spread(before, secants) * secants)
    found = fnp.linalg.solve(rows, values.reshape((n, -1))).reshape(values.shape)
    return np.concatenate([found, found[:1]])


def knots(x: Any, k: int, ends: bool) -> Any:
    """Return SciPy's knots for degree `k`; with conditions at the `ends`, all places are knots."""
    first, last = [x[0]], [x[-1]]
    if ends or k == 1:
        inner = x[1:-1]
    elif k == 0:
        return np.concatenate([x, x[-1:]])
    elif k % 2:
        inner = x[(k + 1) // 2 : x.shape[0] - (k + 1) // 2]
    else:
        middles = (x[1:] + x[:-1]) / 2
        inner = middles[k // 2 : middles.shape[0] - k // 2]
    return np.concatenate([np.stack(first * (k + 1)), inner, np.stack(last * (k + 1))])


def collocated(unit: Any, x: Any, y: Any, ends: Sequence[int]) -> Any:
    """Return the coefficients of a spline through points.

    `unit` is the spline whose coefficients are the rows of the identity matrix; `ends` are the orders of the derivatives
    that are 0 at the ends.
    """
    rows, values = [unit.at(x, 0)], [y]
    for order, at in zip(ends, (x[:1], x[-1:]), strict=False):
        rows.append(unit.at(at, order))
        values.append(np.zeros((1, *y.shape[1:])))
    matrix, whole = fnp.concatenate(rows), fnp.concatenate(values)
    return fnp.linalg.solve(matrix, whole.reshape((whole.shape[0], -1))).reshape(whole.shape)


def periodic_knots(x: Any, k: int) -> Any:
    """Return the knots of a periodic spline of degree `k`: places, or middles, continued on both sides."""
    if k % 2 == 0:
        x = np.concatenate([x[:1], (x[1:-1] + x[:-2]) / 2, x[-1:]])
    period, n = x[-1] - x[0], x.shape[0] - 1
    numbers = np.arange(-k, n + k + 1)
    return x[:-1][numbers % n] + (numbers // n) * period


def periodic_coefficients(unit: Any, x: Any, y: Any) -> Any:
    """Return the coefficients of a periodic spline through points; the first `k` come again."""
    n = x.shape[0] - 1
    again = np.eye(n)[np.arange(unit.c.shape[0]) % n]
    matrix, values = unit.at(x[:-1], 0) @ again, y[:-1]
    found = again @ fnp.linalg.solve(matrix, values.reshape((n, -1)))
    return found.reshape((found.shape[0], *y.shape[1:]))


def nearest(unit: Any, x: Any, y: Any, w: Any) -> Any:
    """Return the coefficients for which the sum of the squares of weighted residuals is least."""
    matrix, values = unit.at(x, 0), y.reshape((y.shape[0], -1))
    if w is not None:
        matrix, values = spread(w, matrix) * matrix, spread(w, values) * values
    found = fnp.linalg.lstsq(matrix, values)[0]
    return found.reshape((found.shape[0], *y.shape[1:]))
