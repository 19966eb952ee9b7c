"""Running an `Expr` equation by equation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from fungrad.core.axes import home
from fungrad.core.backend import on_host
from fungrad.core.errors import InDerivative, in_derivative
from fungrad.core.expr import Calling, Equation, Expr
from fungrad.core.nesting import trace_of
from fungrad.core.primitive import bind, compute, run
from fungrad.core.tracer import Tracer
from fungrad.core.watch import Watch


def last_uses(expr: Expr) -> list[int]:
    """Return for each variable the index of the last equation that reads it.

    It is the number of equations for outputs, and -1 for what is never read.
    """
    last = [-1] * len(expr.types)
    for number, (_, inputs, _outputs) in enumerate(expr.equations):
        for v in inputs:
            last[v] = number
    for v in expr.outputs:
        last[v] = len(expr.equations)
    return last


def evaluate(expr: Expr, arguments: Iterable[Any], watch: Watch | None = None) -> list[Any]:
    """Run `expr` on arrays, or record it on tracers; return the outputs.

    Values are dropped at their last use, so the peak memory is that of the values alive at once.
    What each equation gives is shown to `watch`.

    Examples
    --------
    >>> import fungrad as fg
    >>> evaluate(fg.make_expr(lambda x: x + 1)(2.0), [3.0])
    [np.float64(4.0)]
    """
    values: list[Any] = [None] * len(expr.types)
    arguments = list(arguments)
    trace = trace_of(arguments)
    given = [*expr.constants.items(), *zip(expr.inputs, arguments, strict=True)]
    staged = trace is not None and trace.mode.staged
    for v, x in given:
        # What is made of scalars alone is recorded too: run at once, a broadcast would be an array. Within a
        # branch, so is what is made of constants: it may never run.
        scalar = trace is not None and (
            isinstance(x, np.generic) or (type(x) is np.ndarray and x.ndim == 0)
        )
        values[v] = trace.lift(x) if trace is not None and (scalar or staged) else x
    last = last_uses(expr)
    # What a derivative rule runs, such as the user's own backward rule, is part of the derivative.
    around = None if trace is None else trace.source
    around = around if isinstance(around, InDerivative) else None
    value_of = values.__getitem__
    on_numpy = trace is None and on_host([x for _, x in given])
    for number, (equation, source) in enumerate(expr.located()):
        if around is not None:
            source = in_derivative(source, around.backward)
        primitive, inputs, outputs = equation
        operands = list(map(value_of, inputs))
        if on_numpy and source is not None and not (primitive.effect or primitive.axis_names):
            results = compute(primitive, source, np, operands)  # what `run` comes to
            if not primitive.multiple_results:
                if type(results) is Tracer:
                    on_numpy = False
            elif Tracer in map(type, results):
                on_numpy = False
        elif trace is None and not (primitive.effect or primitive.axis_names):
            results = run(primitive, operands, source)
        elif inputs or trace is None or primitive.effect:
            results = bind(primitive, operands, source)
            on_numpy = False  # it may be of an enclosing trace, as an index along a mapped axis is
        else:
            at = home(primitive.axis_names, trace) or trace
            results = at.record(primitive, (), source)
        if not primitive.multiple_results:
            if last[v := outputs[0]] >= 0:
                values[v] = results
        else:
            for v, result in zip(outputs, results, strict=True):
                if last[v] >= 0:
                    values[v] = result
        if watch is not None:
            watch.see(number, equation, source, operands, primitive.as_sequence(results))
        for v in inputs:
            if last[v] == number:
                values[v] = None
    return [values[v] for v in expr.outputs]


def inline(expr: Expr, whole_from: int | None = None) -> Expr:
    """Return `expr` with every call replaced by the callee's equations.

    From the equation `whole_from` on, calls that are `whole` stay. Equations of a callee of which the place is not known are at
    that of the call.

    Examples
    --------
    >>> import fungrad as fg
    >>> inline(fg.make_expr(fg.jit(lambda x: x + 1))(2.0))
    { lambda a:float64[]* .
      b:float64[]* = add a 1.0
      return (b,) }
    """
    calls = {
        number
        for number, (primitive, _, _) in enumerate(expr.equations)
        if isinstance(primitive, Calling)
        and not (primitive.whole and whole_from is not None and number >= whole_from)
    }
    if not calls:
        return expr
    types = list(expr.types)
    constants = dict(expr.constants)
    names: dict[int, int] = {}  # results of calls -> the variables that hold them now
    equations, sources = [], []
    for number, ((primitive, ins, outputs), source) in enumerate(expr.located()):
        inputs = tuple([names.get(v, v) for v in ins])
        if number not in calls:
            equations.append(Equation(primitive, inputs, outputs))
            sources.append(source)
            continue
        called = primitive.callee  # type: ignore[attr-defined]
        own = dict(zip(called.inputs, inputs, strict=True))
        for v, type_ in enumerate(called.types):
            if v not in own:
                own[v] = len(types)
                types.append(type_)
        constants |= {own[v]: value for v, value in called.constants.items()}
        for equation, place in called.located():
            equations.append(
                Equation(
                    equation.primitive,
                    tuple([own[v] for v in equation.inputs]),
                    tuple([own[v] for v in equation.outputs]),
                )
            )
            sources.append(source if place is None else place)
        names.update(zip(outputs, [own[v] for v in called.outputs], strict=True))
    return dataclasses.replace(
        expr,
        equations=tuple(equations),
        outputs=tuple([names.get(v, v) for v in expr.outputs]),
        types=types,
        constants=constants,
        sources=tuple(sources),
    )
