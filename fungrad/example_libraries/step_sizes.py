"""Lengths of steps as functions of the number of the step, for `fungrad.example_libraries.optimizers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import fungrad.numpy as fnp
from fungrad.extend.packages import Glossary

__all__ = [
    "Schedule",
    "Step",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "make_schedule",
    "piecewise_constant",
    "polynomial_decay",
]

Step: TypeAlias = int
"""The number of a step, from 0 on."""
Schedule: TypeAlias = Callable[[Any], Any]
"""A function of the number of the step that returns its length."""

_GLOSSARY = Glossary(
    {
        "b1": "How much of the mean of gradients is kept in each step.",
        "b2": "How much of the mean of squares is kept in each step.",
        "decay_rate": "How much of the length is left, or how fast it falls.",
        "decay_steps": "The number of steps in which it falls by that.",
        "eps": "Added to the denominator.",
        "gamma": "How much of the mean of squares is kept in each step.",
        "mass": "How much of the last step is repeated.",
        "momentum": "How much of the mean of steps is kept in each step.",
        "step_size": "The length of steps: a number, or a function of the number of the step.",
        "tree": "A pytree of arrays.",
    },
    {},
    {
        "np": "import numpy as np",
        "fg": "import fungrad as fg",
        "optimizers": "from fungrad.example_libraries import optimizers",
    },
)
public, public_like = _GLOSSARY.public, _GLOSSARY.public_like


@public
def constant(step_size: Any) -> Schedule:
    """Return steps of one length.

    Examples
    --------
    >>> optimizers.constant(0.1)(7)
    0.1
    """
    return lambda i: step_size


@public
def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return steps that are multiplied with `decay_rate` in each `decay_steps`, little by little.

    Examples
    --------
    >>> print(optimizers.exponential_decay(1.0, 2, 0.25)(3))
    0.125
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


@public
def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """Return steps that are divided by a number that grows.

    Parameters
    ----------
    staircase
        Whether they change only after each `decay_steps`.

    Examples
    --------
    >>> print(optimizers.inverse_time_decay(1.0, 2, 1.0)(2))
    0.5
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * fnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


@public
def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """Return steps that fall to a last length, by a power of the time that is left.

    Parameters
    ----------
    final_step_size
        The length after `decay_steps`.
    power
        The power.

    Examples
    --------
    >>> print(optimizers.polynomial_decay(1.0, 4, 0.5)(2))
    0.75
    """

    def schedule(i: Any) -> Any:
        left = (1 - fnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


@public
def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return steps whose length changes after some of them.

    Parameters
    ----------
    boundaries
        The last steps of each length but the last.
    values
        The lengths.

    Raises
    ------
    ValueError
        If there is not one boundary less than there are values.

    Examples
    --------
    >>> schedule = optimizers.piecewise_constant([1, 3], [0.5, 0.2, 0.1])
    >>> [float(schedule(i)) for i in range(6)]
    [0.5, 0.5, 0.2, 0.2, 0.1, 0.1]
    """
    boundaries, values = fnp.asarray(boundaries), fnp.asarray(values)
    if (boundaries.ndim, values.ndim) != (1, 1) or len(boundaries) != len(values) - 1:
        raise ValueError(
            "piecewise_constant: boundaries and values must be sequences, and there must be one boundary less, got "
            f"shapes {boundaries.shape} and {values.shape}"
        )
    return lambda i: values[fnp.sum(i > boundaries)]


@public
def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """Return a number as steps of one length, and a function as it is.

    Parameters
    ----------
    scalar_or_schedule
        A number, or a function of the number of the step.

    Raises
    ------
    TypeError
        If it is neither.

    Examples
    --------
    >>> optimizers.make_schedule(0.1)(7)
    0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule  # type: ignore[no-any-return]
    if fnp.ndim(scalar_or_schedule):
        raise TypeError(
            "make_schedule: the length of steps must be a number or a function of the number of the step, got an "
            f"array of shape {fnp.shape(scalar_or_schedule)}"
        )
    return constant(scalar_or_schedule)
