"""A row of the table of kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NOISE = 0.01
"""The part by which generic data differs from the published, as a rule."""


@dataclass(frozen=True)
class Kernel:
    """A kernel and its data.

    Attributes
    ----------
    name : str
        PolyBench's name, with underscores.
    function : callable
        The loops over elements that the description has, as a pure function.
    make_arguments : callable
        Returns the arguments at a size, with the published initial data.
    oracle : callable
        Computes the same from the same arguments by another algorithm.
    differentiated : tuple of int
        Positions of the arguments that derivatives are taken by.
    slices : callable or None
        The kernel with slices in the place of its inner loops, where there is such a form.
    static : tuple of int
        Positions of the arguments that are numbers of steps.
    piecewise : bool
        Whether it is piecewise linear, of minima and maxima: there is a derivative where no two values tie.
    noise : float
        The part by which generic data differs: less where a matrix must stay positive definite.
    """

    name: str
    function: Callable[..., np.ndarray]
    make_arguments: Callable[[int], tuple[Any, ...]]
    oracle: Callable[..., np.ndarray]
    differentiated: tuple[int, ...]
    slices: Callable[..., np.ndarray] | None = None
    static: tuple[int, ...] = ()
    piecewise: bool = False
    noise: float = NOISE

    def make_generic(self, n: int, rng: np.random.Generator) -> tuple[Any, ...]:
        """Return arguments near the published ones, without their ties and equal columns."""
        arguments = list(self.make_arguments(n))
        for place in self.differentiated:
            value = arguments[place]
            arguments[place] = value * (1.0 + self.noise * rng.standard_normal(np.shape(value)))
        return tuple(arguments)


def grid(*sizes: int) -> tuple[np.ndarray, ...]:
    """Return the indices of each element, along each axis."""
    return tuple(np.indices(sizes))
