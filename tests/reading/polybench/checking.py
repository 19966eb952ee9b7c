"""How gradients of kernels are held against differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.reading.polybench.table import Kernel

STEP = 1e-5
"""The larger step of differences, relative to the values."""
SMALL = 1e-7
"""The same where it must not reach the next kink; between kinks there is no error but of rounding."""


def difference(
    loss: Callable[..., Any],
    arguments: Sequence[Any],
    directions: Mapping[int, Any],
    step: float,
) -> float:
    """Return the derivative along `directions`, by place, by central differences at two steps, to fourth order."""

    def slope(h: float) -> float:
        there, back = dict(enumerate(arguments)), dict(enumerate(arguments))
        for i, direction in directions.items():
            there[i] = arguments[i] + h * direction
            back[i] = arguments[i] - h * direction
        return float(loss(*there.values()) - loss(*back.values())) / (2 * h)

    return (4 * slope(step / 2) - slope(step)) / 3


def error_of_gradient(
    kernel: Kernel,
    loss: Callable[..., Any],
    arguments: Sequence[Any],
    gradient: Sequence[Any],
    rng: np.random.Generator,
) -> float:
    """Return how far a gradient is from a difference along a random direction, relative to the terms of its sum."""
    found = dict(zip(kernel.differentiated, gradient, strict=True))
    for i, part in found.items():
        if np.shape(part) != np.shape(arguments[i]):
            raise ValueError(f"argument {i}: {np.shape(part)} is not {np.shape(arguments[i])}")
    directions = {i: arguments[i] * rng.standard_normal(np.shape(arguments[i])) for i in found}
    terms = np.concatenate([np.ravel(found[i] * directions[i]) for i in found])
    expected = difference(loss, arguments, directions, SMALL if kernel.piecewise else STEP)
    return float(abs(terms.sum() - expected) / np.abs(terms).sum())
