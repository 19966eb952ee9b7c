"""The `jvp` of an equation as a program, which Taylor arithmetic runs on series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fungrad.core.errors import Source
from fungrad.core.evaluate import inline
from fungrad.core.expr import Expr
from fungrad.core.location import locate
from fungrad.core.primitive import Primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type
from fungrad.rewrite.linearize import tangents_of


class Rule(NamedTuple):
    """The `jvp` of an equation as a program.

    It takes the tangents of the operands that move, the results and the operands, and returns the tangents
    of the results at the positions `results`; the others have none. It is `fixed` if it does
    the same to tangents all along the path, but for jumps.
    """

    expr: Expr
    moving: tuple[bool, ...]
    results: tuple[int, ...]
    fixed: bool

    def spread(self, tangents: Iterable[Any], n: int) -> list[Any]:
        """Return one tangent for each of `n` results; None is zero."""
        tangent_of = dict(zip(self.results, tangents, strict=True))
        return [tangent_of.get(i) for i in range(n)]


def record_rule(
    primitive: Primitive,
    types: Sequence[ArrayType],
    out_types: Sequence[ArrayType],
    moving: tuple[bool, ...],
    source: Source | None,
) -> Rule:
    """Record the `jvp` of a primitive for operands of `types`; the `moving` ones have tangents."""
    t_types = [tangent_type(t) for t, m in zip(types, moving, strict=True) if m]
    middle = len(t_types)
    end = middle + len(out_types)
    positions: list[int] = []

    def derivative(*arguments: Any) -> list[Any]:
        locate(source)
        outs, operands = arguments[middle:end], arguments[end:]
        given = iter(arguments[:middle])
        tangents = [next(given) if m else None for m in moving]
        if primitive.joint_jvp:
            _, t_outs = primitive.push(tuple(tangents), operands, None, True)
        else:
            t_outs = tangents_of(primitive, tangents, outs, operands)
        positions.extend(i for i, t in enumerate(t_outs) if t is not None)
        return [t_outs[i] for i in positions]

    recorded = inline(record_expr("jet", derivative, [*t_types, *out_types, *types]))
    # The program serves all such equations, so its own say nothing of the user's lines.
    expr = Expr(
        recorded.inputs, recorded.equations, recorded.outputs, recorded.types, recorded.constants
    )
    operands = zip(expr.inputs[end:], moving, strict=True)
    varying = {*expr.inputs[middle:end], *[v for v, m in operands if m]}
    fixed = varying.isdisjoint(expr.outputs) and all(
        varying.isdisjoint(inputs)
        for p, inputs, _ in expr.equations
        if p.differentiable  # of what varies, others make what only jumps
    )
    return Rule(expr, moving, tuple(positions), fixed)
