"""Removal of unused equations."""

from __future__ import annotations

from fungrad.core.config import check_exprs
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr


def without_dead_code(expr: Expr, effects: bool = True) -> Expr:
    """Drop the equations and constants that no output depends on, and operands that equations do not need.

    Those with effects stay, unless `effects` is false: for a second run of what has run already. A program without any is
    returned as it is.
    """
    needed = set(expr.outputs)
    kept: list[tuple[Equation, Source | None]] = []
    pruned = False
    for equation, source in reversed(list(expr.located())):
        primitive, inputs, outputs = equation
        used = [v in needed for v in outputs]
        if True in used or (effects and primitive.effect):
            smaller = primitive.pruned(used)
            if smaller is not None:
                pruned = True
                primitive, operands, results = smaller
                inputs = tuple([inputs[i] for i in operands])
                equation = Equation(primitive, inputs, tuple([outputs[i] for i in results]))
            needed.update(inputs)
            kept.append((equation, source))
    if len(kept) == len(expr.equations) and not pruned and needed.issuperset(expr.constants):
        return expr
    constants = {v: c for v, c in expr.constants.items() if v in needed}
    live = expr.with_equations(kept[::-1], constants=constants)
    return live.check() if check_exprs.get() else live
