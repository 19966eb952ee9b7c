"""Loops of a batch of calls that update elements of arrays: one call after another in machine code.

The elements of different calls lie as far apart as their arrays are large. So where the arrays of all calls are more than the
fastest memory holds, a step for all calls waits for memory, and for the loop of one call there is machine code without that.
Where there is none, NumPy makes each step for all calls at once, as elsewhere.

Design: docs/design/42-rounds-at-once.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.compile.flow import held
from fungrad.compile.lower import Program
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import type_of
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.elementwise import add, mul, neg, sub
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.slices import index_axis
from fungrad.primitives.ufunc import Elementwise
from fungrad.programs.closing import Values, memoized, shared

__all__ = ["one_by_one"]

FAST = 1 << 15
"""Bytes of a processor's fastest memory."""
FEW = 64
"""Most elements that a step may compute with one equation."""
UPDATES = Scatter, IndexedUpdate, DynamicUpdateSlice
READS = Gather, IndexedSlice, DynamicSlice
BUFFERS = Broadcast, DynamicUpdateSlice, DynamicSlice
"""Operations on residuals of a loop's rounds, which may be large."""
CHEAP = (add, sub, mul, neg)
PER_ACCESS, DEAR = 4, 4
"""Costs of an access to memory, and of an operation that gains from many calls at once."""


def one_by_one(
    mapped: type[Primitive], loop: Any, size: int, batched: Sequence[bool], operands: Values
) -> Any:
    """Return the results of a loop for each call of a batch; None if each step is for all of them.

    `mapped` makes the loop over the calls.
    """
    if loop.together or size < 2 or loop.effect or loop.axis_names or loop.is_collective:
        return None
    types = [type_of(x) for x in operands]
    if sum(t.nbytes for t, flag in zip(types, batched, strict=True) if flag) <= FAST:
        return None
    if not _is_of_elements(loop.body):
        return None
    types = [
        t.update(shape=t.shape[1:]) if flag else t for t, flag in zip(types, batched, strict=True)
    ]
    fixed = [i for i, flag in enumerate(batched) if not flag]
    order = [*fixed, *[i for i, flag in enumerate(batched) if flag]]
    body = _body(loop, types, order)
    results = shared(mapped, body, (len(fixed), 0), size, False)(*[operands[i] for i in order])
    varies = loop.varies(tuple(batched))
    return [x if flag else index_axis(x, 0, 0) for x, flag in zip(results, varies, strict=True)]


@memoized
def _body(loop: Any, types: Sequence[Any], order: Sequence[int]) -> Program:
    expr = Expr.of(loop.replaced(together=True), types)
    return Program(
        expr.with_equations(list(expr.located()), inputs=tuple([expr.inputs[i] for i in order]))
    )


@memoized
def _is_of_elements(body: Program) -> bool:
    """Whether the steps of a loop update elements of arrays, and do little else."""
    pending, accesses, updates, cost = [body.expr], 0, 0, 0
    while pending:
        expr = pending.pop()
        for op, inputs, outputs in expr.equations:
            if op.holds_programs:
                flow = op.uncut.control_flow
                if flow is None:
                    return False
                pending += held(flow)
                continue
            updates += isinstance(op, UPDATES)
            accesses += isinstance(op, UPDATES + READS)
            computed = inputs[1:2] if isinstance(op, UPDATES) else outputs
            large = any(expr.types[v].size > FEW for v in computed)
            if large and not isinstance(op, BUFFERS):
                return False
            if isinstance(op, Elementwise) and expr.types[outputs[0]].dtype.kind in "fc":
                cost += 1 if op in CHEAP else DEAR
    return updates > 0 and cost <= PER_ACCESS * accesses
