"""The open trace that records an operation: the operands' highest, or an open branch.

A branch is a function that may not be run, such as the body of a loop. What it computes of tracers of enclosing
traces, or of constants alone, must not be computed for another: it is recorded in the branch as well.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

from fungrad.core.errors import LeakedTracerError, here
from fungrad.core.recorder import Recorder
from fungrad.core.state import holding, state_variable
from fungrad.core.tracer import Tracer, innermost_trace

new_level = itertools.count(1).__next__
"""Return the level of a new trace. Levels are never reused, so a later trace is above earlier ones."""

evaluated_now = state_variable("evaluating", (sys.maxsize, sys.maxsize))
"""Level of the trace being evaluated, and a level between traces opened before and since.

Branches that were opened after that trace, but before its evaluation, do not record what this computes. Others do: those
of functions that are called back from it, and of the threads and tasks that these start, which keep its value for good.
"""


tentative = state_variable("tentative", False)
"""Whether running code may be given up and traced instead; an effect, which would repeat, ends it."""


class GivenUp(BaseException):
    """End of a tentative run. It is no `Exception`, so no `try` of the user's catches it."""


def evaluating(trace: Recorder) -> holding[tuple[int, int]]:
    """Context in which a trace is evaluated."""
    return holding(evaluated_now, (trace.level, new_level()))


def passed_over(branch: Recorder) -> bool:
    """Whether the running computation belongs to an evaluation that an open branch is not part of."""
    evaluated, since = evaluated_now.get()
    return evaluated < branch.level < since


def trace_of(operands: Sequence[Any]) -> Recorder | None:
    """Return the trace in which an operation on `operands` is recorded; None for arrays.

    Raises `LeakedTracerError` if that trace is closed.
    """
    top = None
    for x in operands:
        if type(x) is Tracer and (top is None or x._owner.level > top.level):
            top = x._owner
    if top is not None and not top.open:
        top.raise_leaked(operands)
    return None if top is None else top.recorder()


def without_values() -> Recorder | None:
    """Return the innermost open trace that has no values."""
    trace = innermost_trace()
    while trace is not None and trace.values is not None:
        trace = trace.outer
    return trace


def stage() -> Recorder | None:
    """Return the trace that records computation on constants; None if it runs at once.

    It is recorded within branches, which may never run. Traces with values take no part: they run what they record.
    """
    trace = without_values()
    if trace is None or not trace.staged or passed_over(trace):
        return None
    return trace


def lifted(value: Any) -> Any:
    """Return an array as a tracer, where constants are staged; a tracer stays of its own trace."""
    trace = None if type(value) is Tracer else stage()
    return value if trace is None else trace.lift(value)


def leaked(trace: Recorder, operands: Sequence[Any]) -> LeakedTracerError:
    """Return the error for the use of a tracer of a trace after that was closed."""
    mine = [x for x in operands if type(x) is Tracer and x._owner is trace]
    culprit = min(mine, key=lambda x: x._variable)  # later ones were made just now
    origin = trace.origin(culprit._variable)
    return LeakedTracerError(
        f"at {here()}\na tracer of type {culprit._type} is used after `{trace.label}` has "
        f"returned; {origin}. The traced function must have stored it somewhere outside, such as "
        "a global, an attribute or a list. Return the value from the function instead (with "
        "has_aux=True if it is not the result)."
    )


def is_of_values(trace: Recorder) -> bool:
    """Whether a trace, or the outermost one around it, computes values as its function runs."""
    while trace.outer is not None:
        trace = trace.outer
    return trace.values is not None
