"""A program as the body of a loop: one Python function with the loop inside of it.

Calling a function for each step would cost a third of what a step on small arrays takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from fungrad.compile.emit import pieces
from fungrad.compile.emit.python import loop_source, python_lines
from fungrad.compile.lower import Program, run_source
from fungrad.core.config import settings
from fungrad.core.expr import Expr

Steps = Callable[[Sequence[Any], list[Any], Sequence[Any], Sequence[Any], int], list[Any]]
"""Takes constants, carries, arrays of rows, arrays for the rows of results, and the number of steps."""


class Loop(Program):
    """A program that is run for each row of arrays, handing on carries.

    Its inputs are `constants`, then `carries`, then rows; it returns carries, then rows of results. The memory
    of the carries is the loop's own.
    """

    def __init__(self, expr: Expr, constants: int, carries: int) -> None:
        donated = range(constants, constants + carries)
        results = range(carries, len(expr.outputs))
        super().__init__(expr, donated, at_once=True, borrowed=results)
        self.constants = constants
        self.carries = carries
        self._loops: dict[ModuleType, Steps] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Loop, (self.given, self.constants, self.carries)

    def steps(self, xp: ModuleType) -> Steps:
        """Return the loop for arrays of the library `xp`."""
        if settings.get().watched or self.axis_names:
            return self._one_by_one(xp)
        found = self._loops.get(xp)
        if found is None:
            listing = python_lines(self.scheduled(xp))
            if len(listing.body) > pieces.PIECE:
                found = self._one_by_one(xp)
            else:
                found = run_source(loop_source(listing, self.constants, self.carries), xp)
            self._loops[xp] = found
        return found

    def _one_by_one(self, xp: ModuleType) -> Steps:
        step, k = self.compiled(xp), self.carries

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
