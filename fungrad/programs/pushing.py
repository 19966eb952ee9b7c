"""Forward mode of primitives that hold programs: results with tangents or with Taylor series."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from fungrad.compile.lower import Program
from fungrad.core.evaluate import evaluate
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.programs.analysis import placed, rearranged
from fungrad.programs.closing import OfPrograms, Values, memoized
from fungrad.programs.effects import rerunnable
from fungrad.rewrite.linearize import linearize_expr, or_zeros
from fungrad.rewrite.taylor import jet_expr

Pushed: TypeAlias = tuple[Values, Values]
"""Results and their tangents."""

Moved: TypeAlias = tuple[list[int], list[int]]
"""Which inputs of the programs, and which results, have tangents."""


class Pushing(OfPrograms):
    """A primitive whose results have the tangents that its programs give them."""

    joint_jvp = True

    def moved(self, perturbed: Sequence[bool]) -> Moved:
        """Return which inputs and which results have tangents if the operands in `perturbed` have."""
        raise NotImplementedError

    def push_apart(
        self, operands: Values, tangents: Values, known: Values | None, moved: Moved
    ) -> Pushed:
        """Return the result of `push`, computed apart, with tangents of only those results that have one."""
        raise NotImplementedError

    def push(self, tangents: Values, operands: Values, known: Values | None, joint: bool) -> Pushed:
        moved = self.moved([t is not None for t in tangents])
        alive = moved[1]
        n = len(self.abstract_eval())
        if not alive:
            return self(*operands) if known is None else known[:n], [None] * n
        if joint and known is None:
            return by_series(self, operands, tangents)
        results, t_alive = self.push_apart(operands, tangents, known, moved)
        return results, placed(t_alive, alive, n)

    def tangent_mask(self, perturbed: Sequence[bool]) -> list[bool]:
        alive = set(self.moved(perturbed)[1])
        return [i in alive for i in range(len(self.abstract_eval()))]


@memoized
def derivative(program: Program, moving: Sequence[int], alive: Sequence[int]) -> Program:
    """Return the tangents of the outputs `alive` as a program of inputs and the tangents of `moving` ones.

    What is linear in the tangents is apart from the rest, so it can be transposed. It has no effects: it is
    run where the program has run already.
    """
    expr = program.expr
    forward, linear, moved = linearize_expr(expr, moving)

    def tangents(*arguments: Any) -> list[Any]:
        n = len(expr.inputs)
        residuals = evaluate(forward, arguments[:n])[len(expr.outputs) :]
        pushed = evaluate(linear, [*residuals, *arguments[n:]])
        return tangents_of(expr.output_types, alive, moved, pushed)

    types = [*expr.input_types, *[tangent_type(expr.input_types[i]) for i in moving]]
    return rerunnable(Program(record_expr("derivative", tangents, types)))


def tangents_of(
    types: Sequence[ArrayType], alive: Sequence[int], moved: Sequence[int], pushed: Values
) -> list[Any]:
    """Return the tangents of the results `alive`: those `pushed` for results in `moved`, else zeros."""
    tangent_of = dict(zip(moved, pushed, strict=True))
    return [or_zeros(tangent_of.get(i), tangent_type(types[i])) for i in alive]


def by_series(
    primitive: OfPrograms, operands: Values, tangents: Values, rerun: bool = False
) -> Pushed:
    """Return the results and their tangents: series of order 1."""
    paths = [[x] if t is None else [x, t] for x, t in zip(operands, tangents, strict=True)]
    series: Any = primitive.push_series(paths, 1, rerun)
    return [s[0] for s in series], [s[1] if len(s) > 1 else None for s in series]


@memoized
def with_series(
    program: Program, moving: Sequence[int], alive: Sequence[int], order: int, rerun: bool
) -> Program:
    """Return the program on Taylor series.

    The series of the inputs `moving`, without order 0, come one after the other after the inputs, and so
    do those of the outputs `alive` after the outputs. In a `rerun` it has no effects.
    """
    expr = rerunnable(program).expr if rerun else program.expr
    joint = Program(jet_expr(expr, moving, order, scaled=False))
    n = len(expr.outputs)
    inexact = [i for i, t in enumerate(expr.output_types) if t.inexact]
    starts = [n + order * inexact.index(i) for i in alive]
    series = [start + k for start in starts for k in range(order)]
    return rearranged(joint, range(len(joint.expr.inputs)), [*range(n), *series])


def grouped(groups: Sequence[range], moving: Sequence[int], order: int) -> list[list[int]]:
    """Return the positions of each group's members, then of their series, in the order of `with_series`."""
    n = groups[-1].stop
    series = {i: range(n + order * j, n + order * (j + 1)) for j, i in enumerate(moving)}
    return [
        [*group, *itertools.chain(*[series[i] for i in moving if i in group])] for group in groups
    ]


def through(
    call: Callable[..., Values],
    paths: Sequence[Values],
    order: int,
    moving: Sequence[int],
    alive: Sequence[int],
) -> list[list[Any]]:
    """Return the paths of the results of `call`, whose operands and results are those of `with_series`."""
    terms = [
        or_zeros(x, tangent_type(type_of(paths[i][0])))
        for i in moving
        for x in (paths[i][1:] or [None] * order)
    ]
    coefficients = call(*[path[0] for path in paths], *terms)
    n = len(coefficients) - order * len(alive)
    series = iter(coefficients[n:])
    results = [[x] for x in coefficients[:n]]
    for i in alive:
        results[i] += itertools.islice(series, order)
    return results
