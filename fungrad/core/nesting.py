"""Choice of the trace that records an operation: the highest among the operands', or an open branch.

A branch is a traced function that may never run, such as the body of a loop. An operation in it is recorded in the branch
even if its operands are constants or tracers of enclosing traces, as it must not run when the branch does not.
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
"""Level of the trace being evaluated, and a level between traces opened before that and since.

A branch that was opened after that trace, but before its evaluation, does not record operations of the evaluation. Branches opened
since do: those of functions called back from it. Threads and tasks started there keep this value for good.
"""


tentative = state_variable("tentative", False)
"""Whether running code may be abandoned and traced instead; an effect ends this, as it would repeat."""


class GivenUp(BaseException):
    """End of a tentative run. It is no `Exception`, so no `try` of the user's catches it."""


def evaluating(trace: Recorder) -> holding[tuple[int, int]]:
    """Context in which a trace is evaluated."""
    return holding(evaluated_now, (trace.level, new_level()))


def passed_over(branch: Recorder) -> bool:
    """Whether the running operation belongs to an evaluation outside of an open branch."""
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

    Branches record it, as they may never run. Traces with values do not: they run their equations anyway.
    """
    trace = without_values()
    if trace is None or not trace.mode.staged or passed_over(trace):
        return None
    return trace


def lifted(value: Any) -> Any:
    """Return an array as a tracer where constants are staged; a tracer is returned as it is."""
    trace = None if type(value) is Tracer else stage()
    return value if trace is None else trace.lift(value)


def leaked(trace: Recorder, operands: Sequence[Any]) -> LeakedTracerError:
    """Return the error for the use of a tracer after its trace was closed."""
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
