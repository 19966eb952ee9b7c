"""How calls are timed: all contenders in turn, again and again, and the median of each.

One contender's repeats are spread over the whole measurement (A B C A B C ...), so that a noisy
neighbour or a changing clock rate falls on all of them alike and leaves the ratios alone.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.workload import Call
from fungrad.compile.background import BACKGROUND
from fungrad.compile.tiers import CALLS
from fungrad.transforms.gradient import PATIENCE


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes
    ----------
    sample_seconds : float
        A sample repeats its call until it lasts about this long.
    rounds : int
        How many samples each contender gives, at most.
    budget_seconds : float
        Start no further round after this time ...
    least_rounds : int
        ... but make at least this many.
    """

    sample_seconds: float = 0.02
    rounds: int = 41
    budget_seconds: float = 30.0
    least_rounds: int = 3


QUICK = Effort(sample_seconds=0.001, rounds=5, budget_seconds=2.0, least_rounds=1)
"""Enough to see that everything runs; not enough to quote."""


@dataclass(frozen=True)
class Timing:
    """Seconds per call of one contender.

    Attributes
    ----------
    samples : tuple of float
        Seconds per call, one number for each round.
    loops : int
        Calls that each sample is the mean of.
    first : float or None
        What the very first call took: tracing, compiling and filling caches included.
    """

    samples: tuple[float, ...]
    loops: int
    first: float | None

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)

    @property
    def spread(self) -> float:
        """The distance between the quartiles, relative to the median."""
        if len(self.samples) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return (high - low) / self.median


def sample(call: Call, loops: int, self_timed: bool) -> float:
    """Return the mean seconds of `loops` calls.

    Garbage collection stays on: who leaves cyclic garbage behind pays for it.
    """
    if self_timed:
        return sum(call() for _ in range(loops)) / loops
    repeat = range(loops)
    start = time.perf_counter()
    for _ in repeat:
        call()
    return (time.perf_counter() - start) / loops


def calibrate(call: Call, sample_seconds: float) -> int:
    """Return how many calls last about `sample_seconds`: 1, 2, 5, 10, 20, 50, ...

    The better of two trials counts, lest one interruption make all samples too short.
    """
    scale = 1
    while True:
        for step in (1, 2, 5):
            loops = scale * step
            trial = sample(call, loops, self_timed=False)
            if trial < 1.0:
                trial = min(trial, sample(call, loops, self_timed=False))
            if trial * loops >= sample_seconds:
                return loops
        scale *= 10


SETTLING = 0.5, 0.25
"""Seconds of calls after which fungrad compiles what it finds worth it; and again, what has become so meanwhile."""


def settle(calls: Mapping[str, Call]) -> None:
    """Have fungrad's programs compiled, which it does in the background after some calls: how many a sample has is decided after that."""
    for seconds in SETTLING:
        for name, call in calls.items():
            if name.startswith("fungrad"):
                call_for(call, seconds)
        BACKGROUND.wait()


def call_for(call: Call, seconds: float) -> None:
    """Call until `seconds` are over, and no fewer times than it takes to have a program compiled."""
    end, count = time.perf_counter() + seconds, 0
    while count < CALLS + PATIENCE or time.perf_counter() < end:
        call()
        count += 1


def time_interleaved(
    calls: Mapping[str, Call],
    effort: Effort,
    *,
    first: Mapping[str, float] | None = None,
    self_timed: bool = False,
    rest: float = 0.0,
) -> dict[str, Timing]:
    """Time all calls in turn.

    Parameters
    ----------
    calls : mapping of str to callable
        What to time, by name. Each has been called before.
    effort : Effort
        How long to measure.
    first : mapping of str to float, optional
        What the first call took, to be kept with the result.
    self_timed : bool
        The callables return the seconds they took.
    rest : float
        Seconds before each sample, for the threads of others to go to sleep.

    Returns
    -------
    dict of str to Timing
    """
    settle(calls)
    loops = {
        name: 1 if self_timed else calibrate(call, effort.sample_seconds)
        for name, call in calls.items()
    }
    samples: dict[str, list[float]] = {name: [] for name in calls}
    start = time.perf_counter()
    for done in range(effort.rounds):
        late = time.perf_counter() - start > effort.budget_seconds
        if late and done >= effort.least_rounds:
            break
        gc.collect()
        for name, call in calls.items():
            time.sleep(rest)
            samples[name].append(sample(call, loops[name], self_timed))
    return {
        name: Timing(tuple(samples[name]), loops[name], (first or {}).get(name)) for name in calls
    }
