"""What takes the place of primitives that stand for it until derivatives and batches have been made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling, Equation, Expr
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import along, mul

PLAIN: dict[Primitive, tuple[Primitive, int]] = {along: (mul, 2)}
"""What differs in its derivatives alone, and what computes the same, of how many of the operands."""


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
    """Return `expr` with what primitives stand for, and what is in the programs of these does."""
    while True:
        changed = False
        equations = []
        for equation in expr.equations:
            if isinstance(equation.primitive, Standing):
                program = equation.primitive.lowered([expr.types[v] for v in equation.inputs])
                if program is not None:
                    changed = True
                    equation = Equation(Spelled(program), equation.inputs, equation.outputs)
            elif (plain := PLAIN.get(equation.primitive)) is not None:
                changed = True
                equation = Equation(plain[0], equation.inputs[: plain[1]], equation.outputs)
            equations.append(equation)
        if not changed:
            return expr
        expr = inline(dataclasses.replace(expr, equations=tuple(equations)))
