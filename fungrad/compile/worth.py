"""Estimate of the share of NumPy's time that kernels save, from the types of a program alone."""

from __future__ import annotations

from collections.abc import Iterator

from fungrad.compile.flow import Choice, ControlFlow, Repeat
from fungrad.core.expr import Expr
from fungrad.core.types import ArrayType
from fungrad.primitives.cost import flops
from fungrad.primitives.indexing import Gather, Scatter
from fungrad.primitives.reductions import Reduction
from fungrad.primitives.shaping import ReduceSum
from fungrad.primitives.ufunc import Elementwise

CALL = 1e-6
"""Seconds that a call of one of NumPy's functions takes, however small its arrays are."""
ELEMENT = 1e-9
"""Seconds per element of an elementwise function, a reduction or an index."""
OPERATION = 1e-10
"""Seconds per arithmetic operation of other functions, such as a product of matrices."""
FUSED = 0.6
"""Share of the time per element that kernels save."""
UNKNOWN = 100
"""Assumed number of rounds of a loop that ends by a condition."""


def share(expr: Expr) -> float:
    """Return the share of the time of NumPy's functions that kernels save, from 0 to 1."""
    taken = saved = 0.0
    pending = [(expr, 1.0)]
    while pending:
        part, times = pending.pop()
        for primitive, inputs, outputs in part.equations:
            if primitive.holds_programs:
                flow = primitive.uncut.control_flow
                if flow is not None:
                    pending += [(body, times * n) for body, n in _bodies(flow)]
                continue
            operands = [part.types[v] for v in inputs]
            results = [part.types[v] for v in outputs]
            if primitive.view or primitive.rearranges:
                elements = kept = 0.0
            elif isinstance(primitive, (Elementwise, Reduction, ReduceSum, Gather, Scatter)):
                elements = ELEMENT * _largest(operands, results)
                kept = (1 - FUSED) * elements
            else:
                elements = kept = OPERATION * flops(primitive, operands, results)
            taken += times * (CALL + elements)
            saved += times * (CALL + elements - kept)
    return saved / taken if taken else 0.0


def _largest(operands: list[ArrayType], results: list[ArrayType]) -> int:
    return max([t.size for t in (*operands, *results)], default=0)


def _bodies(flow: ControlFlow) -> Iterator[tuple[Expr, int]]:
    """Yield the programs that a loop or a branch runs, and about how often."""
    if isinstance(flow, Choice):
        yield from [(branch, 1) for branch in flow.branches]
    elif isinstance(flow, Repeat):
        for rows, body in flow.spans:
            yield body, rows.rounds
    else:
        yield flow.condition, UNKNOWN
        yield flow.body, UNKNOWN
