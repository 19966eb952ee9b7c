"""Integrals over intervals whose ends are arrays.

Design: docs/design/30-distributions-and-filters.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

STEP, END = 1 / 20, 3.3
"""Nodes are this far apart, and end where weights are below 1e-17."""
BLOCK = 2**13
"""Elements of an integrand that are computed at once: at many nodes where arrays are short."""


def weighted_sum(
    xp: Any, integrand: Callable[[Any], Any], nodes: Array, weights: Array, like: Any
) -> Any:
    """Return the weighted sum of `integrand` at the nodes, for each element of arrays shaped like `like`.

    `integrand` takes nodes along a leading axis, before those of `like`.
    """
    at_once = max(BLOCK // max(like.size, 1), 1)
    total = 0.0
    for first in range(0, len(nodes), at_once):
        some, by = (
            xp.asarray(x[first : first + at_once]).reshape(-1, *(1,) * like.ndim)
            for x in (nodes, weights)
        )
        total = total + (by * integrand(some)).sum(0)
    return total


@functools.cache
def _tanh_sinh() -> tuple[Array, Array]:
    """Return the nodes of the tanh-sinh rule between 0 and 1, and their weights."""
    count = round(END / STEP)
    nodes = []
    for i in range(-count, count + 1):
        z = math.pi * math.sinh(i * STEP)
        place, other = 1 / (1 + math.exp(-z)), 1 / (1 + math.exp(z))
        nodes.append((place, STEP * math.pi * math.cosh(i * STEP) * place * other))
    places, weights = np.array(nodes).T
    return places, weights


def integrate(xp: Any, integrand: Callable[[Any], Any], start: Any, end: Any) -> Any:
    """Return the integral from `start` to `end`, per element of `end`, by the tanh-sinh rule.

    H. Takahasi and M. Mori, "Double exponential formulas for numerical integration", 1974. Nodes crowd at both
    ends, so integrands may change fast there, and be singular. `integrand` takes points along a leading axis.
    """
    width = end - start
    places, weights = _tanh_sinh()
    return width * weighted_sum(
        xp, lambda place: integrand(start + place * width), places, weights, width
    )
