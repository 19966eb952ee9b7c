"""Products over no axis as products of elements, which kernels compute with others around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from fungrad.compile.passes.draft import Draft
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.elementwise import mul
from fungrad.primitives.shaping import Broadcast, Permute


def multiplied(expr: Expr) -> Expr:
    """Return `expr` with elementwise products in place of contractions over no axis.

    Outer products stay: both operands have axes of their own.
    """
    if not any(_sums_nothing(e.primitive) for e in expr.equations):
        return expr
    draft = Draft(expr)
    for primitive, inputs, outputs in draft.given():
        shape = expr.types[outputs[0]].shape if outputs else ()
        if _sums_nothing(primitive) and expr.types[outputs[0]].dtype.kind in "fc":
            *names, out = primitive.names(*[expr.types[v].ndim for v in inputs])
            if any(len(x) == len(out) for x in names):
                pairs = zip(inputs, names, strict=True)
                inputs = tuple([_spread(draft, v, x, out, shape) for v, x in pairs])
                primitive = mul
        draft.add(primitive, inputs, outputs)
    return draft.finished()


def _sums_nothing(primitive: Primitive) -> TypeGuard[DotGeneral]:
    return isinstance(primitive, DotGeneral) and not primitive.contracting[0]


def _spread(draft: Draft, v: int, names: Sequence[int], out: Sequence[int], shape: Shape) -> int:
    """Return an operand, whose axes have names, with all axes of the result."""
    order = sorted(range(len(names)), key=lambda a: out.index(names[a]))
    if order != sorted(order):
        v = draft.computed(Permute(tuple(order)), (v,))
    missing = tuple([a for a, x in enumerate(out) if x not in names])
    return draft.computed(Broadcast(shape, missing), (v,)) if missing else v
