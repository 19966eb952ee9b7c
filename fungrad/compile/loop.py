"""A program as the body of a loop: one Python function with the loop inside of it.

Calling a function for each step would cost a third of what a step on small arrays takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from fungrad.compile.lower import CHUNK, Program, run_source
from fungrad.compile.python_source import PythonSource
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
        if settings.get().watched or self.axis_names or len(self.expr.equations) > CHUNK:
            return self._one_by_one(xp)
        found = self._loops.get(xp)
        if found is None:
            found = self._loops[xp] = run_source(self._loop_source(), xp)
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

    def _loop_source(self) -> PythonSource:
        source = self.source
        c, k = self.constants, self.carries
        names, returned = source.parameters, source.results
        carries = names[c : c + k]
        stored = [f"_out{i}" for i in range(len(returned) - k)]
        head = "def program(_constants, _carries, _rows, _results, _n):"
        lines: list[tuple[str, Any]] = [(head, None)]
        for target, given in (
            (names[:c], "_constants"),
            (carries, "_carries"),
            (stored, "_results"),
        ):
            if target:
                lines.append((f"    {_tuple(target)} = {given}", None))
        lines.append(
            (f"    for {_tuple(['_step', *names[c + k :]])} in zip(range(_n), *_rows):", None)
        )
        body = source.text.splitlines()[1:-1]  # without the head and the return
        lines += [
            (f"    {line}", origin) for line, origin in zip(body, source.lines[1:], strict=False)
        ]
        lines += [
            (f"        {a}[_step] = {y}", None) for a, y in zip(stored, returned[k:], strict=True)
        ]
        changed = [(a, b) for a, b in zip(carries, returned) if a != b]
        if changed:
            targets, values = zip(*changed)
            lines.append((f"        {', '.join(targets)} = {', '.join(values)}", None))
        elif not (body or stored):
            lines.append(("        pass", None))
        lines.append((f"    return [{', '.join(carries)}]", None))
        text = "\n".join(line for line, _ in lines) + "\n"
        return PythonSource(text, source.bindings, [x for _, x in lines], (), ())


def _tuple(names: Sequence[str]) -> str:
    return ", ".join(names) + ("," if len(names) == 1 else "")
