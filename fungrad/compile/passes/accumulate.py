"""Adding to elements where an array that is zero elsewhere would be made and added."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TypeAlias

import numpy as np

from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.primitives.dynamic import DynamicUpdateSlice
from fungrad.primitives.elementwise import add
from fungrad.primitives.indexed import IndexedUpdate
from fungrad.primitives.indexing import Scatter, UpdateSlice
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.slices import Pad

Made: TypeAlias = tuple[Primitive, tuple[int, ...]]
"""Primitive and operands of a variable."""

MAKERS = Pad, Scatter, DynamicUpdateSlice, IndexedUpdate
"""Primitives that make arrays of zeros except for some elements."""


def accumulate(expr: Expr) -> Expr:
    """Add to elements where an array that is zero elsewhere would be made and added.

    Such sums collect the gradient of an array that is read element by element.
    """
    if not any(isinstance(e.primitive, MAKERS) for e in expr.equations):
        return expr
    uses = Counter(v for e in expr.equations for v in e.inputs)
    uses.update(expr.outputs)
    sums = [e.inputs for e in expr.equations if e.primitive is add and len({*e.inputs}) == 2]
    summed = Counter(v for inputs in sums for v in inputs)
    made_by: dict[int, Made] = {}

    def is_zero(v: int) -> bool:
        made, operands = made_by.get(v, (None, ()))
        value = expr.constants.get(operands[0] if isinstance(made, Broadcast) else v)
        return isinstance(value, np.generic) and not value

    def added(x: int, y: int) -> Made | None:
        """Return the primitive that adds a part to `x`, if `y` is that part amid zeros, and only added."""
        made, operands = made_by.get(y, (None, ()))
        if uses[y] != summed[y]:
            return None
        if isinstance(made, Pad) and is_zero(operands[1]):
            region = made.region(expr.types[operands[0]].shape)
            if region is not None:
                return UpdateSlice.at(region, "add"), (x, operands[0])
        if (isinstance(made, Scatter) and made.kind == "add" and made.unique) or (
            isinstance(made, (DynamicUpdateSlice, IndexedUpdate)) and made.kind == "add"
        ):
            return (made, (x, *operands[1:])) if is_zero(operands[0]) else None
        return None

    equations = []
    for primitive, inputs, outputs in expr.equations:
        if primitive is add:
            primitive, inputs = added(*inputs) or added(*inputs[::-1]) or (primitive, inputs)
        if len(outputs) == 1:
            made_by[outputs[0]] = primitive, inputs
        equations.append(Equation(primitive, inputs, outputs))
    return dataclasses.replace(expr, equations=tuple(equations))
