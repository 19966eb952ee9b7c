"""A program as the body of a loop that is run by itself, and is no part of a schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from fungrad.compile.emit.python import loop_source
from fungrad.compile.lower import Program, evaluator, run_source
from fungrad.compile.schedule import schedule_of_loop
from fungrad.core.backend import target_of
from fungrad.core.config import settings

Steps = Callable[[Sequence[Any], list[Any], Sequence[Any], Sequence[Any], int], list[Any]]
"""Takes constants, carries, arrays of rows, arrays for the rows of results, and the number of steps."""

SHORT = 128
"""Equations of all steps up to which a loop that may run only once is evaluated, with `PER_STEP` for each step: compiling it
would take longer."""
PER_STEP = 4


class Loop:
    """A program that is run for each row of arrays, handing on carries.

    Its inputs are `constants`, then `carries`, then rows; it returns carries, then rows of results. The memory
    of the carries is the loop's own.
    """

    def __init__(self, body: Program, constants: int, carries: int) -> None:
        self.body = body
        self.constants = constants
        self.carries = carries
        self._ran = False
        self._loops: dict[ModuleType, Steps] = {}

    def steps(self, xp: ModuleType, n: int) -> Steps:
        """Return the loop for arrays of the library `xp`, which has `n` steps."""
        if settings.get().watched or self.body.axis_names:
            return self._one_by_one(self.body.compiled(xp))
        found = self._loops.get(xp)
        if found is None:
            if target_of(xp).takes_scalars and not self._ran and self._work(n) <= SHORT:
                self._ran = True
                return self._one_by_one(evaluator(self.body.expr))
            steps = schedule_of_loop(self.body.expr, self.constants, self.carries, target_of(xp))
            source = loop_source(steps, self.constants, self.carries)
            found = self._loops[xp] = run_source(source, xp)
        return found

    def _work(self, n: int) -> int:
        return n * (PER_STEP + len(self.body.expr.equations))

    def _one_by_one(self, step: Callable[..., list[Any]]) -> Steps:
        k = self.carries

        def run(
            constants: Sequence[Any],
            carries: list[Any],
            rows: Sequence[Any],
            results: Sequence[Any],
            n: int,
        ) -> list[Any]:
            for i in range(n):
                found = step(*constants, *carries, *[x[i] for x in rows])
                carries = found[:k]
                for array, y in zip(results, found[k:], strict=True):
                    array[i] = y
            return carries

        return run
