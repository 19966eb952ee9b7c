"""Derivatives by differences of the plain function, with an estimate of their own error.

Steps are relative to the argument's elements, so an argument may hold pascals beside metres. Central differences at three steps
are extrapolated twice (Richardson), from several first steps; the best is the one whose last two extrapolations agree best. A large step
is best where rounding matters, a small one where a kink is near.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

FIRST = (1e-4, 4e-5, 4e-4, 2e-3)
SECOND = (1e-2, 3e-3, 1e-3, 4e-4)
"""First steps of first and of second derivatives, each halved twice."""


class Estimate(NamedTuple):
    """A derivative and its uncertainty."""

    value: float
    error: float


def scale_of(x: Any) -> Any:
    """Return the size of each element, and 1 for zeros: the unit that steps are in."""
    return np.where(x == 0, 1.0, np.abs(x))


def extrapolated(difference: Callable[[float], float], steps: tuple[float, ...]) -> Estimate:
    """Return the limit of a quotient of central differences for small steps."""
    estimates = []
    for step in steps:
        a, b, c = difference(step), difference(step / 2), difference(step / 4)
        once, again = (4 * b - a) / 3, (4 * c - b) / 3
        estimates.append(Estimate((16 * again - once) / 15, abs(again - once)))
    return min(estimates, key=lambda estimate: estimate.error)


def moved(x: Any, direction: Any) -> Any:
    """Return an argument of the same kind, further along a direction."""
    return x + direction if np.ndim(x) else float(x + direction)


def slope(f: Callable[[Any], Any], x: Any, direction: Any) -> Estimate:
    """Return the derivative of `f` along a direction."""

    def difference(step: float) -> float:
        ahead, behind = f(moved(x, step * direction)), f(moved(x, -step * direction))
        return float(ahead - behind) / (2 * step)

    return extrapolated(difference, FIRST)


def curvature(f: Callable[[Any], Any], x: Any, u: Any, v: Any) -> Estimate:
    """Return the second derivative of `f` along two directions."""

    def difference(step: float) -> float:
        along, across = step * (u + v), step * (u - v)
        same = float(f(moved(x, along))) + float(f(moved(x, -along)))
        other = float(f(moved(x, across))) + float(f(moved(x, -across)))
        return (same - other) / (4 * step**2)

    return extrapolated(difference, SECOND)


def elasticities(f: Callable[[Any], Any], x: Any) -> tuple[np.ndarray, float]:
    """Return the gradient by differences times `scale_of(x)`, and the error of its elements."""
    scale = scale_of(x)
    directions = np.diag(scale) if np.ndim(x) else [float(scale)]
    estimates = [slope(f, x, direction) for direction in directions]
    values = np.array([estimate.value for estimate in estimates])
    return values.reshape(np.shape(x)), max(estimate.error for estimate in estimates)
