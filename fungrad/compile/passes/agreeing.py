"""Results that all processes are known to have alike: compared is how they are computed, which is a number, in place of what they are.

So `shard_map` tells that a gradient which has been summed is the same everywhere, and the sum is the last of the messages about it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from fungrad.core.expr import Equation, Expr
from fungrad.core.types import type_of
from fungrad.primitives.collectives import AllGather, Collective, PMax, PMin, PSum, Ranks
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.joins import Concatenate, Stack
from fungrad.primitives.ranks import Agreed, Compared, First, Total, Whole
from fungrad.primitives.shaping import Broadcast, Permute, ReduceSum, Reshape
from fungrad.primitives.slices import Slice
from fungrad.primitives.ufunc import Elementwise

ALIKE = (Elementwise, Broadcast, Permute, Reshape, Slice, Concatenate, Stack, ReduceSum, DotGeneral)
"""What gives the same where the operands are the same."""
_LEVEL = (PSum, PMax, PMin, AllGather, Total, Whole, First, Agreed)
"""What gives the same to all along its axis."""


class _Known(NamedTuple):
    """Along which axes a variable is the same, given that all compute it in this way: a digest, of what all processes write alike."""

    axes: frozenset[Hashable]
    way: str


def compared(expr: Expr) -> Expr:
    """Return the program with one `Compared` along an axis, in place of each `Agreed` of what is known to be the same."""
    if not any(isinstance(e.primitive, Agreed) for e in expr.equations):
        return expr
    own = frozenset([p.axis for p, _, _ in expr.equations if isinstance(p, Collective)])
    known = {
        v: _Known(own, _digest(type_of(x), np.asarray(x).tobytes()))
        for v, x in expr.constants.items()
        if not expr.types[v].shape
    }
    same: dict[int, int] = {}
    ways: dict[Compared, list[str]] = {}
    kept = []
    meetings = 0
    for (primitive, inputs, outputs), source in expr.located():
        meetings += primitive.meets
        inputs = tuple([same.get(v, v) for v in inputs])
        operands = [known[v] for v in inputs if v in known]
        if isinstance(primitive, Agreed) and operands and primitive.axis in operands[0].axes:
            same[outputs[0]] = inputs[0]
            ways.setdefault(Compared(primitive.axis, primitive.size), []).append(operands[0].way)
            continue
        kept.append((Equation(primitive, inputs, outputs), source))
        if isinstance(primitive, _LEVEL) and isinstance(primitive.axis, Ranks):
            axes = frozenset([primitive.axis]).union(*[x.axes for x in operands])
            known[outputs[0]] = _Known(
                axes, _digest(primitive, meetings, *[x.way for x in operands])
            )
        elif isinstance(primitive, ALIKE) and len(operands) == len(inputs):
            axes = own.intersection(*[x.axes for x in operands])
            known[outputs[0]] = _Known(axes, _digest(primitive, *[x.way for x in operands]))
    types, constants = list(expr.types), dict(expr.constants)
    for compare, of in ways.items():
        v, mark = len(types), np.uint64(int(_digest(*of), 16))
        constants[v] = mark
        types += [type_of(mark)] * 2
        kept.insert(0, (Equation(compare, (v,), (v + 1,)), None))  # no other message waits for it
    outputs = tuple([same.get(v, v) for v in expr.outputs])
    return expr.with_equations(kept, outputs=outputs, types=types, constants=constants)


def _digest(*of: object) -> str:
    """Return a number, in hexadecimal, that differs for what differs, but for a chance of 2**-64."""
    return hashlib.blake2b(repr(of).encode(), digest_size=8).hexdigest()
