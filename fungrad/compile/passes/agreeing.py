"""Results known to be equal in all processes: a number says how they are computed.

So `shard_map` tells that a gradient which has been summed is the same everywhere, and the sum is the only message about it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from fungrad.core.digest import digest
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import type_of
from fungrad.primitives.collectives import (
    AllGather,
    AxisIndex,
    Collective,
    PMax,
    PMin,
    PSum,
    Ranks,
)
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.joins import Concatenate, Stack
from fungrad.primitives.ranks import Agreed, First, Total, Whole
from fungrad.primitives.shaping import Broadcast, Permute, ReduceSum, Reshape
from fungrad.primitives.slices import Slice
from fungrad.primitives.ufunc import Elementwise

ALIKE = (Elementwise, Broadcast, Permute, Reshape, Slice, Concatenate, Stack, ReduceSum, DotGeneral)
"""Primitives whose results are equal where operands are."""
_LEVEL = (PSum, PMax, PMin, AllGather, Total, Whole, First, Agreed)
"""Primitives whose result is equal along their axis."""
Ways: TypeAlias = dict[Hashable, list[str]]
"""By axis: how results are computed that all processes along it have alike, as digests."""


class _Known(NamedTuple):
    """Along which axes a variable is the same, given that all compute it in this way."""

    axes: frozenset[Hashable]
    way: str


def compared(expr: Expr, ways: Ways) -> Expr:
    """Return the program without `Agreed` of values known to be equal; their ways are added to `ways`."""
    if not any(isinstance(e.primitive, Agreed) for e in expr.equations):
        return expr
    met = messages(expr)
    known = {v: _Known(met, way) for v, way in constant(expr).items()}
    same: dict[int, int] = {}
    kept = []
    meetings = 0
    for (primitive, inputs, outputs), source in expr.located():
        meetings += primitive.is_collective
        inputs = tuple([same.get(v, v) for v in inputs])
        operands = [known[v] for v in inputs if v in known]
        if isinstance(primitive, Agreed) and operands and primitive.axis in operands[0].axes:
            same[outputs[0]] = inputs[0]
            ways.setdefault(primitive.axis, []).append(operands[0].way)
            continue
        kept.append((Equation(primitive, inputs, outputs), source))
        of = [x.way for x in operands]
        if isinstance(primitive, _LEVEL) and isinstance(primitive.axis, Ranks):
            axes = frozenset([primitive.axis]).union(*[x.axes for x in operands])
            known[outputs[0]] = _Known(axes, way_of(primitive, meetings, *of))
        elif isinstance(primitive, ALIKE) and len(operands) == len(inputs):
            axes = met.intersection(*[x.axes for x in operands])
            known[outputs[0]] = _Known(axes, way_of(primitive, *of))
    return expr.with_equations(kept, outputs=tuple([same.get(v, v) for v in expr.outputs]))


def messages(expr: Expr) -> frozenset[Hashable]:
    """Return the axes with messages that can carry the way of a computation; `Agreed` may be dropped."""
    collectives = [p for p, _, _ in expr.equations if isinstance(p, Collective)]
    return frozenset([p.axis for p in collectives if is_message(p) and not isinstance(p, Agreed)])


def is_message(primitive: Primitive) -> bool:
    """Whether processes meet for a primitive, which is not a part of computing such."""
    return (
        isinstance(primitive, Collective)
        and isinstance(primitive.axis, Ranks)
        and primitive.is_collective
        and type(primitive) is not AxisIndex
    )


def constant(expr: Expr) -> dict[int, str]:
    """Return digests of constants without axes. Others may be a process's own, without an error."""
    return {
        v: way_of(type_of(x), np.asarray(x).tobytes())
        for v, x in expr.constants.items()
        if not expr.types[v].shape
    }


def number(ways: Sequence[str]) -> int:
    """Return one number for all ways; 0 if there are none."""
    return int(way_of(*ways), 16) if ways else 0


def way_of(*of: object) -> str:
    """Return the way of a computation, as a number in hexadecimal that all processes write alike."""
    return digest(repr(of)).hex()
