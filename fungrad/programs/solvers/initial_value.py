"""Initial value problems, solved on arrays by SciPy's steps."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from fungrad.core.sections import more

METHODS = {
    cls.__name__: cls
    for cls in (
        scipy.integrate.RK23,
        scipy.integrate.RK45,
        scipy.integrate.DOP853,
        scipy.integrate.Radau,
        scipy.integrate.BDF,
        scipy.integrate.LSODA,
    )
}


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of integration.

    `max_steps` bounds the steps between two times; with `first_step` None, the step is chosen.
    """

    method: str
    rtol: float
    atol: float
    max_step: float = np.inf
    max_steps: float = np.inf
    first_step: float | None = None


def integrate(
    derivative: Callable[[float, np.ndarray[Any, Any]], np.ndarray[Any, Any]],
    state: np.ndarray[Any, Any],
    grid: np.ndarray[Any, Any],
    options: Options,
) -> np.ndarray[Any, Any]:
    """Return the states at ``grid[1:]``, with SciPy's steps; NaN, and a warning, from where it fails.

    Raises
    ------
    ValueError
        If the grid is not monotonic.
    """
    arrivals = np.full((len(grid) - 1, len(state)), np.nan)
    direction = 1.0 if grid[-1] >= grid[0] else -1.0
    if not np.all(np.diff(grid) * direction >= 0):
        raise ValueError(f"the times of a differential equation must be monotonic, got {grid}")
    i = 0
    while i < len(arrivals) and grid[i + 1] == grid[0]:
        arrivals[i] = state
        i += 1
    if i == len(arrivals) or not state.size:
        return arrivals
    # SciPy's steppers look for a first step without end if the slope is not a number.
    if not np.isfinite(state).all() or not np.isfinite(derivative(grid[0], state)).all():
        warn_of_failure(grid[0], "the state or its derivative is not finite")
        return arrivals
    first = options.first_step
    stepper = METHODS[options.method](
        derivative,
        grid[0],
        state,
        grid[-1],
        rtol=options.rtol,
        atol=options.atol,
        max_step=options.max_step,
        first_step=None if first is None else min(first, abs(grid[-1] - grid[0])),
    )
    steps = 0
    while i < len(arrivals):
        message = stepper.step()
        steps += 1
        if stepper.status != "failed" and steps > options.max_steps:
            message = f"more than {options.max_steps} steps"
        if message is not None:
            warn_of_failure(stepper.t, message)
            break
        between = None
        while i < len(arrivals) and (stepper.t - grid[i + 1]) * direction >= 0:
            if grid[i + 1] == stepper.t:
                arrivals[i] = stepper.y
            else:
                between = between or stepper.dense_output()
                arrivals[i] = between(grid[i + 1])
            i, steps = i + 1, 0
    return arrivals


def warn_of_failure(t: float, message: str) -> None:
    """Warn that a solution ends at `t`."""
    warnings.warn(
        f"the integration of a differential equation stopped at t={t}: {message}; the solution is NaN from "
        f"there on{more('solvers')}",
        RuntimeWarning,
        stacklevel=3,
    )
