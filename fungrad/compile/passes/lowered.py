"""Replacement of primitives that stand for others until derivatives and batches are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling, Equation, Expr
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.demanded import kept, void
from fungrad.primitives.elementwise import along, mul, select

PLAIN: dict[Primitive, tuple[Primitive, int]] = {
    along: (mul, 2),
    void: (select, 3),
    kept: (select, 3),
}
"""Primitives with derivatives of their own, and the equal primitive of so many of the operands."""


class Standing(Primitive):
    """A primitive with rules of its own, replaced by an equal program."""

    def lowered(self, types: Sequence[ArrayType]) -> Expr | None:
        """Return the program for operands of such types; None if there is none."""
        raise NotImplementedError


@primitive
class Spelled(Calling):
    """The computation of the program `body`."""

    body: Expr

    @property
    def callee(self) -> Expr:
        return self.body


def lowered(expr: Expr) -> Expr:
    """Return `expr` with standing primitives replaced, also within their programs."""
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
