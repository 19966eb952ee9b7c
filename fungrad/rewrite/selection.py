"""Selections in programs: the masks by which derivatives leave elements out (`demand.py`, `masks.py`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.elementwise import Cast, mul
from fungrad.rewrite.narrowing import CHOICES, NARROWING, PICKS, PRODUCTS, SLICES, Guarding

if TYPE_CHECKING:
    from fungrad.rewrite.masks import Masks


def selecting(
    expr: Expr, moves: Callable[[int], bool], values: Any, holders: Mapping[int, Any] | None
) -> Masks | None:
    """Return the masks for pulling cotangents back to variables that `moves`; None if there are none.

    Masks may be given to `holders`: the derivatives of some equations, by their first results. None in a linear program,
    whose equations are their own.
    """
    if not may_select(expr.equations, expr.types, holders):
        return None
    masks = _masks(expr, moves, booleans_of(expr), values, holders)
    return masks if masks.selection.fills or masks.selection.guards else None


def may_select(
    equations: Iterable[Any], types: Sequence[ArrayType], holders: Mapping[int, Any] | None
) -> bool:
    """Whether cotangents pulled back through the equations may leave elements out."""
    if holders and any(holder.selects for holder in holders.values()):
        return True
    booleans: set[int] = set()
    for primitive, inputs, outputs in equations:
        if primitive in NARROWING or isinstance(primitive, PICKS):
            return True
        if holders is None and isinstance(primitive, Guarding) and primitive.selects:
            return True
        if type(primitive) is Cast:
            if types[inputs[0]].dtype.kind == "b":
                booleans.add(outputs[0])
        elif booleans and _by_booleans(primitive, inputs, booleans):
            return True
    return False


def selects(expr: Expr) -> bool:
    """Whether a program, or one that it holds, selects by booleans."""
    booleans = booleans_of(expr)
    return any(
        primitive in CHOICES
        or _by_booleans(primitive, inputs, booleans.keys())
        or (isinstance(primitive, Guarding) and primitive.selects)
        for primitive, inputs, _ in expr.equations
    )


def selecting_tangents(expr: Expr, by: Sequence[int], values: Sequence[Any]) -> Masks | None:
    """Return the masks for pushing tangents of the variables `by` forward; None if there are none."""
    booleans = booleans_of(expr)
    if not any(
        primitive in PRODUCTS
        or isinstance(primitive, SLICES)
        or (booleans and _by_booleans(primitive, inputs, booleans.keys()))
        for primitive, inputs, _ in expr.equations
    ):
        return None
    moving = set(by)
    for equation in expr.equations:
        if equation.primitive.differentiable and not moving.isdisjoint(equation.inputs):
            moving.update(reached(equation, [v in moving for v in equation.inputs], expr.types))
    masks = _masks(expr, moving.__contains__, booleans, values, {})
    return masks if masks.selection.tangents else None


def _masks(
    expr: Expr,
    moves: Callable[[int], bool],
    booleans: Mapping[int, int],
    values: Any,
    holders: Mapping[int, Any] | None,
) -> Masks:
    from fungrad.rewrite.demand import Analysis  # many programs select nothing
    from fungrad.rewrite.masks import Masks

    return Masks(Analysis(expr, moves, booleans, holders).selection(), expr, values)


def reached(equation: Equation, flags: Sequence[bool], types: Sequence[ArrayType]) -> Sequence[int]:
    """Return the results of an equation that depend on the operands in `flags`."""
    primitive, _, outputs = equation
    affected = primitive.tangent_mask(flags)
    if affected is None and len(outputs) == 1:
        return outputs if types[outputs[0]].inexact else ()
    dependent = outputs if affected is None else itertools.compress(outputs, affected)
    return [v for v in dependent if types[v].inexact]


def booleans_of(expr: Expr) -> dict[int, int]:
    """Return the variables that are booleans, converted to numbers."""
    return {
        outputs[0]: inputs[0]
        for primitive, inputs, outputs in expr.equations
        if type(primitive) is Cast and expr.types[inputs[0]].dtype.kind == "b"
    }


def _by_booleans(primitive: Primitive, inputs: Sequence[int], booleans: Set[int]) -> bool:
    return (primitive is mul or isinstance(primitive, DotGeneral)) and not booleans.isdisjoint(
        inputs
    )
