"""Computing pending equations of a trace with values when Python asks.

Design: docs/design/05-values-on-demand.md.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.backend import on_host
from fungrad.core.config import settings
from fungrad.core.errors import Source
from fungrad.core.expr import Calling
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.primitive import Primitive, bind, compute
from fungrad.core.recording import Recording
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.watch import Watch


def run_pending(trace: Recording) -> None:
    """Run the equations whose results are unknown while their operands are known."""
    try:
        _run_all(trace)
    except Exception as error:
        _, _, outputs = trace.equations[trace.done]
        if not trace.facts.late.isdisjoint(outputs):
            trace.facts.failed = error
        raise


def try_last(trace: Recording) -> None:
    """Run equations up to the one recorded last; forget that one if it fails."""
    try:
        trace.evaluate()
    except Exception:
        with trace.turn:
            if trace.done == len(trace.equations) - 1:
                _, _, outputs = trace.equations.pop()
                trace.sources.pop()
                del trace.types[len(trace.types) - len(outputs) :]
        raise


def earlier_failure(trace: Recording, error: BaseException | None) -> Exception | None:
    """Return the error of postponed equations that should have been raised before `error`, or at all."""
    if isinstance(error, Exception) and trace.facts.failed is None:
        with contextlib.suppress(Exception):
            trace.evaluate()
    behind = error
    for _ in range(_CHAIN):
        if behind is None or behind is trace.facts.failed:
            break
        behind = behind.__cause__ or behind.__context__
    return None if behind is not None and behind is trace.facts.failed else trace.facts.failed


_CHAIN = 16
"""How many errors that were raised because of one another are looked at."""


def _run_all(trace: Recording) -> None:
    """Run the pending equations.

    The results of equations inside calls are kept too, so that a transform which puts them in the
    place of the call finds them known.
    """
    watched = settings.get().watched
    while (number := len(trace.known)) < len(trace.equations):
        try:
            if trace.equations[number][0].effect and not trace.turn.claim(number):
                time.sleep(0.001)
                continue
            evaluated = _evaluated(trace, number, Watch() if watched else None)
        except BaseException:
            trace.turn.release()
            raise
        # Another thread may have been faster.
        trace.known[number : number + 1] = (evaluated,)


def _evaluated(trace: Recording, number: int, watch: Watch | None) -> tuple[int, Sequence[Any]]:
    """Run an equation; return its number of equations after inlining, and their results."""
    values = trace.values
    assert values is not None
    primitive, inputs, outputs = equation = trace.equations[number]
    source = trace.sources[number]
    operands = [values[v] for v in inputs]
    if not isinstance(primitive, Calling):
        count, known = 1, _results(primitive, operands, source)
        results = known
        if watch is not None:
            watch.see(0, equation, source, operands, results)
            watch.conclude(outputs)
    else:
        program = primitive.callee
        count, known = len(program.equations), []
        own = {**dict(zip(program.inputs, operands, strict=True)), **program.constants}
        for n, (step, of_step) in enumerate(program.located()):
            of_step = source if of_step is None else of_step
            operands = [own[v] for v in step.inputs]
            step_results = _results(step.primitive, operands, of_step)
            own.update(zip(step.outputs, step_results, strict=False))
            known += step_results
            if watch is not None:
                watch.see(n, step, of_step, operands, step_results)
        if watch is not None:
            watch.conclude(program.outputs)
        results = [own[v] for v in program.outputs]
    for v, x in zip(outputs, results, strict=False):  # there may be more: what is saved
        values[v] = x
    return count, known


def _results(primitive: Primitive, operands: Sequence[Any], source: Source | None) -> Sequence[Any]:
    """Return the results of a primitive, followed by the residuals of its derivative."""
    if (
        source is not None
        and not (primitive.joint_jvp or primitive.effect or primitive.is_collective)
        and Tracer not in map(type, operands)
        and on_host(operands)
    ):  # what `bind` comes to, in half the time
        return primitive.as_sequence(compute(primitive, source, np, operands))
    return primitive.as_sequence(bind(primitive.saving or primitive, operands, source))


def settle(trace: Recording, called_with: int) -> None:
    """Take the first operands of the last equation for its results, once all others are evaluated.

    So many of the operands, the last, are those that the user knows of.
    """
    values = trace.values
    assert values is not None
    _, inputs, outputs = equation = trace.equations[-1]
    operands = [values[v] for v in inputs]
    results = operands[: len(outputs)]
    values.update(zip(outputs, results, strict=True))
    if settings.get().watched:
        watch = Watch()
        watch.see(0, equation, trace.sources[-1], operands[len(operands) - called_with :], results)
        watch.conclude(outputs)
    trace.known.append((1, results))


def computed(trace: Recording, number: int, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the results of an equation for these operands: computed now, and not recorded."""
    primitive = trace.equations[number][0]
    with holding(current_trace, None), at_users_lines():
        return primitive.as_sequence(bind(primitive, operands, trace.sources[number]))
