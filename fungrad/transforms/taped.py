"""Derivatives of a trace without a program of their own, where equations hold rules of Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fungrad.core.collection import no_collection
from fungrad.core.evaluate import inline
from fungrad.core.expr import Expr
from fungrad.core.trace import Trace
from fungrad.rewrite.tape import Tape
from fungrad.transforms.call import values_of


def tape_of(trace: Trace, outputs: Sequence[int], wrt: Callable[[Expr], Sequence[int]]) -> Tape:
    """Return the recorded program with its values; `wrt` gives the inputs to differentiate by."""
    if trace.done < len(trace.equations):
        trace.evaluate()
    with no_collection():
        expr = inline(trace.expr(outputs))
        return Tape(expr, wrt(expr), values_of(trace))
