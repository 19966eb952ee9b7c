"""In which order arrays lie in memory, as far as a program tells."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from fungrad.compile.background import importing
from fungrad.compile.flow import Choice, ControlFlow, Until
from fungrad.core.evaluate import last_uses
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.cumulative import LinearRecurrence
from fungrad.primitives.dynamic import DynamicUpdateSlice
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexing import Scatter, UpdateSlice
from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.shaping import Broadcast, Permute
from fungrad.primitives.stacks import OfMatrices

JOINS = (Concatenate, Roll, Stack)


def turned(expr: Expr, given: Iterable[int] = ()) -> set[int]:
    """Return the variables that lie in another order than C's, if those `given` do: of transposed arrays, NumPy's functions make such."""
    types, copies = expr.types, copying(expr)
    found = {v for v in given if types[v].ndim > 1}
    spread: set[int] = set()  # along an axis before others: what is made of that may lie so, too
    for number, (primitive, inputs, outputs) in enumerate(expr.equations):
        if primitive.rearranges and (_spreads(primitive) or not spread.isdisjoint(inputs)):
            spread.update(outputs)
        elif isinstance(primitive, (Cast, *JOINS)) and not spread.isdisjoint(inputs):
            found.update(outputs)
        if isinstance(primitive, Permute):
            shape = types[inputs[0]].shape
            turns = [a for a in primitive.axes if shape[a] != 1]
            if turns != sorted(turns):
                found.update(outputs)
        elif (isinstance(primitive, DotGeneral) and _moves_axes(primitive)) or (
            isinstance(primitive, OfMatrices) and _by_columns(primitive, types[outputs[0]].shape)
        ):
            found.update(outputs)
        if primitive.holds_programs and (flow := primitive.uncut.control_flow) is not None:
            flags = _turned_results(flow, [v in found for v in inputs])
            found.update(itertools.compress(outputs, flags))
        elif number not in copies and not found.isdisjoint(inputs):
            found.update(outputs)
        found.difference_update([v for v in outputs if types[v].ndim < 2])
    return found


def _moves_axes(primitive: DotGeneral) -> bool:
    """Whether NumPy's functions move axes of operands to compute a product, and those of the result back."""
    return any(axes != tuple(range(len(axes))) for axes in primitive.batch_axes)


def _by_columns(primitive: Primitive, shape: Shape) -> bool:
    """Whether LAPACK computes a matrix, whose columns lie one after the other, and that is the result."""
    with importing:  # SciPy, which programs without systems do not need
        from fungrad.primitives.linalg import TriangularSolve
    return isinstance(primitive, TriangularSolve) and len(shape) == 2 and 1 not in shape


def _spreads(primitive: Primitive) -> bool:
    """Whether elements are repeated along an axis before one where they are not."""
    if not isinstance(primitive, Broadcast):
        return False
    axes = [a for a, n in enumerate(primitive.shape) if n > 1]
    return any(a in primitive.axes and b not in primitive.axes for a, b in itertools.pairwise(axes))


def shown(expr: Expr) -> set[int]:
    """Return the variables in whose order in memory a result may lie: NumPy's functions follow that of their operands."""
    types, copies = expr.types, copying(expr)
    found = {v for v in expr.outputs if types[v].ndim > 1}
    for number in range(len(expr.equations) - 1, -1, -1):
        _, inputs, outputs = expr.equations[number]
        if number not in copies and not found.isdisjoint(outputs):
            found.update([v for v in inputs if types[v].ndim > 1])
    return found


def copying(expr: Expr) -> set[int]:
    """Return the numbers of equations whose results lie in C order; others follow an operand, also what is reduced, joined or sorted."""
    last = last_uses(expr)
    given = {*expr.inputs, *expr.constants}
    found = set()
    for number, (primitive, inputs, _) in enumerate(expr.equations):
        updates = isinstance(primitive, (Scatter, UpdateSlice, DynamicUpdateSlice))
        copied = updates and (inputs[0] in given or last[inputs[0]] != number)
        summed = isinstance(primitive, DotGeneral) and primitive.contracting[0]
        if copied or summed or isinstance(primitive, (LinearRecurrence, OfMatrices)):
            found.add(number)
    return found


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
