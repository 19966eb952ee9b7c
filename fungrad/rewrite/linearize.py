"""Forward mode: run a program and, beside it, its derivative along tangents.

A tangent is None where it is zero, so what does not depend on the inputs that are differentiated costs
nothing. `push_forward` is the one loop. With the tangents in the trace of the primals it gives the program of `jvp`.
With the tangents in a trace of their own, opened later and hence of a higher level, it separates the linear part. The
primal values that this part needs, the residuals, are exactly the captures of its trace.

Design: docs/design/13-rewriting-is-tracing.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fungrad.core.errors import in_derivative
from fungrad.core.expr import Expr
from fungrad.core.location import locate
from fungrad.core.mode import TANGENTS
from fungrad.core.primitive import Primitive, bind
from fungrad.core.trace import Trace, rebind, record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.shaping import full, zeros_like
from fungrad.rewrite.selection import selecting_tangents


def push_forward(
    expr: Expr,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    known: Mapping[int, Sequence[Any]] | None = None,
    tangent_trace: Trace | None = None,
) -> tuple[list[Any], list[Any]]:
    """Run `expr` on `primals` and its derivative on `tangents`; return both lists of outputs.

    Parameters
    ----------
    expr
        A program without calls.
    primals, tangents
        One for each input; None is the zero tangent.
    known
        The results of equations that have been computed already, by the number of the equation.
    tangent_trace
        The trace of the tangents, if it is not that of the primals.
    """
    values: list[Any] = [None] * len(expr.types)
    moving: list[Any] = [None] * len(expr.types)
    for v, constant in expr.constants.items():
        values[v] = constant
    for v, x, t in zip(expr.inputs, primals, tangents, strict=True):
        values[v], moving[v] = x, t
    by = [v for v, t in zip(expr.inputs, tangents, strict=True) if t is not None]
    masks = selecting_tangents(expr, by, values) if by else None
    value_of, tangent_of = values.__getitem__, moving.__getitem__
    for number, ((primitive, inputs, outputs), source) in enumerate(expr.located()):
        ins, ts = list(map(value_of, inputs)), list(map(tangent_of, inputs))
        moves = False
        for t in ts:
            if t is not None:
                moves = primitive.differentiable
                break
        results = known.get(number) if known else None
        locate(in_derivative(source) if moves else source, tangent_trace)
        if moves and primitive.joint_jvp:
            results, t_out = primitive.push(tuple(ts), tuple(ins), results, tangent_trace is None)
        elif results is None:
            results = primitive.as_sequence((bind if ins else rebind)(primitive, ins, source))
        for v, result in zip(outputs, results, strict=False):  # there may be more: what is saved
            values[v] = result
        if not moves:
            continue
        if not primitive.joint_jvp:
            if masks is not None and len(outputs) == 1:
                ts = masks.push(outputs[0], ts)
            t_out = tangents_of(primitive, ts, results, ins)
        for v, t in zip(outputs, t_out, strict=True):
            # What is linear in tangents and made of none is zero, whatever a user's rule has computed it by.
            apart = tangent_trace is not None and (
                type(t) is not Tracer or t._owner is not tangent_trace
            )
            moving[v] = None if apart else t
    return [values[v] for v in expr.outputs], [moving[v] for v in expr.outputs]


def tangents_of(
    primitive: Primitive, tangents: list[Any], results: Sequence[Any], operands: Sequence[Any]
) -> Sequence[Any]:
    """Return the tangents of an equation's results by its `jvp`, from those of the operands."""
    if primitive.linear is not None:
        for i in primitive.linear or range(len(operands)):
            if tangents[i] is None:
                tangents[i] = zeros_like(operands[i])
    out = primitive.from_sequence(results)
    return primitive.as_sequence(primitive.jvp(tuple(tangents), out, *operands))


def or_zeros(tangent: Any, type_: ArrayType) -> Any:
    """Return `tangent`, or zeros of `type_` if it is None."""
    return full(type_, 0) if tangent is None else tangent


