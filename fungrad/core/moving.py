"""Variables of an open trace that can have a tangent.

The inputs of a trace with values can: it is that of `grad` or one of its kin. Those of other traces can, unless it is
known of what they are made. From there tangents spread over what is recorded.
"""

from __future__ import annotations

import itertools
from typing import Any

from fungrad.core.recording import Recording
from fungrad.core.tracer import Tracer


class Moving:
    """The variables of a trace that can have a tangent, brought up to date when one asks."""

    __slots__ = ("_by_any", "_by_this", "_captures", "_equations", "_inputs")

    def __init__(self) -> None:
        self._by_this: set[int] = set()  # by the inputs of the trace itself
        self._by_any: set[int] = set()  # also by those of enclosing ones
        self._inputs = self._captures = self._equations = 0  # how many have been taken up

    def has(self, trace: Recording, variable: int, by_this: bool) -> bool:
        """Whether a variable can have a tangent, because of the inputs of the trace or of any."""
        self._update(trace)
        return variable in (self._by_this if by_this else self._by_any)

    def _update(self, trace: Recording) -> None:
        types, both = trace.types, (self._by_this, self._by_any)
        inputs = trace.inputs[self._inputs :]
        for marked in both:
            marked.update([v for v in inputs if types[v].inexact and v not in trace.given.still])
        captures = list(itertools.islice(trace.captures.items(), self._captures, None))
        self._by_any.update([v for v, x in captures if may_move(x)])
        equations = trace.equations[self._equations :]
        for primitive, operands, outputs in equations:
            if primitive.differentiable:
                for marked in both:
                    if not marked.isdisjoint(operands):
                        marked.update([v for v in outputs if types[v].inexact])
        self._inputs += len(inputs)
        self._captures += len(captures)
        self._equations += len(equations)


def may_move(x: Any) -> bool:
    """Whether an open transform may differentiate by something that `x` depends on."""
    return type(x) is Tracer and x._owner.has_tangent(x._variable)
