"""A row of the table of applications."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.reading.polybench.table import Kernel

STEPS = 10
"""Time steps of applications that have some."""


def application(
    function: Callable[..., np.ndarray],
    make_arguments: Callable[[int], tuple[Any, ...]],
    differentiated: tuple[int, ...],
    static: tuple[int, ...] = (),
    piecewise: bool = False,
) -> Kernel:
    """Return the row of a function; it is its own oracle, as it is NumPy's."""
    return Kernel(
        name=function.__name__,
        function=function,
        make_arguments=make_arguments,
        oracle=function,
        differentiated=differentiated,
        static=static,
        piecewise=piecewise,
    )


def numbers(seed: int, *shape: int) -> np.ndarray:
    """Return random numbers between 0.5 and 1.5."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)
