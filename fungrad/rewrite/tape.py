"""Reverse mode on recorded values, without making a program of the derivative.

An equation can hold a pullback written in Python, and that may hold tracers of enclosing transforms. A program made of it could not be
kept after those transforms end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fungrad.core.errors import in_derivative
from fungrad.core.expr import Expr, as_equation
from fungrad.core.primitive import Primitive
from fungrad.core.recording import Recording
from fungrad.core.types import tangent_type
from fungrad.rewrite.linearize import or_zeros
from fungrad.rewrite.reverse import linearized, pulled
from fungrad.rewrite.selection import may_select, reached, selecting
from fungrad.rewrite.transpose import Cotangents, Step


class HoldsRule(Primitive):
    """A primitive for one call, whose pullback is Python code that may hold tracers."""

    interned: ClassVar[bool] = False
    remembered: ClassVar[bool] = False  # no two are equal


class Tape:
    """A tape: a program without calls, with the values of all its variables.

    Parameters
    ----------
    program
        The program, or the trace that has recorded it.
    outputs, by
        The output variables, and the variables with respect to which to differentiate.
    values
        The values of all variables.
    known
        For each equation its results, then the residuals that `Primitive.saving` adds.
    """

    def __init__(
        self,
        program: Expr | Recording,
        outputs: Sequence[int],
        by: Sequence[int],
        values: Mapping[int, Any],
        known: Sequence[Sequence[Any]],
    ) -> None:
        types = self.types = program.types
        self.outputs, self.by, self.values = outputs, by, values
        moving = self.moving = set(by)
        self.steps: list[Step] = []
        equations = map(as_equation, program.equations)
        for equation, source, results in zip(equations, program.sources, known, strict=True):
            primitive, inputs, _ = equation
            if primitive.differentiable and not moving.isdisjoint(inputs):
                flags = [v in moving for v in inputs]
                moving.update(reached(equation, flags, types))
                self.steps.append((equation, source, flags, results))
        self.masks = None
        if may_select(program.equations, types, {}):
            expr = program if isinstance(program, Expr) else program.expr(outputs)
            self.masks = selecting(expr, moving.__contains__, values, {})

    def reached(self, count: int) -> tuple[int, ...]:
        """Return the positions, among the first `count` outputs, of those that depend on `by`."""
        return tuple([i for i, v in enumerate(self.outputs[:count]) if v in self.moving])

    def pull(self, *cotangents: Any) -> list[Any]:
        """Return the cotangents of the variables `by`, given those of the outputs that depend on them."""
        types = self.types
        cts = _OnTape(len(types), self.masks)
        cts.values = self.values
        outputs = [v for v in self.outputs if v in self.moving]
        for v, ct in zip(outputs, cotangents, strict=False):  # outputs after these are auxiliary
            first = cts.known[v]
            cts.known[v] = ct if first is None else cts.plus(v, first, ct)
        cts.pull_through(self.steps)
        return [or_zeros(cts.known[v], tangent_type(types[v])) for v in self.by]


class _OnTape(Cotangents):
    """Cotangents of variables that have `values`; steps hold the results of their equation."""

    values: Mapping[int, Any]

    def pulled(self, step: Step, given: Sequence[Any]) -> Sequence[Any]:
        (primitive, inputs, outputs), source, flags, results = step
        source = in_derivative(source, backward=True)
        operands = [self.values[v] for v in inputs]
        if primitive.joint_jvp:  # its derivative takes what was saved, too
            _, derivative = linearized(primitive, source, flags, operands, results)
            return derivative.pull(given)
        return pulled(primitive, source, given, flags, results[: len(outputs)], operands)
