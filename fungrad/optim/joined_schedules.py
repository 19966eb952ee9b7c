"""Schedules one after another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import fungrad.numpy as fnp
from fungrad.optim.base import Number, Schedule
from fungrad.optim.glossary import public, public_like
from fungrad.optim.single_schedules import cosine_decay_schedule, exponential_decay, linear_schedule


@public
def join_schedules(
    schedules: Sequence[Callable[[Any], Number]], boundaries: Sequence[int]
) -> Schedule:
    """Return one schedule after another, each beginning to count anew.

    Parameters
    ----------
    schedules
        The schedules.
    boundaries
        The steps from which on the second, the third, ... holds.

    Examples
    --------
    >>> schedule = optim.join_schedules([lambda i: 0.0, lambda i: 1.0 + i], [2])
    >>> [float(schedule(i)) for i in range(4)]
    [0.0, 0.0, 1.0, 2.0]
    """

    def joined(count: Any) -> Any:
        value = schedules[0](count)
        for boundary, schedule in zip(boundaries, schedules[1:]):
            value = fnp.where(count < boundary, value, schedule(count - boundary))
        return value

    return joined


@public
def warmup_constant_schedule(init_value: Number, peak_value: Number, warmup_steps: int) -> Schedule:
    """Return a value that rises in a straight line and stays.

    Examples
    --------
    >>> schedule = optim.warmup_constant_schedule(0.0, 1.0, warmup_steps=2)
    >>> [float(schedule(i)) for i in range(4)]
    [0.0, 0.5, 1.0, 1.0]
    """
    return linear_schedule(init_value, peak_value, warmup_steps)


@public_like(cosine_decay_schedule)
def warmup_cosine_decay_schedule(
    init_value: Number,
    peak_value: Number,
    warmup_steps: int,
    decay_steps: int,
    end_value: Number = 0.0,
    exponent: Number = 1.0,
) -> Schedule:
    """Return a value that rises in a straight line and falls along a cosine.

    Parameters
    ----------
    decay_steps
        The number of all steps, those in which it rises included.

    Examples
    --------
    >>> schedule = optim.warmup_cosine_decay_schedule(0.0, 1.0, 2, 4)
    >>> [round(float(schedule(i)), 6) for i in range(5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    alpha = 0.0 if peak_value == 0.0 else end_value / peak_value
    rise = linear_schedule(init_value, peak_value, warmup_steps)
    fall = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent)
    return join_schedules([rise, fall], [warmup_steps])


@public_like(exponential_decay)
def warmup_exponential_decay_schedule(
    init_value: Number,
    peak_value: Number,
    warmup_steps: int,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Number | None = None,
) -> Schedule:
    """Return a value that rises in a straight line and falls by a factor in each period.

    Examples
    --------
    >>> schedule = optim.warmup_exponential_decay_schedule(0.0, 1.0, 2, 1, 0.5)
    >>> [float(schedule(i)) for i in range(5)]
    [0.0, 0.5, 1.0, 0.5, 0.25]
    """
    rise = linear_schedule(init_value, peak_value, warmup_steps)
    fall = exponential_decay(
        peak_value, transition_steps, decay_rate, transition_begin, staircase, end_value
    )
    return join_schedules([rise, fall], [warmup_steps])


@public
def sgdr_schedule(cosine_kwargs: Iterable[Mapping[str, Any]]) -> Schedule:
    """Return a value that rises and falls along a cosine repeatedly (I. Loshchilov, F. Hutter, 2017).

    Parameters
    ----------
    cosine_kwargs
        The arguments of `warmup_cosine_decay_schedule` for each time.

    Examples
    --------
    >>> once = dict(init_value=0.0, peak_value=1.0, warmup_steps=1, decay_steps=2)
    >>> schedule = optim.sgdr_schedule([once, once])
    >>> [float(schedule(i)) for i in range(4)]
    [0.0, 1.0, 0.0, 1.0]
    """
    cycles = list(cosine_kwargs)
    ends = list(itertools.accumulate(cycle["decay_steps"] for cycle in cycles))
    return join_schedules([warmup_cosine_decay_schedule(**cycle) for cycle in cycles], ends[:-1])
