"""Values that are equal in all processes because all compute them in the same way from equal values.

The check that they are equal (`Agreed`) then needs no message of its own. A digest of the computation, its *derivation*, travels with another
message along the axis: processes whose digests differ run different programs. So `shard_map` sends one message for a gradient, the sum.
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
"""Primitives that give equal results for equal operands."""
_SAME = (PSum, PMax, PMin, AllGather, Total, Whole, First, Agreed)
"""Primitives whose result is the same in all processes along their axis."""
Derivations: TypeAlias = dict[Hashable, list[str]]
"""By axis: derivations of values that are equal in all processes along it."""


class _Known(NamedTuple):
    """A variable's derivation, and the axes along which equal derivations prove it equal."""

    axes: frozenset[Hashable]
    derivation: str


def without_checks(expr: Expr, derivations: Derivations) -> Expr:
    """Return the program without `Agreed` of values that are equal anyway; collect their derivations."""
    if not any(isinstance(e.primitive, Agreed) for e in expr.equations):
        return expr
    met = messages(expr)
    known = {v: _Known(met, digest) for v, digest in constant(expr).items()}
    same: dict[int, int] = {}
    kept = []
    meetings = 0
    for (primitive, inputs, outputs), source in expr.located():
        meetings += primitive.is_collective
        inputs = tuple([same.get(v, v) for v in inputs])
        operands = [known[v] for v in inputs if v in known]
        if isinstance(primitive, Agreed) and operands and primitive.axis in operands[0].axes:
            same[outputs[0]] = inputs[0]
            derivations.setdefault(primitive.axis, []).append(operands[0].derivation)
            continue
        kept.append((Equation(primitive, inputs, outputs), source))
        of = [x.derivation for x in operands]
        if isinstance(primitive, _SAME) and isinstance(primitive.axis, Ranks):
            axes = frozenset([primitive.axis]).union(*[x.axes for x in operands])
            known[outputs[0]] = _Known(axes, derivation_of(primitive, meetings, *of))
        elif isinstance(primitive, ALIKE) and len(operands) == len(inputs):
            axes = met.intersection(*[x.axes for x in operands])
            known[outputs[0]] = _Known(axes, derivation_of(primitive, *of))
    return expr.with_equations(kept, outputs=tuple([same.get(v, v) for v in expr.outputs]))


def messages(expr: Expr) -> frozenset[Hashable]:
    """Return the axes along which a message can carry derivations; messages of `Agreed` do not count."""
    collectives = [p for p, _, _ in expr.equations if isinstance(p, Collective)]
    return frozenset([p.axis for p in collectives if is_message(p) and not isinstance(p, Agreed)])


def is_message(primitive: Primitive) -> bool:
    """Whether a primitive exchanges messages between processes."""
    return (
        isinstance(primitive, Collective)
        and isinstance(primitive.axis, Ranks)
        and primitive.is_collective
        and type(primitive) is not AxisIndex
    )


def constant(expr: Expr) -> dict[int, str]:
    """Return derivations of 0-d constants, values included. Larger constants may well differ."""
    return {
        v: derivation_of(type_of(x), np.asarray(x).tobytes())
        for v, x in expr.constants.items()
        if not expr.types[v].shape
    }


def number(derivations: Sequence[str]) -> int:
    """Return one number for several derivations; 0 for none."""
    return int(derivation_of(*derivations), 16) if derivations else 0


def derivation_of(*of: object) -> str:
    """Return the derivation of a value: a hexadecimal digest that is the same in all processes."""
    return digest(repr(of)).hex()
