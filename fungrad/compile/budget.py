"""Limits of compiling: the time that it spares must repay it, within a share of the process's time."""

from __future__ import annotations

import os
import time

FIRST = 0.03
"""About how many seconds of a processor compiling takes, of however short a program, and"""
PER_LINE = 7e-4
"""how many more it takes for each line of the program."""
LOADING = 0.1
"""Seconds more for the first of a process: importing the compiler, making or reading the runtime."""
LOCKED = 0.6
"""About how much of that it holds Python's lock, for which the program waits."""
PATIENCE, PATIENCE_OF_JIT = 1.0, 0.1
"""Least ratio of NumPy's time to compile time; of jitted programs, which are likely to go on, less."""
SHARE, SHARE_OF_ONE = 0.5, 0.25
"""How much of the time that the process has run compiling may take; where there is but one processor."""
AT_ONCE = 0.25
"""Seconds that it may take beyond that."""
SHARE_OF_LOCK = 0.01
"""Share of the processor time used for which unjitted programs' compilation may hold the lock."""
CLEAR, MUCH = 4.0, 0.3
"""Where kernels would have spared so many times the compile time, and so much of all, it may."""
SLOWEST, FASTEST = 8.0, 0.125
"""How many times longer, and shorter, than estimated it is taken to last, at most."""
MEMORY = 0.25
"""How much the last program counts in how long compiling is taken to last."""


class Budget:
    """Time that compiling has taken, and may take.

    Threads use it without a lock: what one of them adds may be lost, and is but an estimate.
    """

    def __init__(self) -> None:
        self.limited = True
        self.started = time.perf_counter()
        self.spent = 0.0
        self.locked = 0.0
        """Seconds of `spent` in which Python's lock was held."""
        self.loaded = False
        """Whether the compiler has been imported for an earlier program."""
        self.pace = 1.0
        """How many times longer than estimated compiling has lasted lately."""
        alone = (os.cpu_count() or 1) == 1
        if hasattr(os, "sched_getaffinity"):
            alone = len(os.sched_getaffinity(0)) == 1
        self.share = SHARE_OF_ONE if alone else SHARE

    def cost(self, lines: int) -> float:
        """Return about how many seconds it takes to compile a program of so many lines."""
        return self.pace * (FIRST + PER_LINE * lines) + self._loading

    def is_repaid(self, seconds: float, lines: int, jitted: bool = True) -> bool:
        """Whether a program is worth compiling, for which kernels would have spared `seconds` so far."""
        return not self.limited or seconds >= self.wait(lines, jitted)

    def wait(self, lines: int, jitted: bool = True) -> float:
        """Return after how many seconds of NumPy's functions a program is worth compiling."""
        return (PATIENCE_OF_JIT if jitted else PATIENCE) * self.cost(lines)

    def allows(self, seconds: float, jitted: bool = True, spared: float = 0.0) -> bool:
        """Whether compiling a program may take so many more seconds now.

        It matters whether somebody has `jitted` it, and how many seconds kernels would have `spared` so far.
        """
        if not self.limited:
            return True
        run = time.perf_counter() - self.started
        clear = spared > max(CLEAR * seconds, MUCH * run)
        locked = self.locked + LOCKED * seconds
        if not (jitted or clear) and locked > SHARE_OF_LOCK * time.process_time():
            return False  # the clock alone would say more on a busy machine
        return self.spent + seconds <= AT_ONCE + self.share * run

    def took(self, seconds: float, lines: int, locked: float = 0.0) -> None:
        """Note how long compiling a program has taken, and for how long of that Python's lock was held."""
        ratio = (seconds - self._loading) / (FIRST + PER_LINE * lines)
        self.spent += seconds
        self.locked += locked
        self.loaded = True
        self.pace += MEMORY * (min(max(ratio, FASTEST), SLOWEST) - self.pace)

    def looked(self, seconds: float) -> None:
        """Note how long it took to find out that a program is on disk, or not worth compiling."""
        self.spent += seconds
        self.locked += seconds

    @property
    def _loading(self) -> float:
        return 0.0 if self.loaded else LOADING


BUDGET = Budget()
