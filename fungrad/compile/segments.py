"""Programs with collectives across processes, cut into segments between them.

Each segment is compiled as a program of its own. Its kernels are ready at another call in each process, and a segment whose kernel
would have to warn is computed once more. A message must be sent once, and in its turn, so collectives are not in the segments.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import ModuleType
from typing import Any, NamedTuple

from fungrad.compile.emit.python import python_source
from fungrad.compile.evaluated import unshared
from fungrad.compile.passes.overlap import overlapped
from fungrad.compile.pipeline import Way, scheduled
from fungrad.core.expr import Expr
from fungrad.primitives.ranks import Wait
from fungrad.primitives.shaping import Broadcast


class Step(NamedTuple):
    """A part of a program as a function `run`, its inputs and outputs, and variables dead afterwards."""

    run: Any
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dying: frozenset[int]


def in_segments(
    expr: Expr,
    xp: ModuleType,
    program: Callable[..., Callable[..., list[Any]]],
    run_source: Callable[..., Callable[..., list[Any]]],
) -> Callable[..., list[Any]]:
    """Return the function that runs a program segment by segment, on arrays of `xp`.

    `program` and `run_source` are functions of `lower.py`, which imports this module.
    """

    def compiled(part: Expr) -> Callable[..., list[Any]]:
        if part.equations[0].primitive.is_collective:  # a loop, say, that Python runs
            return run_source(python_source(scheduled(part, way=Way.MESSAGES)), xp)
        return program(part, at_once=True, jitted=True)

    expr = overlapped(expr)
    steps = [s._replace(run=compiled(s.run)) for s in _steps(expr)]
    constants = [*expr.constants.values()]

    def run_steps(*arguments: Any) -> list[Any]:
        values = {**expr.constants, **dict(zip(expr.inputs, arguments, strict=True))}
        for step in steps:
            results = step.run(*[values[v] for v in step.inputs])
            values.update(zip(step.outputs, results, strict=True))
            for v in step.dying:
                values.pop(v, None)
        return unshared([values[v] for v in expr.outputs], [*arguments, *constants])

    return run_steps


def _parts(expr: Expr) -> list[list[int]]:
    """Return the numbers of the equations of each part: one collective, or those between two."""
    order: list[list[int]] = []
    group: list[int] = []
    made: set[int] = set()  # by the group
    for number, (primitive, inputs, outputs) in enumerate(expr.equations):
        if not primitive.is_collective:
            group.append(number)
            made.update(outputs)
            continue
        if group and (isinstance(primitive, Wait) or not made.isdisjoint(inputs)):
            order.append(group)
            group, made = [], set()
        order.append([number])
    return [*order, group] if group else order


def _steps(expr: Expr) -> list[Step]:
    """Return the parts of a program, each as an expression that is still to be compiled.

    Each part broadcasts for itself: an array between two of them would be as large as what it is broadcast to.
    """
    steps: list[Step] = []
    spread = {
        e.outputs[0]: n for n, e in enumerate(expr.equations) if isinstance(e.primitive, Broadcast)
    }
    later = {*expr.outputs}  # what is read after the part
    for numbers in reversed(_parts(expr)):
        if not expr.equations[numbers[0]].primitive.is_collective:
            numbers = _needed(expr, numbers, spread, later)
        if not numbers:
            continue
        equations = [expr.equations[n] for n in numbers]
        made = {v for e in equations for v in e.outputs}
        read = {v for e in equations for v in e.inputs} - made
        inputs = tuple(sorted(read - expr.constants.keys()))
        outputs = tuple(sorted(made & later))
        part = dataclasses.replace(
            expr,
            inputs=inputs,
            equations=tuple(equations),
            sources=tuple([expr.sources[n] for n in numbers]),
            constants={v: c for v, c in expr.constants.items() if v in read},
            outputs=outputs,
            captured=0,
        )
        steps.append(Step(part, inputs, outputs, frozenset((read | {*outputs}) - later)))
        later |= read
    return steps[::-1]


def _needed(
    expr: Expr, numbers: Sequence[int], spread: Mapping[int, int], later: AbstractSet[int]
) -> list[int]:
    """Return the numbers of a part's equations, with broadcasts that they read, without unread ones."""
    made = [(n, expr.equations[n].outputs) for n in numbers]
    left = [n for n, vs in made if spread.keys().isdisjoint(vs) or not later.isdisjoint(vs)]
    found = {*left}
    while left:
        read = {spread[v] for v in expr.equations[left.pop()].inputs if v in spread}
        left += read - found
        found |= read
    return sorted(found)
