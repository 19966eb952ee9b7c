"""Adding to elements, in place of adding arrays that are zero elsewhere, or of `x[i] = x[i] + y`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.draft import Draft
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.primitives.dynamic import DynamicUpdateSlice
from fungrad.primitives.elementwise import add, neg, sub
from fungrad.primitives.indexed import IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.slices import Pad

Made: TypeAlias = tuple[Primitive, tuple[int, ...]]
"""Primitive and operands of a variable."""

MAKERS = Pad, Scatter, DynamicUpdateSlice, IndexedUpdate
"""Primitives that make arrays of zeros except for some elements."""
Updating: TypeAlias = Scatter | IndexedUpdate | UpdateSlice


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


def updated_by_adding(expr: Expr) -> Expr:
    """Return a program that adds `y` to elements where it would set them to their sum with `y`.

    Backwards, the elements that are set are read and zeroed, and their cotangent goes back to them; to those that are added to
    nothing happens.
    """
    if not any(isinstance(e.primitive, Updating) for e in expr.equations):
        return expr
    uses = Counter(v for e in expr.equations for v in e.inputs)
    uses.update(expr.outputs)
    draft, changed = Draft(expr), False
    made_by: dict[int, Made] = {}
    for primitive, inputs, outputs in draft.given():
        if isinstance(primitive, Updating) and uses[inputs[1]] == 1:
            of, operands = made_by.get(inputs[1], (None, ()))
            terms = operands if of is add else operands[:1] if of is sub else ()
            taken = [v for v in terms if _takes(made_by.get(v), primitive, inputs)]
            if taken and _sets_once(primitive, expr, inputs):
                y = operands[1] if taken[0] == operands[0] else operands[0]
                y = draft.computed(neg, (y,)) if of is sub else y
                primitive = dataclasses.replace(primitive, kind="add")  # type: ignore[type-var]
                inputs, changed = (inputs[0], y, *inputs[2:]), True
        draft.add(primitive, inputs, outputs)
        if len(outputs) == 1:
            made_by[outputs[0]] = primitive, inputs
    return without_dead_code(draft.finished()) if changed else expr


def _sets_once(update: Updating, expr: Expr, inputs: Sequence[int]) -> bool:
    """Whether elements are set, each once."""
    once = not isinstance(update, Scatter) or not any(expr.types[v].shape for v in inputs[2:])
    return once and update.kind == "set" and expr.types[inputs[0]].dtype.kind in "iufc"


def _takes(made: Made | None, update: Updating, inputs: Sequence[int]) -> bool:
    """Whether a value is the elements that an update sets, as they were."""
    if made is None or made[1] != (inputs[0], *inputs[2:]):
        return False
    return isinstance(made[0], Gather) if isinstance(update, Scatter) else made[0] == update.region
