"""In which order arrays lie in memory, as far as a program tells."""

from __future__ import annotations

from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.core.expr import Expr
from fungrad.primitives.shaping import Permute, Reshape


def turned(expr: Expr) -> set[int]:
    """Return the variables that lie in another order than C's: of transposed arrays, NumPy's functions make such."""
    found: set[int] = set()
    for primitive, inputs, outputs in expr.equations:
        if isinstance(primitive, Permute):
            shape = expr.types[inputs[0]].shape
            turns = [a for a in primitive.axes if shape[a] != 1]
            if turns != sorted(turns):
                found.update(outputs)
        follows = primitive.rearranges and not isinstance(primitive, Reshape)
        if (follows or is_of_elements(primitive)) and not found.isdisjoint(inputs):
            found.update(outputs)
    return found
