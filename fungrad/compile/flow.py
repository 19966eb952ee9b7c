"""Control flow of primitives that hold programs, for the compiler: by choice, row by row, or while.

A primitive says it by `Primitive.control_flow`. The programs are given as their equations, so that the compiler sees them.

Design: docs/design/21-loops-in-schedules.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.steps import Rows
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive


class Choice(NamedTuple):
    """One of the branches, chosen by the first operand; all of them take the other operands."""

    branches: tuple[Expr, ...]


class Repeat(NamedTuple):
    """A body for each of the rows that a span is of, and after that the next span.

    The operands are as many constants and carries as `counts` says, then arrays whose rows are taken. The results are the
    carries, and arrays whose rows the bodies give. What `before` computes of the constants, the bodies take after them.
    """

    counts: tuple[int, int]
    before: Expr | None
    spans: tuple[tuple[Rows, Expr], ...]


class Until(NamedTuple):
    """A body, until a condition fails, or for `most` rounds, if that is known.

    The operands are as many constants of the condition and of the body as `counts` says, then carries.
    """

    counts: tuple[int, int]
    condition: Expr
    body: Expr
    most: int | None = None


ControlFlow: TypeAlias = Choice | Repeat | Until


def held(flow: ControlFlow) -> list[Expr]:
    """Return the programs that a primitive holds, whose control flow this is."""
    match flow:
        case Choice():
            return list(flow.branches)
        case Until():
            return [flow.condition, flow.body]
        case Repeat():
            bodies = [body for _, body in flow.spans]
            return bodies if flow.before is None else [flow.before, *bodies]


def runs_python(primitive: Primitive) -> bool:
    """Whether it runs Python, perhaps the user's: that may raise, and earlier warnings must precede it."""
    if primitive.effect or not primitive.remembered:
        return True
    return primitive.holds_programs and primitive.uncut.control_flow is None


def hoisted(body: Expr, constants: int) -> tuple[Expr, Expr]:
    """Return the part of the body that depends on constants alone, and the rest, which takes its results.

    Views and broadcasts of them stay in the body, where they cost nothing.
    """
    still = {*body.inputs[:constants], *body.constants}
    made: list[int] = []  # by what is moved out
    rest = []
    for equation, source in body.located():
        primitive, inputs, outputs = equation
        alone = not (primitive.effect or primitive.is_collective) and still.issuperset(inputs)
        if alone:
            still.update(outputs)
        if alone and not primitive.rearranges:
            made += outputs
        else:
            rest.append((equation, source))
    read = {*body.outputs}.union(*[e.inputs for e, _ in rest])
    kept = tuple([v for v in made if v in read])
    before = dataclasses.replace(body, inputs=body.inputs[:constants], outputs=kept, captured=0)
    inputs = (*body.inputs[:constants], *kept, *body.inputs[constants:])
    after = body.with_equations(rest, inputs=inputs, captured=0)
    return without_dead_code(before, effects=False), without_dead_code(after)


def handed_on(xp: Any, arrays: Iterable[Any]) -> list[Any]:
    """Return the carries of a finished loop, in C order."""
    return [xp.ascontiguousarray(x) if np.ndim(x) > 1 else x for x in arrays]
