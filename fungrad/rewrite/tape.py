"""Reverse mode on values that may be traced, without a program.

It is for programs with equations whose rules are Python's own: these may hold tracers of enclosing transforms, so no program
that outlives these can be made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import tangent_type
from fungrad.rewrite.linearize import known_results, or_zeros, results_to_know
from fungrad.rewrite.reverse import linearized, pulled
from fungrad.rewrite.selection import reached, selecting
from fungrad.rewrite.transpose import Cotangents, Step


class HoldsRule(Primitive):
    """A primitive with a pullback of its own, for one call, which is Python's and may hold tracers."""

    interned: ClassVar[bool] = False
    remembered: ClassVar[bool] = False  # no two are equal


class Tape:
    """A program whose variables all have values, to pull cotangents back through.

    Parameters
    ----------
    expr
        The program, without calls.
    wrt
        The positions of the inputs to differentiate by.
    given
        The values of the inputs, and of all equations what `results_to_know` says.
    """

    def __init__(self, expr: Expr, wrt: Sequence[int], given: Sequence[Any]) -> None:
        count, types = len(expr.inputs), expr.types
        self.expr, self.by = expr, [expr.inputs[i] for i in wrt]
        self.values: list[Any] = [None] * len(types)
        for v, x in [*expr.constants.items(), *zip(expr.inputs, given, strict=False)]:
            self.values[v] = x
        known = known_results(results_to_know(expr, len(expr.equations)), given[count:])
        self.moving = set(self.by)
        self.steps: list[Step] = []
        for number, (equation, source) in enumerate(expr.located()):
            primitive, inputs, outputs = equation
            for v, x in zip(
                outputs, known[number], strict=False
            ):  # there may be more: what is saved
                self.values[v] = x
            if primitive.differentiable and not self.moving.isdisjoint(inputs):
                flags = [v in self.moving for v in inputs]
                self.moving.update(reached(equation, flags, types))
                self.steps.append((equation, source, flags, known[number]))
        self.masks = selecting(expr, self.moving.__contains__, self.values)

    @property
    def outputs(self) -> list[Any]:
        """The values of the outputs."""
        return [self.values[v] for v in self.expr.outputs]

    def reached(self, count: int) -> tuple[int, ...]:
        """Return the positions, among the first `count` outputs, of those that depend on the inputs."""
        return tuple([i for i, v in enumerate(self.expr.outputs[:count]) if v in self.moving])

    def pull(self, *cotangents: Any) -> list[Any]:
        """Return the cotangents of the inputs, given those of the first outputs that depend on them."""
        types = self.expr.types
        cts = _OnTape(len(types), self.masks)
        cts.values = self.values
        outputs = [v for v in self.expr.outputs if v in self.moving]
        for v, ct in zip(outputs, cotangents, strict=False):  # others are auxiliary
            first = cts.known[v]
            cts.known[v] = ct if first is None else cts.plus(v, first, ct)
        cts.pull_through(self.steps)
        return [or_zeros(cts.known[v], tangent_type(types[v])) for v in self.by]


class _OnTape(Cotangents):
    """Cotangents of variables that have `values`; steps hold the results of their equation."""

    values: Sequence[Any]

    def pulled(self, step: Step, given: Sequence[Any]) -> Sequence[Any]:
        (primitive, inputs, outputs), source, flags, results = step
        operands = [self.values[v] for v in inputs]
        if primitive.joint_jvp:  # its derivative takes what was saved, too
            _, derivative = linearized(primitive, source, flags, operands, results)
            return derivative.pull(given, flags)
        return pulled(primitive, source, given, flags, results[: len(outputs)], operands)
