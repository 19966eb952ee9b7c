"""In which order arrays lie in memory, as far as a program tells."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from fungrad.compile.flow import Choice, ControlFlow, Until
from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.core.expr import Expr
from fungrad.primitives.shaping import Permute, Reshape


def turned(expr: Expr, given: Iterable[int] = ()) -> set[int]:
    """Return the variables that lie in another order than C's, if those `given` do: of transposed arrays, NumPy's functions make such."""
    types = expr.types
    found = {v for v in given if types[v].ndim > 1}
    for primitive, inputs, outputs in expr.equations:
        if isinstance(primitive, Permute):
            shape = types[inputs[0]].shape
            turns = [a for a in primitive.axes if shape[a] != 1]
            if turns != sorted(turns):
                found.update(outputs)
        follows = primitive.rearranges and not isinstance(primitive, Reshape)
        if (follows or is_of_elements(primitive)) and not found.isdisjoint(inputs):
            found.update(outputs)
        elif primitive.holds_programs and (flow := primitive.uncut.control_flow) is not None:
            flags = _turned_results(flow, [v in found for v in inputs])
            found.update(itertools.compress(outputs, flags))
    return {v for v in found if types[v].ndim > 1}


def _turned_results(flow: ControlFlow, given: Sequence[bool]) -> list[bool]:
    """Return which results of a loop or a branch lie in another order; what loops stack does not."""
    if isinstance(flow, Choice):
        found = [_outputs(branch, given[1:]) for branch in flow.branches]
        return [any(flags) for flags in zip(*found, strict=True)]
    if isinstance(flow, Until):
        a, b = flow.counts
        constants, carries, rows = given[a : a + b], list(given[a + b :]), []
        bodies = [flow.body]
    else:
        c, k = flow.counts
        constants, carries, rows = given[:c], list(given[c : c + k]), list(given[c + k :])
        constants = [*constants, *([] if flow.before is None else _outputs(flow.before, constants))]
        bodies = [body for _, body in flow.spans]
    while True:
        before, after = list(carries), carries
        for body in bodies:
            after = _outputs(body, [*constants, *carries, *rows])[: len(carries)]
            carries = [x or y for x, y in zip(carries, after, strict=True)]
        if carries == before:
            return carries if isinstance(flow, Until) else after  # there may be no step


def _outputs(expr: Expr, given: Sequence[bool]) -> list[bool]:
    found = turned(expr, itertools.compress(expr.inputs, given))
    return [v in found for v in expr.outputs]
