"""Values known in a trace without values: those computed from constants alone.

Under `jit` and `vmap` the arguments have no values, but a table made by ``fnp.arange(3)``, or what is
computed from arrays the function closes over, does. Nothing is computed unless Python asks.

Design: docs/design/05-values-on-demand.md.
"""

from __future__ import annotations

import itertools
from typing import Any

from fungrad.core.pending import computed
from fungrad.core.recording import Recording
from fungrad.core.tracer import Tracer, asked, resolve


class Constants:
    """The values in a trace that do not depend on its inputs."""

    __slots__ = ("_answers", "_captures", "_constants", "_makers", "_outer", "_scanned", "_values")

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}
        self._outer: dict[int, Tracer] = {}  # captured; they may have a value or not
        self._makers: dict[int, int] = {}  # -> the number of the equation
        self._scanned = 0
        self._captures = 0  # how many of the trace's have been taken up
        self._constants = 0
        self._answers = 0

    def value(self, trace: Recording, variable: int, ask: bool = False) -> Any:
        """Return a variable's value; None if it depends on an input. With `ask`, enclosing traces are asked."""
        with trace.turn:
            self._scan(trace)
        values = self._values
        pending = [variable]
        while pending:
            v = pending[-1]
            if v in values:
                pending.pop()
            elif v in self._outer:
                values[v] = (asked if ask else resolve)(self._outer[v])
                if type(values[v]) is Tracer:
                    del values[v]
                    return None
            elif v in self._makers:
                number = self._makers[v]
                _, inputs, outputs = trace.equations[number]
                missing = [w for w in inputs if w not in values]
                pending += missing
                if not missing:
                    results = computed(trace, number, [values[w] for w in inputs])
                    values.update(zip(outputs, results, strict=True))
            else:
                return None
        return values[variable]

    def has(self, trace: Recording, variable: int) -> bool:
        """Whether a variable depends on arrays alone: on no input, outer tracer or question."""
        with trace.turn:
            self._scan(trace)
        pending, seen = [variable], set()
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in self._makers:
                pending += trace.equations[self._makers[v]][1]
            elif v not in self._values:
                return False
        return True

    def _scan(self, trace: Recording) -> None:
        """Take up captures and equations recorded since the last time."""
        values, outer, makers = self._values, self._outer, self._makers
        for v, x in itertools.islice(trace.constants.items(), self._constants, None):
            values[v] = x
        self._constants = len(trace.constants)
        for v, x in itertools.islice(trace.captures.items(), self._captures, None):
            if type(x) is Tracer:
                outer[v] = x
            else:
                values[v] = x
        self._captures = len(trace.captures)
        if trace.given.answers is not None:
            # What Python has been told is the same in all calls of the program.
            for question in itertools.islice(trace.given.answers.questions, self._answers, None):
                if question.seen_as is None:
                    values[question.variable] = question.value
                self._answers += 1
        for number in range(self._scanned, len(trace.equations)):
            primitive, inputs, outputs = trace.equations[number]
            if primitive.effect or primitive.is_collective:
                continue  # it does more, or differs from call to call of what is mapped
            if all(v in values or v in outer or v in makers for v in inputs):
                makers.update(dict.fromkeys(outputs, number))
        self._scanned = len(trace.equations)
