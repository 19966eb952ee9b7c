"""Programs in the place of primitives that stand for them until derivatives and batches have been made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling, Equation, Expr
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType


class Standing(Primitive):
    """A primitive with rules of its own, of which a program computes the same."""

    def lowered(self, types: Sequence[ArrayType]) -> Expr | None:
        """Return the program for operands of such types; None if there is none."""
        raise NotImplementedError


@primitive
class Spelled(Calling):
    """What the program `body` computes."""

    body: Expr

    @property
    def callee(self) -> Expr:
        return self.body


def lowered(expr: Expr) -> Expr:
    """Return `expr` with the programs of primitives that stand for one, and of those in these."""
    while True:
        changed = False
        equations = []
        for equation in expr.equations:
            if isinstance(equation.primitive, Standing):
                program = equation.primitive.lowered([expr.types[v] for v in equation.inputs])
                if program is not None:
                    changed = True
                    equation = Equation(Spelled(program), equation.inputs, equation.outputs)
            equations.append(equation)
        if not changed:
            return expr
        expr = inline(dataclasses.replace(expr, equations=tuple(equations)))
