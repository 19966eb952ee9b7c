"""Learning rates and the like as functions of the number of steps so far."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.optim.base import Number, Schedule
from fungrad.optim.glossary import public, public_like


@public
def constant_schedule(value: Number) -> Schedule:
    """Return the same value in every step.

    Parameters
    ----------
    value
        The value.

    Examples
    --------
    >>> optim.constant_schedule(0.1)(7)
    0.1
    """

    def schedule(count: Any) -> Any:
        return value

    return schedule


@public
def polynomial_schedule(
    init_value: Number,
    end_value: Number,
    power: Number,
    transition_steps: int,
    transition_begin: int = 0,
) -> Schedule:
    """Return a value that goes from one to another along a power of the time that is left.

    Parameters
    ----------
    power
        The power; 1 is a straight line.

    Examples
    --------
    >>> schedule = optim.polynomial_schedule(1.0, 0.0, power=2, transition_steps=4)
    >>> [float(schedule(i)) for i in range(6)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """
    if transition_steps <= 0:
        return constant_schedule(init_value)
    begin = max(transition_begin, 0)

    def schedule(count: Any) -> Any:
        left = 1 - fnp.clip(count - begin, 0, transition_steps) / transition_steps
        return (init_value - end_value) * left**power + end_value

    return schedule


@public
def linear_schedule(
    init_value: Number, end_value: Number, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """Return a value that goes from one to another in a straight line.

    Examples
    --------
    >>> schedule = optim.linear_schedule(1.0, 0.0, transition_steps=4)
    >>> [float(schedule(i)) for i in range(6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


def check_scales(name: str, scales: Iterable[Any]) -> None:
    """Complain of factors below 0."""
    for scale in scales:
        if scale < 0:
            raise ValueError(f"{name}: factors must not be negative, got {scale}")


@public
def piecewise_constant_schedule(
    init_value: Number, boundaries_and_scales: Mapping[int, float] | None = None
) -> Schedule:
    """Return a value that is multiplied with a factor at each of some steps.

    Parameters
    ----------
    boundaries_and_scales
        For each step from which on it applies the factor.

    Examples
    --------
    >>> schedule = optim.piecewise_constant_schedule(1.0, {2: 0.5, 4: 0.1})
    >>> [float(schedule(i)) for i in range(6)]
    [1.0, 1.0, 0.5, 0.5, 0.05, 0.05]
    """
    places = sorted((boundaries_and_scales or {}).items())
    check_scales("piecewise_constant_schedule", (scale for _, scale in places))

    def schedule(count: Any) -> Any:
        value = init_value
        for boundary, scale in places:
            value = fnp.where(count < boundary, value, scale * value)
        return value

    return schedule


@public
def exponential_decay(
    init_value: Number,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Number | None = None,
) -> Schedule:
    """Return a value that is multiplied with a factor in each period.

    Parameters
    ----------
    transition_steps
        The number of steps of a period.
    decay_rate
        The factor.
    end_value
        The bound of the value: the least for factors below 1, otherwise the largest.

    Examples
    --------
    >>> schedule = optim.exponential_decay(1.0, transition_steps=2, decay_rate=0.25)
    >>> [float(schedule(i)) for i in range(4)]
    [1.0, 0.5, 0.25, 0.125]
    """
    if transition_steps <= 0 or decay_rate == 0:
        return constant_schedule(init_value)
    begin = max(transition_begin, 0)
    bound = fnp.maximum if decay_rate < 1.0 else fnp.minimum

    def schedule(count: Any) -> Any:
        since = count - begin
        periods = since / transition_steps
        if staircase:
            periods = fnp.floor(periods)
        value = fnp.where(
            since <= 0, init_value, init_value * decay_rate ** fnp.maximum(periods, 0)
        )
        return value if end_value is None else bound(value, end_value)

    return schedule


@public
def cosine_decay_schedule(
    init_value: Number, decay_steps: int, alpha: Number = 0.0, exponent: Number = 1.0
) -> Schedule:
    """Return a value that falls along half a period of the cosine (I. Loshchilov and F. Hutter, 2017).

    Parameters
    ----------
    decay_steps
        The number of steps in which it falls.
    alpha
        The value at the end, as a fraction of the first.
    exponent
        A power of the fraction that is left.

    Examples
    --------
    >>> schedule = optim.cosine_decay_schedule(1.0, decay_steps=2)
    >>> [round(float(schedule(i)), 6) for i in range(4)]
    [1.0, 0.5, 0.0, 0.0]
    """
    if not decay_steps > 0:
        raise ValueError(f"cosine_decay_schedule: decay_steps must be positive, got {decay_steps}")

    def schedule(count: Any) -> Any:
        part = fnp.minimum(count, decay_steps) / decay_steps
        left = 0.5 * (1 + fnp.cos(np.pi * part))
        return init_value * ((1 - alpha) * left**exponent + alpha)

    return schedule


def straight(start: Any, end: Any, part: Any) -> Any:
    """Return the value between two on a straight line."""
    return (end - start) * part + start


def along_cosine(start: Any, end: Any, part: Any) -> Any:
    """Return the value between two along half a period of the cosine."""
    return end + (start - end) / 2.0 * (fnp.cos(np.pi * part) + 1)


@public_like(piecewise_constant_schedule)
def piecewise_interpolate_schedule(
    interpolate_type: str,
    init_value: Number,
    boundaries_and_scales: Mapping[int, float] | None = None,
) -> Schedule:
    """Return a value that goes from one to the next between some steps.

    Parameters
    ----------
    interpolate_type
        "linear" or "cosine".
    boundaries_and_scales
        For each step the factor by which the value is multiplied until then.

    Examples
    --------
    >>> schedule = optim.piecewise_interpolate_schedule("linear", 1.0, {2: 3.0, 4: 0.5})
    >>> [float(schedule(i)) for i in range(6)]
    [1.0, 2.0, 3.0, 2.25, 1.5, 1.5]
    """
    kinds: dict[Any, Callable[..., Any]] = {"linear": straight, "cosine": along_cosine}
    if interpolate_type not in kinds:
        raise ValueError(
            'piecewise_interpolate_schedule: interpolate_type must be "linear" or "cosine", got '
            f"{interpolate_type!r}"
        )
    between = kinds[interpolate_type]
    places = sorted((boundaries_and_scales or {}).items())
    check_scales("piecewise_interpolate_schedule", (scale for _, scale in places))
    bounds = [0, *(bound for bound, _ in places)]

    def schedule(count: Any) -> Any:
        scales = (scale for _, scale in places)
        values: list[Any] = list(itertools.accumulate(scales, operator.mul, initial=init_value))
        value = fnp.where(count >= bounds[-1], values[-1], 0.0)
        pieces = zip(itertools.pairwise(bounds), itertools.pairwise(values))
        for (begin, end), (first, last) in pieces:
            part = (count - begin) / max(end - begin, 1)
            inside = fnp.logical_and(begin <= count, count < end)
            value = fnp.where(inside, between(first, last, part), value)
        return value

    return schedule


def check_cycle(name: str, steps: int) -> None:
    """Complain of a cycle without steps."""
    if steps <= 0:
        raise ValueError(f"{name}: transition_steps must be positive, got {steps}")


@public
def linear_onecycle_schedule(
    transition_steps: int,
    peak_value: Number,
    pct_start: float = 0.3,
    pct_final: float = 0.85,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """Return a value that rises, falls, and falls again to almost nothing (L. Smith and N. Topin, 2019).

    Parameters
    ----------
    pct_start, pct_final
        The fractions of all steps after which it is at the peak, and back at its first value.
    div_factor
        The ratio of the peak and the first value.
    final_div_factor
        The ratio of the first value and the last.

    Examples
    --------
    >>> schedule = optim.linear_onecycle_schedule(10, 1.0, 0.5, 0.8, div_factor=5.0)
    >>> [round(float(schedule(i)), 4) for i in (0, 5, 8, 10)]
    [0.2, 1.0, 0.2, 0.0]
    """
    check_cycle("linear_onecycle_schedule", transition_steps)
    steps = {
        int(pct_start * transition_steps): div_factor,
        int(pct_final * transition_steps): 1.0 / div_factor,
        transition_steps: 1.0 / final_div_factor,
    }
    return piecewise_interpolate_schedule("linear", peak_value / div_factor, steps)


@public_like(linear_onecycle_schedule)
def cosine_onecycle_schedule(
    transition_steps: int,
    peak_value: Number,
    pct_start: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """Return a value that rises and falls along cosines (L. Smith and N. Topin, 2019).

    Parameters
    ----------
    pct_start
        The fraction of all steps after which it is at the peak.

    Examples
    --------
    >>> schedule = optim.cosine_onecycle_schedule(10, 1.0, 0.5, div_factor=5.0)
    >>> [round(float(schedule(i)), 4) for i in (0, 5, 10)]
    [0.2, 1.0, 0.0]
    """
    check_cycle("cosine_onecycle_schedule", transition_steps)
    steps = {
        int(pct_start * transition_steps): div_factor,
        int(transition_steps): 1.0 / (div_factor * final_div_factor),
    }
    return piecewise_interpolate_schedule("cosine", peak_value / div_factor, steps)
