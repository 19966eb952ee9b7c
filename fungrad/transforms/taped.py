"""Derivatives of a trace without a program of their own, where equations hold rules of Python's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from fungrad.compile.evaluated import unshared
from fungrad.core.collection import no_collection
from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.trace import Trace
from fungrad.core.types import tangent_type
from fungrad.primitives.shaping import full
from fungrad.rewrite.linearize import known_results, results_to_know
from fungrad.rewrite.tape import Tape
from fungrad.transforms.call import values_of


def tape_of(trace: Trace, outputs: Sequence[int], by: Sequence[int]) -> Tape:
    """Return the recorded program with its values, to differentiate by the variables `by`."""
    trace.evaluate()
    values, known = trace.values, [results for _, results in trace.known]
    assert values is not None
    for primitive, _, _ in trace.equations:
        if isinstance(primitive, Calling):
            break
    else:
        return Tape(trace, outputs, by, values, known)
    with no_collection():
        expr = inline(trace.expr(outputs))
        types = results_to_know(expr, len(expr.equations))
        known = [*known_results(types, [*itertools.chain(*known)]).values()]
        values = {**values, **expr.constants}
        for equation, results in zip(expr.equations, known, strict=True):
            values.update(zip(equation.outputs, results, strict=False))
    return Tape(expr, expr.outputs, by, values, known)


def gradient_on_tape(trace: Trace, outputs: Sequence[int], skip: int) -> list[Any]:
    """Return the values of the outputs, without the first `skip`, then the gradient of the first."""
    tape = tape_of(trace, outputs, trace.inputs)
    seeds = (
        [full(tangent_type(trace.types[outputs[0]]), 1)] if tape.outputs[0] in tape.moving else ()
    )
    with at_users_lines():
        gradient = tape.pull(*seeds)
    return unshared([*[tape.values[v] for v in tape.outputs[skip:]], *gradient], values_of(trace))


def vjp_on_tape(
    trace: Trace, outputs: Sequence[int], by: Sequence[int], count: int
) -> tuple[list[Any], Callable[..., list[Any]], tuple[int, ...]]:
    """Return the values of the outputs, the pullback to the variables `by`, and which outputs it is of.

    These are positions among the first `count` outputs; others are auxiliary.
    """
    tape = tape_of(trace, outputs, by)
    values = [*tape.values.values()]  # nobody else may write to them

    def pull(*cotangents: Any) -> list[Any]:
        with at_users_lines():
            pulled = tape.pull(*cotangents)
        return unshared(pulled, [*values, *cotangents])

    return unshared([tape.values[v] for v in tape.outputs], values), pull, tape.reached(count)
