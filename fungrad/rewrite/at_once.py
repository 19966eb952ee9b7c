"""The gradient of a program for arrays at hand, without a program of its own.

The equations are run, all results are kept, and the rules of `reverse.py` pull the cotangent back on arrays instead of on
tracers. It is what takes least time if the gradient is asked for once.

Design: docs/design/14-first-gradients-and-structures.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fungrad.core.errors import in_derivative
from fungrad.core.expr import Calling, Cut, Expr
from fungrad.core.primitive import compute, note_place
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.shaping import full
from fungrad.rewrite.linearize import or_zeros
from fungrad.rewrite.selection import reached, selecting
from fungrad.rewrite.transpose import Cotangents, Step

if TYPE_CHECKING:
    from fungrad.rewrite.masks import Masks


class Whole(NamedTuple):
    """A call that has run, and the residuals of its backward program."""

    cut: Cut
    needed: Sequence[Any]

    def pull(self, given: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
        """Return the cotangents of the operands, from the cotangent of the result."""
        cut = self.cut
        backward, operands = cut.backward, [*self.needed, *given]
        cotangents = iter(() if backward is None else compute(backward, None, np, operands))
        return [next(cotangents) if reached else None for reached in cut.reached]


Pull = Callable[..., Sequence[Any]]
"""Signature of `reverse.pulled`, and the types of operands and results at the end."""


def gradient_at_once(
    expr: Expr,
    wrt: Sequence[int],
    arguments: Sequence[Any],
    done: int,
    skip: int,
    pull: Pull,
) -> list[Any]:
    """Return the outputs of `expr` for arrays, without the first `skip`, then the gradient of the first.

    The arguments are the inputs and the results of the first `done` equations. No equation may have a derivative that is
    made together with its results (`Primitive.joint_jvp`). How cotangents are pulled back is left to `pull`.
    """
    types, first = expr.types, expr.outputs[0]
    by = [expr.inputs[i] for i in wrt]
    values: list[Any] = [None] * len(types)
    given = [*expr.inputs, *[v for e in expr.equations[:done] for v in e.outputs]]
    for v, x in [*zip(given, arguments, strict=True), *expr.constants.items()]:
        values[v] = x
    moving = [False] * len(types)
    for v in by:
        moving[v] = True
    steps = _forward(expr, values, moving, done)
    cts = _OfArrays(values, types, pull, selecting(expr, moving.__getitem__, values, {}))
    if moving[first]:
        cts.known[first] = full(tangent_type(types[first]), 1)
    cts.pull_through(steps)
    gradient = [or_zeros(cts.known[v], tangent_type(types[v])) for v in by]
    return [values[v] for v in expr.outputs[skip:]] + gradient


def _forward(expr: Expr, values: list[Any], moving: list[bool], done: int) -> list[Step]:
    """Run the equations after the first `done`; return the steps to go back, and mark `moving` variables."""
    steps: list[Step] = []
    types, value_of, moves = expr.types, values.__getitem__, moving.__getitem__
    for number, (equation, source) in enumerate(expr.located()):
        primitive, inputs, outputs = equation
        flags = tuple(map(moves, inputs))
        whole = None
        if number >= done:
            operands = list(map(value_of, inputs))
            if isinstance(primitive, Calling) and True in flags:
                cut = primitive.cut(flags)
                results, *kept = compute(cut.forward, source, np, operands)
                whole = Whole(cut, [*[operands[i] for i in cut.needed], *kept])
            else:
                results = compute(primitive, source, np, operands)
            if not primitive.multiple_results:
                values[outputs[0]] = results
            else:
                for v, x in zip(outputs, results, strict=True):
                    values[v] = x
        if True in flags and primitive.differentiable:
            for v in reached(equation, flags, types):
                moving[v] = True
            steps.append((equation, source, flags, whole))
    return steps


class _OfArrays(Cotangents):
    """Cotangents that are arrays; sums are computed in place once their first term is nobody else's."""

    def __init__(
        self,
        values: Sequence[Any],
        types: Sequence[ArrayType],
        pull: Pull,
        masks: Masks | None,
    ) -> None:
        super().__init__(len(values), masks)
        self.values, self.types, self.pull = values, types, pull
        self.own: set[int] = set()  # the variables of which the cotangent is an array made here

    def pulled(self, step: Step, given: Sequence[Any]) -> Sequence[Any]:
        (primitive, inputs, outputs), source, flags, whole = step
        value_of = self.values.__getitem__
        operands = list(map(value_of, inputs))
        cut = self.masks is not None and self.masks.cut(outputs[0])
        if primitive.takes_elements and flags[0] and not cut:
            total = self._own(inputs[0], operands[0])
            primitive.add_to_taken(total, given[0], *operands[1:])
            return (None,) * len(inputs)
        try:
            if whole is not None:
                return whole.pull(given, flags)  # type: ignore[no-any-return]
            types = tuple(map(self.types.__getitem__, (*inputs, *outputs)))
            results = list(map(value_of, outputs))
            return self.pull(primitive, source, given, flags, results, operands, types)
        except Exception as error:
            note_place(error, primitive, in_derivative(source, backward=True))
            raise

    def plus(self, variable: int, first: Any, second: Any) -> Any:
        if variable in self.own:
            return np.add(first, second, first)
        total = np.add(first, second)
        if type(total) is np.ndarray:
            self.own.add(variable)
        return total

    def _own(self, variable: int, operand: Any) -> Any:
        """Return the cotangent of a variable, whose value is `operand`, as an array to add to."""
        if variable not in self.own:
            ct = self.known[variable]
            ct = np.zeros(operand.shape, operand.dtype) if ct is None else ct.copy()
            self.known[variable] = ct
            self.own.add(variable)
        return self.known[variable]
