"""The masks of selections, applied to tangents and cotangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Linear
from fungrad.core.types import tangent_type
from fungrad.primitives.demanded import kept, void
from fungrad.primitives.elementwise import (
    equal,
    logical_and,
    logical_not,
    logical_or,
    masked,
)
from fungrad.primitives.shaping import full, zeros_like
from fungrad.rewrite.conditions import Condition, Demand, Selection


class Masks:
    """The masks of a `Selection`, made of the values of variables while cotangents are pulled back."""

    def __init__(self, selection: Selection, expr: Expr, values: list[Any]) -> None:
        self.selection, self.types, self.values = selection, expr.types, values
        self._masks: dict[Any, Any] = {}

    def enter(self, out: int, ct: Any) -> Any:
        """Return the cotangent of the variable `out` as the rule of its equation should see it."""
        fill = self.selection.fills.get(out)
        if fill is None or ct is None:
            return ct
        demand, choice = fill
        value = np.nan if choice is void else 0
        return choice(self.mask(demand), ct, full(tangent_type(self.types[out]), value))

    def leave(self, out: int, cotangents: Sequence[Any]) -> Sequence[Any]:
        """Return the operands' cotangents in the equation of `out`, zero where nothing selected them."""
        cuts = self.selection.cuts
        return [
            ct
            if ct is None or (out, i) not in cuts
            else kept(self.mask(cuts[out, i]), ct, zeros_like(ct))
            for i, ct in enumerate(cotangents)
        ]

    def push(self, out: int, tangents: Sequence[Any]) -> list[Any]:
        """Return the operands' tangents in the equation of `out`, zero where it selects none of them."""
        demands = self.selection.tangents
        return [
            t if t is None or (out, i) not in demands else masked(self.mask(demands[out, i]), t)
            for i, t in enumerate(tangents)
        ]

    def cut(self, out: int) -> bool:
        """Whether the cotangent of the first operand of the equation of `out` is masked."""
        return (out, 0) in self.selection.cuts

    def guarded(self, step: Any, known: list[Any]) -> Any:
        """Return the step with the masks of its results: operands whose variables have no cotangents."""
        (_, inputs, outputs), source, flags, derivative = step
        holder, _, demands, order = self.selection.guards[outputs[0]]
        masks = list(map(self.mask, demands))
        if derivative is not None:
            return (*step[:3], holder._replace(masks=masks))
        n = len(self.values)
        variables = [*inputs, *range(n, n + len(masks))]
        flags = [*flags, *[False] * len(masks)]
        self.values += masks
        known += [None] * len(masks)
        equation = Equation(holder, tuple([variables[j] for j in order]), outputs)
        return equation, source, [flags[j] for j in order], None

    def mask(self, demand: Demand) -> Any:
        """Return the mask of the elements that are demanded."""
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
            return logical_or(*map(self.mask, condition.either))
        if condition.onto is not None:
            return condition.onto(self._of(condition.inner))
        if condition.within:
            holder, inputs, demands, order = self.selection.guards[condition.variable]
            operands = [*[values[v] for v in inputs], *map(self.mask, demands)]
            position = order.index(condition.position)
            return holder.demanded(position, [operands[j] for j in order])
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
