"""Computing pending equations of a trace with values when Python asks.

Design: docs/design/05-values-on-demand.md.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.backend import as_result, on_host
from fungrad.core.config import settings
from fungrad.core.errors import Source
from fungrad.core.expr import Calling, Expr
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.primitive import Primitive, bind, note_place
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
        if not trace.late.isdisjoint(outputs):
            trace.failed = error
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
    if isinstance(error, Exception) and trace.failed is None:
        with contextlib.suppress(Exception):
            trace.evaluate()
    behind = error
    for _ in range(_CHAIN):
        if behind is None or behind is trace.failed:
            break
        behind = behind.__cause__ or behind.__context__
    return None if behind is not None and behind is trace.failed else trace.failed


_CHAIN = 16
"""How many errors that were raised because of one another are looked at."""


def _run_all(trace: Recording) -> None:
    """Run the pending equations.

    The results of equations inside calls are kept too, so that a transform which puts them in the
    place of the call finds them known.
    """
    if not settings.get().watched:
        _run_plain(trace)
    while (number := len(trace.known)) < len(trace.equations):
        try:
            if trace.equations[number][0].effect and not trace.turn.claim(number):
                time.sleep(0.001)
                continue
            evaluated = _evaluated(trace, number)
        except BaseException:
            trace.turn.release()
            raise
        # Another thread may have been faster.
        trace.known[number : number + 1] = (evaluated,)


def _run_plain(trace: Recording) -> None:
    """Do as `run_pending`, as far as only NumPy's functions have to run, in half the time."""
    values = trace.values
    assert values is not None
    while (number := len(trace.known)) < len(trace.equations):
        primitive, inputs, outputs = trace.equations[number]
        source = trace.sources[number]
        operands = [values[v] for v in inputs]
        if source is None or not _is_plain(primitive, operands):
            return
        if not isinstance(primitive, Calling):
            known = results = _run(primitive, operands, source)
            count = 1
        else:
            program = primitive.callee
            if not all(_computes(e.primitive) for e in program.equations):
                return
            if not on_host([*program.constants.values()]):
                return
            known, results = _run_program(program, operands, source)
            count = len(program.equations)
        for v, x in zip(outputs, results, strict=True):
            values[v] = x
        trace.known[number : number + 1] = ((count, known),)


def _run_program(
    program: Expr, operands: Sequence[Any], of_call: Source
) -> tuple[list[Any], list[Any]]:
    """Run a program of plain primitives on arrays of NumPy; return all that it computes, and its results."""
    own = dict(zip(program.inputs, operands, strict=True))
    own.update(program.constants)
    known: list[Any] = []
    for (primitive, inputs, outputs), source in program.located():
        results = _run(primitive, [own[v] for v in inputs], source or of_call)
        own.update(zip(outputs, results, strict=True))
        known += results
    return known, [own[v] for v in program.outputs]


def _evaluated(trace: Recording, number: int) -> tuple[int, list[Any]]:
    """Run an equation; return its number of equations after inlining, and their results."""
    values = trace.values
    assert values is not None
    watch = Watch() if settings.get().watched else None
    primitive, inputs, outputs = equation = trace.equations[number]
    source = trace.sources[number]
    program = primitive.callee if isinstance(primitive, Calling) else None
    if program is None:
        operands = [values[v] for v in inputs]
        known = list(_saved(primitive, operands, source))
        results = known
        if watch is not None:
            watch.see(0, equation, source, operands, known)
            watch.conclude(outputs)
    else:
        known = []
        own = dict(zip(program.inputs, [values[v] for v in inputs], strict=True))
        own.update(program.constants)
        for n, (step, of_step) in enumerate(program.located()):
            of_step = source if of_step is None else of_step
            operands = [own[v] for v in step.inputs]
            if of_step is not None and _is_plain(step.primitive, operands):
                step_results: Sequence[Any] = _run(step.primitive, operands, of_step)
            else:
                step_results = _saved(step.primitive, operands, of_step)
            own.update(zip(step.outputs, step_results, strict=False))
            known += step_results
            if watch is not None:
                watch.see(n, step, of_step, operands, step_results)
        if watch is not None:
            watch.conclude(program.outputs)
        results = [own[v] for v in program.outputs]
    values.update(zip(outputs, results, strict=False))
    return 1 if program is None else len(program.equations), known


def _computes(primitive: Primitive) -> bool:
    """Whether a primitive does nothing but compute results, and its derivative needs nothing but these."""
    return not (primitive.joint_jvp or primitive.effect or primitive.is_collective)


def _is_plain(primitive: Primitive, operands: Sequence[Any]) -> bool:
    """Whether nothing but computing is to be done, with NumPy."""
    return _computes(primitive) and Tracer not in map(type, operands) and on_host(operands)


def _run(primitive: Primitive, operands: Sequence[Any], source: Source) -> list[Any]:
    """Return the results of a primitive on NumPy arrays: the effect of `bind`, in half the time."""
    # Where a warning is from is found by the names of the variables `primitive` and `source`.
    try:
        results = primitive.impl(np, *operands)
    except Exception as error:
        note_place(error, primitive, source)
        raise
    if primitive.multiple_results:
        return [as_result(x) for x in results]
    return [as_result(results)]


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


def _saved(primitive: Primitive, operands: Sequence[Any], source: Source | None) -> Sequence[Any]:
    """Return the results of a primitive as a sequence, followed by the residuals of its derivative."""
    return primitive.as_sequence(bind(primitive.saving or primitive, operands, source))
