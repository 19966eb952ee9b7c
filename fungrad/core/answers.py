"""Values that Python asks of a trace without values, for the arguments at hand.

Under `jit` arguments have no values, so that one program serves all. Where Python cannot do without one (``if x > 0``), the function can be
traced for the arguments of one call: each question is computed from these, and noted. The program is then right for whatever arguments give
the same answers (`transforms/guards.py`). What nobody needs to know is not answered: programs stay as general as they can be.

Design: docs/design/03-guards-and-lanes.md.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from fungrad.core.errors import Source
from fungrad.core.float_warnings import float_modes, silent_modes
from fungrad.core.frames import users_frame
from fungrad.core.pending import computed
from fungrad.core.reading import tell
from fungrad.core.recorder import SeenAs
from fungrad.core.recording import Recording
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer


class Question(NamedTuple):
    """A value that Python has asked for.

    Attributes
    ----------
    number
        How many equations had been recorded.
    variable
        Which variable was asked for.
    seen_as
        What Python sees of the value: whether it is true, or its whole part; all if None.
    value
        The answer.
    source
        The user's line.
    """

    number: int
    variable: int
    seen_as: SeenAs
    value: Any
    source: Source | None


class Answers:
    """The values of a trace for one call's arguments, and which of them Python has asked for."""

    __slots__ = ("_makers", "_noted", "_scanned", "_values", "questions")

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}
        self._makers: dict[int, int] = {}  # -> the number of the equation
        self._scanned = 0
        self._noted: set[tuple[int, SeenAs]] = set()
        self.questions: list[Question] = []

    def give(self, variable: int, value: Any) -> None:
        """Set the value of an argument."""
        self._values[variable] = value

    def ask(self, trace: Recording, variable: int, seen_as: SeenAs) -> Any:
        """Return the value of a variable, and note the question; None if it does not follow from arguments.

        Nothing warns here: what is computed is computed again when the program runs, and warns then.
        """
        with trace.turn:
            self._scan(trace)
        with holding(float_modes, silent_modes):
            value = self._computed(trace, variable)
        if value is None:
            return None
        if seen_as is not None and (value.size != 1 or value.dtype.kind in "bc"):
            seen_as = None
        if (variable, seen_as) not in self._noted:
            frame = users_frame(sys._getframe(1))
            source = None if frame is None else (frame.f_code, frame.f_lasti)
            number = len(trace.equations)
            self.questions.append(Question(number, variable, seen_as, value, source))
            tell("question", self.questions[-1])
            self._noted.add((variable, seen_as))
        return value

    def _computed(self, trace: Recording, variable: int) -> Any:
        values, pending = self._values, [variable]
        while pending:
            v = pending[-1]
            if v in values:
                pending.pop()
            elif v in trace.constants:
                values[v] = trace.constants[v]
            elif v in self._makers:
                number = self._makers[v]
                _, inputs, outputs = trace.equations[number]
                missing = [w for w in inputs if w not in values]
                pending += missing
                if not missing:
                    results = computed(trace, number, [values[w] for w in inputs])
                    if any(type(x) is Tracer for x in results):
                        return None
                    values.update(zip(outputs, results, strict=True))
            else:  # a tracer of an enclosing trace, or what an effect gives
                return None
        return values[variable]

    def _scan(self, trace: Recording) -> None:
        """Take up the equations recorded since the last time."""
        for number in range(self._scanned, len(trace.equations)):
            primitive, _, outputs = trace.equations[number]
            if not (primitive.effect or primitive.is_collective):
                self._makers.update(dict.fromkeys(outputs, number))
        self._scanned = len(trace.equations)