def results_to_know(expr: Expr, done: int) -> list[tuple[ArrayType, ...]]:
    """Return the types of the known results of each of the first `done` equations."""
    types = []
    for primitive, inputs, outputs in expr.equations[:done]:
        saving = primitive.saving
        known = outputs if saving is None else ()
        results = () if saving is None else saving.infer(tuple([expr.types[v] for v in inputs]))
        types.append((*results, *[expr.types[v] for v in known]))
    return types


def known_results(
    known: Sequence[tuple[ArrayType, ...]], arguments: Sequence[Any]
) -> dict[int, Sequence[Any]]:
    """Return `arguments`, of the types of `known` one after the other, by equation."""
    by_number, start = {}, 0
    for number, types in enumerate(known):
        by_number[number] = arguments[start : start + len(types)]
        start += len(types)
    return by_number


def jvp_expr(expr: Expr, wrt: Sequence[int], done: int = 0) -> Expr:
    """Return the program of the derivative along tangents, in one pass with the primals.

    It takes the inputs of `expr`, the results of its first `done` equations, and the tangents of the inputs at
    positions `wrt`. It returns the outputs, then the tangents of those of inexact dtype.
    """
    known = results_to_know(expr, done)
    types = [*expr.input_types, *itertools.chain(*known)]
    n = len(expr.inputs)

    def derivative(*arguments: Any) -> list[Any]:
        tangents: list[Any] = [None] * n
        for i, t in zip(wrt, arguments[len(types) :], strict=True):
            tangents[i] = t
        results = known_results(known, arguments[n : len(types)])
        outs, t_outs = push_forward(expr, arguments[:n], tangents, results)
        moved = [
            or_zeros(t, tangent_type(type_))
            for t, type_ in zip(t_outs, expr.output_types, strict=True)
            if type_.inexact
        ]
        return outs + moved

    t_types = [tangent_type(expr.input_types[i]) for i in wrt]
    return record_expr("jvp", derivative, [*types, *t_types])


class Linearized(NamedTuple):
    """A program split in two: `forward`, and the part that is linear in the tangents.

    `forward` takes what `jvp_expr` takes without the tangents and returns the outputs, then the residuals.
    `linear` takes the residuals, then the tangents, and returns the tangents of the outputs at the
    positions `moving`; those of the others are zero.
    """

    forward: Expr
    linear: Expr
    moving: tuple[int, ...]


def split(
    expr: Expr, wrt: Sequence[int], primals: Sequence[Any], known: Mapping[int, Sequence[Any]]
) -> tuple[list[Any], list[Any], Expr, tuple[int, ...]]:
    """Run `expr` forward in the current trace; return outputs, residuals, linear part, `moving`."""
    with Trace("linearize", TANGENTS) as trace:
        tangents: list[Any] = [None] * len(expr.inputs)
        for i in wrt:
            tangents[i] = trace.new_input(tangent_type(expr.input_types[i]))
        outs, t_outs = push_forward(expr, primals, tangents, known, trace)
        moving = tuple(i for i, t in enumerate(t_outs) if t is not None)
        linear = trace.expr_of([t_outs[i] for i in moving])
    residuals = [*trace.captures.values()]
    return outs, residuals, linear, moving


def linearize_expr(expr: Expr, wrt: Sequence[int], done: int = 0) -> Linearized:
    """Split `expr` into its forward program and its derivative at the inputs `wrt`."""
    n = len(expr.inputs)
    known = results_to_know(expr, done)
    parts: list[Any] = []

    def forward(*arguments: Any) -> list[Any]:
        results = known_results(known, arguments[n:])
        outs, residuals, linear, moving = split(expr, wrt, arguments[:n], results)
        parts.extend((linear, moving))
        return outs + residuals

    types = [*expr.input_types, *itertools.chain(*known)]
    program = record_expr("linearize", forward, types)
    return Linearized(program, *parts)
