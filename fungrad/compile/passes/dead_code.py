"""Leaving out what nothing depends on."""

from __future__ import annotations

from collections.abc import Sequence

from fungrad.core.config import check_exprs
from fungrad.core.expr import Equation, Expr


def without_dead_code(expr: Expr, effects: bool = True) -> Expr:
    """Drop the equations and constants that no output depends on, and operands that equations do not need.

    Those with effects stay, unless `effects` is false: for a second run of what has run already.
    """
    needed = set(expr.outputs)
    kept = []
    for equation, source in reversed(list(expr.located())):
        used = [v in needed for v in equation.outputs]
        if any(used) or (effects and equation.primitive.effect):
            equation = _pruned(equation, used)
            needed.update(equation.inputs)
            kept.append((equation, source))
    constants = {v: c for v, c in expr.constants.items() if v in needed}
    found = expr.with_equations(kept[::-1], constants=constants)
    return found.check() if check_exprs.get() else found


def _pruned(equation: Equation, used: Sequence[bool]) -> Equation:
    primitive, inputs, outputs = equation
    found = primitive.pruned(used)
    if found is None:
        return equation
    smaller, operands, results = found
    return Equation(
        smaller, tuple([inputs[i] for i in operands]), tuple([outputs[i] for i in results])
    )
