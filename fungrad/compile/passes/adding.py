"""Adding to elements where `x[i] = x[i] + y` is written."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from fungrad.compile.passes.accumulate import Made
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.draft import Draft
from fungrad.core.expr import Expr
from fungrad.primitives.elementwise import add, neg, sub
from fungrad.primitives.indexed import IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice

Updating: TypeAlias = Scatter | IndexedUpdate | UpdateSlice


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
