"""Computations in which only some lanes of a batch take part.

The others must not be computed from their own operands: the result could be NaN, warn or fail, and zero times its
derivative is not zero. So a lane that does not take part computes with the operands of one that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core.axes import name_in_batch
from fungrad.primitives.elementwise import lent, select
from fungrad.primitives.indexing import Gather
from fungrad.primitives.reductions import ArgMax
from fungrad.primitives.shaping import Broadcast


def along(flag: Any, x: Any) -> Any:
    """Return `flag`, of one axis, for each element of the rows of `x`."""
    return Broadcast(x.shape, tuple(range(1, x.ndim)))(flag) if x.ndim > 1 else flag


def lends(program: Program) -> bool:
    """Whether the operands of one element may stand for another's.

    Not where the program works across the batch, nor where its effects would show whose they are.
    """
    return name_in_batch.get() not in program.axis_names and not program.effect


def is_total(program: Program) -> bool:
    """Whether a program may be run on anything finite: it neither warns nor fails, short of an overflow."""
    types = program.expr.types
    return all(
        primitive.total is True
        or (primitive.total == "real" and types[inputs[0]].dtype.kind != "c")
        for primitive, inputs, _ in program.expr.equations
    )


def only(takes: Any, operands: Sequence[Any]) -> list[Any]:
    """Return batched operands with the first that `takes` marks in place of those that it does not.

    If it marks none they are all like the first.
    """
    if not takes.shape[0]:
        return list(operands)
    first = ArgMax(0)(takes)
    return [
        select(along(takes, x), x, lent(Broadcast(x.shape, (0,))(Gather()(x, first))))
        for x in operands
    ]
