"""Notes made while `fungrad.explain` traces a function: functions met, and the fate of their lines."""

from __future__ import annotations

import builtins
import linecache
import sys
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.answers import Question
from fungrad.core.frames import users_frame
from fungrad.core.recorder import SeenAs
from fungrad.core.tracer import Tracer
from fungrad.reading.functions import AS_WRITTEN, IS_READ, Reading, is_left_alone
from fungrad.reading.hooks import LEAST
from fungrad.reading.leaving import WHY, why_not_read
from fungrad.reading.rows import Rows
from fungrad.reading.sites import PATIENCE, Site

__all__ = ["Asked", "Noted", "Span"]

Place = tuple[str, int]
"""A file and a line."""

Span = tuple[int | None, int | None, int | None, int | None]
"""The lines that a piece of a text begins and ends in, and the columns."""


class Asked(NamedTuple):
    """A value that Python asked for.

    Attributes
    ----------
    span
        Where.
    text
        What is written there.
    value, seen_as
        The answer, and what Python sees of it.
    """

    span: Span
    text: str
    value: Any
    seen_as: SeenAs


class Noted:
    """Listener while a function is traced (`core/reading.py`): each method receives one kind of event.

    Attributes
    ----------
    functions
        The functions that were met, by the `id` of their code: each with its code, and why it was not read.
    outcomes
        What became of lines, and why, in the order in which it came up.
    asked
        The values that Python asked for, by lines.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.functions: dict[int, tuple[FunctionType, CodeType, str]] = {}
        self.outcomes: dict[Place, dict[tuple[str, str], None]] = {}
        self.asked: dict[Place, list[Asked]] = {}

    def _note(self, place: Place, outcome: str, reason: str = "") -> None:
        self.outcomes.setdefault(place, {})[outcome, reason] = None

    def function(self, function: FunctionType, reading: Reading) -> None:
        """Note a function, and at the line that calls it that it is not read, if so."""
        code = reading.original or function.__code__
        why = WHY if AS_WRITTEN in function.__dict__ else reading.why
        if why == IS_READ or is_left_alone(function.__module__, code.co_filename):
            return
        self.functions.setdefault(id(code), (function, code, why))
        if why == WHY or why_not_read(code):
            self._at_call(f"calls {function.__name__}", f"not read: {why}")

    def stand_in(self, x: Any) -> None:
        """Note that something stands for a function of a library that is called."""
        name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None) or repr(x)
        module = getattr(x, "__module__", None) or ("numpy" if isinstance(x, np.ufunc) else "")
        home = "" if module in ("", "builtins") else f"{module}."
        self._at_call(f"calls {home}{name}", "traced")

    def choice(self) -> None:
        """Note that both ways of ``x if test else y`` are in the program."""
        self._at_call("both ways", "")

    def jitted(self, label: str) -> None:
        """Note the call of a jitted function, which may have been traced before."""
        self._at_call(f"calls {label}", "a program of its own")

    def _at_call(self, outcome: str, reason: str) -> None:
        frame = users_frame(sys._getframe(1))
        if frame is not None:
            self._note((frame.f_code.co_filename, frame.f_lineno), outcome, reason)

    def question(self, question: Question) -> None:
        """Note a value that Python asks for."""
        if question.source is None or not isinstance(question.source, tuple):
            return
        code, offset = question.source
        if not isinstance(code, CodeType):
            return
        spans: list[Span] = [*code.co_positions()]
        span = spans[offset // 2]
        if span[0] is not None:
            text = _segment(code.co_filename, span)
            asked = Asked(span, text, question.value, question.seen_as)
            self.asked.setdefault((code.co_filename, span[0]), []).append(asked)

    def branch(self, site: Site, recorded: bool, failures: int) -> None:
        """Note the fate of an `if` whose condition is traced."""
        if recorded:
            self._note(_place(site), "both branches")
        else:
            self._note(_place(site), "Python's branch", _failed(site, failures))

    def guarded(self, site: Site) -> None:
        """Note a `for` whose number of rounds Python asks for."""
        self._note(_place(site), "Python's value", _GUARDED)

    def named(self, site: Site, value: Any, text: str) -> None:
        """Note the meaning of a value that has just been asked for at a loop."""
        asked = self.asked.get(_place(site), [])
        if asked and asked[-1].value == value:
            asked[-1] = asked[-1]._replace(text=text)

    def loop(self, site: Site, over: Any, recorded: bool, failures: int, unrolled: int = 0) -> None:
        """Note the fate of a loop; `over` is the iterable of a `for`, None of a `while`.

        Python has run some rounds, which are `unrolled`.
        """
        count = None if over is None else rounds(over)
        if recorded:
            first = "one iteration, then " if unrolled else ""
            rest = "a loop" if count is None else f"a loop of {count - unrolled} iterations"
            self._note(_place(site), first + rest)
            return
        reason = _failed(site, failures)
        if not reason:
            reason = _WHILE if over is None else _not_tried(site, over, count)
        plural = "" if count == 1 else "s"
        self._note(
            _place(site),
            "unrolled" if count is None else f"unrolled, {count} iteration{plural}",
            reason,
        )


_GUARDED = "a derivative is taken, for which a loop needs a bound on its number of iterations"

_WHILE = (
    "nothing in it is traced, or a derivative is taken, for which it needs a number of iterations"
)


def _place(site: Site) -> Place:
    return site.origin.code.co_filename, site.line


def _failed(site: Site, failures: int) -> str:
    """Return why a loop or branch was left to Python; "" if it was not tried now."""
    if site.notes and (site.failures > failures or failures >= PATIENCE):
        return site.notes[-1].partition("\n")[0]
    return ""


def _not_tried(site: Site, over: Any, count: int | None) -> str:
    if count is not None and count < LEAST:
        return "few iterations"
    if type(over) not in (range, list, tuple, np.ndarray, Rows, Tracer):
        return f"it goes over an object of type {type(over).__name__}"
    from fungrad.reading.loops import LEAST_WORK

    if count is not None and (count * site.work < LEAST_WORK or site.is_light(count)):
        return "little work"
    return "what it goes over is no array, or nothing in it is traced"


def rounds(over: Any) -> int | None:
    """Return how many rounds a loop has; None if only going over it tells."""
    counts, waiting = [], [over]
    while waiting:
        x = waiting.pop()
        if type(x) is Rows:
            if x.kind is builtins.range:
                return None
            waiting += x.parts if x.kind is builtins.zip else x.parts[:1]
        elif hasattr(x, "__len__") and getattr(x, "shape", None) != ():
            counts.append(len(x))
        else:
            return None
    return min(counts, default=None)


def _segment(file: str, span: Span) -> str:
    """Return the source text at a place, if it is in one line."""
    line, end, start, stop = span
    if line is None or line != end or start is None or stop is None:
        return ""
    return linecache.getline(file, line).encode()[start:stop].decode(errors="replace")
