"""A program as the body of a loop: one Python function with the loop inside of it.

Calling a function for each step would cost a third of what a step on small arrays takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.compile import pieces
from fungrad.compile.lower import Program, run_source
from fungrad.compile.pieces import Line, Listing, define, targets
from fungrad.compile.python_source import PythonSource, python_lines
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
        return Loop, (self._given, self.constants, self.carries)

    def steps(self, xp: ModuleType) -> Steps:
        """Return the loop for arrays of the library `xp`."""
        if settings.get().watched or self.axis_names:
            return self._one_by_one(xp)
        found = self._loops.get(xp)
        if found is None:
            listing = python_lines(self.expr, self.donated, self.borrowed, xp is np)
            long = len(listing.body) > pieces.PIECE
            found = self._one_by_one(xp) if long else run_source(self._loop_source(listing), xp)
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

    def _loop_source(self, listing: Listing) -> PythonSource:
        names, returned = listing.parameters, listing.results
        c, k = self.constants, self.carries
        carries = names[c : c + k]
        stored = [f"_out{i}" for i in range(len(returned) - k)]
        lines = []
        for target, value in (
            (names[:c], "_constants"),
            (carries, "_carries"),
            (stored, "_results"),
        ):
            if target:
                lines.append(Line(f"{targets(target)} = {value}"))
        body = [
            *listing.body,
            *[Line(f"{a}[_step] = {y}") for a, y in zip(stored, returned[k:], strict=True)],
        ]
        changed = [(a, b) for a, b in zip(carries, returned) if a != b]
        if changed:
            changing, values = zip(*changed)
            body.append(Line(f"{', '.join(changing)} = {', '.join(values)}"))
        rows = targets(["_step", *names[c + k :]])
        lines.append(Line(f"for {rows} in zip(range(_n), *_rows):"))
        lines += [x._replace(text=f"    {x.text}") for x in body or [Line("pass")]]
        lines.append(Line(f"return [{', '.join(carries)}]"))
        given = ("_constants", "_carries", "_rows", "_results", "_n")
        return PythonSource((define("program", given, lines),), listing.bindings)
