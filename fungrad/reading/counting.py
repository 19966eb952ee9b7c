"""Loops over ranges whose bounds have no values: as many rounds as the program computes."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.expr import Expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType
from fungrad.programs.loops.carry import leaves_of
from fungrad.programs.loops.counted import Counted
from fungrad.programs.loops.recorded import recorded_counted
from fungrad.reading.bounds import bounded, bounds_of, check_rounds, difference
from fungrad.reading.numbers import WHOLE
from fungrad.reading.reasons import Keeps
from fungrad.reading.rows import Rows
from fungrad.reading.sites import NotRecorded
from fungrad.reading.whole import Bounds

__all__ = ["Span", "recorded_span", "span_of", "span_over"]

Step = Callable[[Any, Any, Any], Any]

LONGEST = 1 << 24
"""Most rounds, if known, of a loop that keeps its residuals."""


class Span(NamedTuple):
    """A range: its start, step and length, and the largest possible length, None if unknown."""

    start: Any
    step: int
    count: Any
    most: int | None
    ends: Bounds | None
    """The least and the greatest of its numbers; None if nobody knows."""

    def number(self, k: Any) -> Any:
        """Return the number of a round."""
        x = k if self.step == 1 else k * self.step
        x = x if type(self.start) is int and not self.start else self.start + x
        return WHOLE(x) if type(x) is Tracer else x

    def backwards(self) -> Span:
        """Return the range that begins with the last number."""
        return self._replace(start=self.start + (self.count - 1) * self.step, step=-self.step)


def span_over(over: Any) -> Span | None:
    """Return the range that a loop goes over, if its bounds have no values; else None."""
    if type(over) is not Rows:
        return None
    if over.kind is builtins.range:
        return span_of(over.parts)
    inner = over.parts[0] if over.kind is builtins.reversed and len(over.parts) == 1 else None
    if type(inner) is Rows and inner.kind is builtins.range:
        span = span_of(inner.parts)
        return None if span is None else span.backwards()
    return None


def span_of(parts: Sequence[Any]) -> Span | None:
    """Return the range of some arguments, which Python's `range` would take; None if it would not."""
    if not 1 <= len(parts) <= 3 or not all(map(_is_whole, parts)):
        return None
    start, stop = (0, parts[0]) if len(parts) == 1 else parts[:2]
    step = parts[2] if len(parts) == 3 else 1
    if type(step) is Tracer or not step:
        return None
    start, stop = [WHOLE(x) if type(x) is Tracer else int(x) for x in (start, stop)]
    step = int(step)
    size, ahead = abs(step), 1 if step > 0 else -1
    between = difference(stop, start) if ahead > 0 else difference(start, stop)
    most = None if between is None else max(-(-between[1] // size), 0)
    if most is not None and most > LONGEST:
        most = None
    ends = _ends(bounds_of(start), bounds_of(stop), ahead)
    if between is not None and between[0] == between[1]:
        return Span(start, step, most, most, ends) if most is not None else None
    rounds = (stop - start if ahead > 0 else start - stop) + (size - 1)
    count = fnp.maximum(rounds if size == 1 else rounds // size, 0)
    return Span(start, step, WHOLE(count), most, ends)


def _ends(start: Bounds | None, stop: Bounds | None, ahead: int) -> Bounds | None:
    if start is None or stop is None:
        return None
    return (start[0], stop[1] - 1) if ahead > 0 else (stop[0] + 1, start[1])


def _is_whole(x: Any) -> bool:
    if type(x) is Tracer:
        return not x.shape and x.dtype.kind in "iu"
    return isinstance(x, int | np.integer)


def recorded_span(label: str, span: Span, step: Step, state: Any, reverse: bool) -> Any:
    """Record a loop over a range; return its last state, or `NotTraced`.

    ``step(state, k, number)`` is given the number of the round, and that of the range. With `reverse` there has to be a reverse
    mode.
    """
    begun, most = leaves_of(state, label), span.most

    def run(carried: Any, k: Any) -> Any:
        number = span.number(WHOLE(k))
        rounds = None if most is None else (0, max(most - 1, 0))
        with bounded((number, span.ends), (k, rounds)):
            return step(carried, k, number)

    def check(
        loop: Counted,
        expr: Expr,
        captured: Sequence[Any],
        carries: slice,
        types: Sequence[ArrayType],
    ) -> None:
        if reverse and most is None and loop.keeps:
            raise Keeps("its derivative keeps numbers of iterations, and nobody knows how many")
        rounds = None if most is None else np.array([0, max(most - 1, 0)])
        check_rounds(expr, captured, carries, [rounds], 1 << 31 if most is None else most)
        if most is None and [t.dtype for t in begun.types] != [t.dtype for t in types]:
            raise NotRecorded(
                "a number changes its type in the first iteration, and there may be none"
            )

    return recorded_counted(label, span.count, most, run, begun, check)
