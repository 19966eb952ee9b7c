"""Integrals over intervals whose ends are arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

STEP, END = 1 / 20, 3.3
"""Nodes are this far apart, and end where weights are below 1e-17."""


def integrate(integrand: Callable[[Any], Any], start: Any, end: Any) -> Any:
    """Return the integral from `start` to `end`, for each of their elements, by the tanh-sinh rule.

    H. Takahasi and M. Mori, "Double exponential formulas for numerical integration", 1974. Nodes crowd at both
    ends, so integrands may change fast there, and be singular.
    """
    total = 0.0
    count = round(END / STEP)
    for i in range(-count, count + 1):
        z = math.pi * math.sinh(i * STEP)
        place, other = 1 / (1 + math.exp(-z)), 1 / (1 + math.exp(z))
        weight = STEP * math.pi * math.cosh(i * STEP) * place * other
        total = total + weight * integrand(start + place * (end - start))
    return (end - start) * total
