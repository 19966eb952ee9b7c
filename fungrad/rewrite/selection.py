"""Selections: what comes back to an element that nothing selected is zero, whatever it is multiplied by.

In ``where(x > 0, log(x), 0)`` the result depends on no logarithm at x = 0. Its cotangent there is zero by structure, and 0 / 0 is not
its cotangent of x. A zero by value is another matter: that of sqrt(x)**2 at 0 times an infinite slope may be any number.

So each variable has a *demand*, the elements that outputs can depend on (`demand.py`): a mask, as the conjunction of some conditions.

Loops that pull cotangents back do two things by it. Before an equation that multiplies, the cotangent of what is not
demanded becomes NaN (`void`): it raises no warning, and an oversight would show. Behind the last such equation it becomes
zero (`kept`). The mask of the selection itself is then one too many, and simplification drops it: the selection has moved.
What lies between the two is not demanded where it is void, so programs with voids are differentiated alike.

In forward mode `select` throws tangents away by itself. A product with a boolean does not, so there its tangents are selected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Linear, Primitive
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.dynamic import DynamicSlice
from fungrad.primitives.elementwise import (
    Cast,
    clamp,
    equal,
    fmax,
    fmin,
    kept,
    logical_and,
    logical_not,
    logical_or,
    masked,
    maximum,
    minimum,
    mul,
    select,
    void,
)
from fungrad.primitives.indexed import IndexedSlice
from fungrad.primitives.indexing import Gather, Scatter, Update
from fungrad.primitives.shaping import full, zeros_like
from fungrad.primitives.slices import Slice

if TYPE_CHECKING:
    from fungrad.rewrite.demand import Condition, Demand, Selection

EXTREMA = (maximum, minimum, fmax, fmin, clamp)
PICKS = (Slice, DynamicSlice, IndexedSlice, Gather)
WRITES = (Update, Scatter)
_NARROWING = frozenset([select, void, kept, *EXTREMA])
_INDEXING = (*PICKS, *WRITES)
_PRODUCTS = frozenset([void, *EXTREMA])
"""Primitives whose rules multiply a tangent by zeros, as products with booleans do."""


class Selecting:
    """The masks of a `Selection` while cotangents are pulled back; `values` are those of variables by then."""

    def __init__(self, selection: Selection, expr: Expr, values: Sequence[Any]) -> None:
        self.selection, self.types, self.values = selection, expr.types, values
        self._masks: dict[Any, Any] = {}

    def enter(self, out: int, ct: Any) -> Any:
        """Return the cotangent of the variable `out` as the rule of its equation should see it."""
        fill = self.selection.fills.get(out)
        if fill is None or ct is None:
            return ct
        demand, choice = fill
        value = np.nan if choice is void else 0
        return choice(self._mask(demand), ct, full(tangent_type(self.types[out]), value))

    def leave(self, out: int, cotangents: Sequence[Any]) -> Sequence[Any]:
        """Return the cotangents of the operands of the equation of `out`, and zero where nothing selected them."""
        cuts = self.selection.cuts
        return [
            ct
            if ct is None or (out, i) not in cuts
            else kept(self._mask(cuts[out, i]), ct, zeros_like(ct))
            for i, ct in enumerate(cotangents)
        ]

    def push(self, out: int, tangents: Sequence[Any]) -> list[Any]:
        """Return the tangents of the operands of the equation of `out`, and zero where it selects none of them."""
        demands = self.selection.tangents
        return [
            t if t is None or (out, i) not in demands else masked(self._mask(demands[out, i]), t)
            for i, t in enumerate(tangents)
        ]

    def cut(self, out: int) -> bool:
        """Whether the cotangent of the first operand of the equation of `out` is masked."""
        return (out, 0) in self.selection.cuts

    def _mask(self, demand: Demand) -> Any:
        known = self._masks.get(demand)
        if known is None:
            for number in sorted(demand):
                mask = self._of(number)
                known = mask if known is None else logical_and(known, mask)
            self._masks[demand] = known
        return known

    def _of(self, number: int) -> Any:
        if number not in self._masks:
            self._masks[number] = self._made(self.selection.conditions[number])
        return self._masks[number]

    def _made(self, condition: Condition) -> Any:
        values = self.values
        if condition.either is not None:
            return logical_or(*map(self._mask, condition.either))
        if condition.onto is not None:
            return condition.onto(self._of(condition.inner))
        if condition.move is None:
            mask = values[condition.variable]
            if condition.other >= 0:
                return equal(mask, values[condition.other])
            return mask if condition.holds else logical_not(mask)
        primitive, inputs, (out,) = condition.move
        operands = [values[v] for v in inputs]
        i = condition.position
        type_ = tangent_type(self.types[out])
        ones = full(type_, 1)
        if condition.inner >= 0:
            ones = masked(self._of(condition.inner), ones)
        operands[i] = Linear(tangent_type(self.types[inputs[i]]))
        back = primitive.transpose(ones, *operands)[i]
        return back != full(tangent_type(self.types[inputs[i]]), 0)


def selecting(expr: Expr, moves: Callable[[int], bool], values: Sequence[Any]) -> Selecting | None:
    """Return the masks for pulling cotangents back to variables that `moves`; None if there are none."""
    booleans = _booleans(expr)
    for primitive, inputs, _ in expr.equations:
        if (
            primitive in _NARROWING
            or isinstance(primitive, _INDEXING)
            or _by_booleans(primitive, inputs, booleans)
        ):
            selection = _selection(expr, moves, booleans)
            return Selecting(selection, expr, values) if selection.fills else None
    return None


def selecting_tangents(expr: Expr, by: Sequence[int], values: Sequence[Any]) -> Selecting | None:
    """Return the masks for pushing tangents of the variables `by` forward; None if there are none."""
    booleans = _booleans(expr)
    if not any(e.primitive in _PRODUCTS or _by_booleans(*e[:2], booleans) for e in expr.equations):
        return None
    moving = set(by)
    for equation in expr.equations:
        if equation.primitive.differentiable and not moving.isdisjoint(equation.inputs):
            moving.update(reached(equation, [v in moving for v in equation.inputs], expr.types))
    selection = _selection(expr, moving.__contains__, booleans)
    return Selecting(selection, expr, values) if selection.tangents else None


def _selection(expr: Expr, moves: Callable[[int], bool], booleans: Mapping[int, int]) -> Selection:
    from fungrad.rewrite.demand import Analysis  # many programs select nothing

    return Analysis(expr, moves, booleans).selection()


def reached(equation: Equation, flags: Sequence[bool], types: Sequence[ArrayType]) -> list[int]:
    """Return the results of an equation that depend on the operands in `flags`."""
    primitive, _, outputs = equation
    affected = primitive.tangent_mask(flags)
    dependent = outputs if affected is None else itertools.compress(outputs, affected)
    return [v for v in dependent if types[v].inexact]


def _booleans(expr: Expr) -> dict[int, int]:
    """Return the variables that are booleans, converted to numbers."""
    return {
        outputs[0]: inputs[0]
        for primitive, inputs, outputs in expr.equations
        if type(primitive) is Cast and expr.types[inputs[0]].dtype.kind == "b"
    }


def _by_booleans(primitive: Primitive, inputs: Sequence[int], booleans: Mapping[int, int]) -> bool:
    return primitive is mul and bool(booleans) and not booleans.keys().isdisjoint(inputs)
