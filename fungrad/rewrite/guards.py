"""Masks of demanded elements, into and out of the programs within an equation (`demand.py`).

The pullback of an equation that holds a program, such as a loop, is a program of its own. Where only some elements of a result are
demanded, the inner program takes their mask and selects its result by it (`guarded_expr`); the selection then goes on within. The mask
of the elements of an operand that are demanded within is computed by a program, too (`demanded_expr`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Expr
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType
from fungrad.primitives.demanded import kept
from fungrad.primitives.shaping import full, zeros_like
from fungrad.rewrite.conditions import ALL, Demand
from fungrad.rewrite.demand import Analysis
from fungrad.rewrite.masks import Masks
from fungrad.rewrite.narrowing import Masked
from fungrad.rewrite.selection import booleans_of
from fungrad.rewrite.transpose import run_known


def analysis_of(expr: Expr, linear: Sequence[bool]) -> Analysis:
    """Return the analysis of demands of a program within an equation, which is linear in some inputs."""
    moving = {v for v, flag in zip(expr.inputs, linear, strict=True) if flag}
    for _, inputs, outputs in expr.equations:
        if not moving.isdisjoint(inputs):
            moving.update(outputs)
    return Analysis(expr, moving.__contains__, booleans_of(expr), None, within=True)


def guarded_expr(
    expr: Expr, masked: Sequence[Masked], linear: Sequence[bool], always: bool = False
) -> Expr | None:
    """Return the program with masks as its last inputs, by which it selects its outputs.

    `masked` says for each output: True selects it by a mask, False leaves it, None makes it zero. None if that changes no cotangent of the inputs in `linear`, unless `always`.
    """
    n = len(expr.inputs)

    def guarded(*arguments: Any) -> list[Any]:
        masks = iter(arguments[n:])
        return [
            x if flag is False else kept(next(masks), x, zeros_like(x)) if flag else zeros_like(x)
            for x, flag in zip(evaluate(expr, arguments[:n]), masked, strict=True)
        ]

    shapes = [t.shape for t, flag in zip(expr.output_types, masked, strict=True) if flag]
    masks = [ArrayType(shape, np.dtype(bool)) for shape in shapes]
    program = record_expr("masked", guarded, [*expr.input_types, *masks])
    if always:
        return program
    analysis = analysis_of(program, [*linear, *[False] * len(masks)])
    selection = analysis.selection()
    demands = [demand for demand, _ in selection.fills.values()]
    demands += [demand for guard in selection.guards.values() for demand in guard.demands]
    demands += [analysis.demands.get(v, ALL) for v in program.inputs[:n]]
    return program if _depend(analysis, demands, program.inputs[n:]) else None


def _depend(analysis: Analysis, demands: Sequence[Demand], masks: Sequence[int]) -> bool:
    """Whether demands have conditions that are made of `masks`."""
    pending, seen = {n for demand in demands for n in demand}, set[int]()
    while pending:
        number = pending.pop()
        seen.add(number)
        condition = analysis.conditions[number]
        if condition.variable in masks:
            return True
        pending.update(*(condition.either or ()), [condition.inner] if condition.inner >= 0 else ())
        pending -= seen
    return False


def narrows(analysis: Analysis, position: int) -> bool:
    """Whether only some elements of an input are demanded."""
    demand = analysis.demands.get(analysis.expr.inputs[position])
    return demand is None or bool(analysis.by_booleans(demand))


def demanded(analysis: Analysis, position: int, arguments: Sequence[Any]) -> Any:
    """Return the mask of the demanded elements of an input. None stands for linear arguments."""
    expr = analysis.expr
    v = expr.inputs[position]
    demand = analysis.demands.get(v)
    if not demand:
        return full(ArrayType(expr.types[v].shape, np.dtype(bool)), demand is not None)
    values, _, _ = run_known(expr, arguments)
    return Masks(analysis.selection(), expr, values).mask(demand)


def demanded_expr(expr: Expr, linear: Sequence[bool], position: int) -> Expr:
    """Return the program from the inputs not in `linear` to the mask of an input's demanded elements."""

    def mask(*known: Any) -> list[Any]:
        given = iter(known)
        arguments = [None if flag else next(given) for flag in linear]
        return [demanded(analysis_of(expr, linear), position, arguments)]

    types = [t for t, flag in zip(expr.input_types, linear, strict=True) if not flag]
    return record_expr("demanded", mask, types)
