"""In which order arrays lie in memory, as far as a program tells."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from fungrad.compile.flow import Choice, Repeat, Until
from fungrad.compile.kernels.fused import Fused
from fungrad.core.evaluate import last_uses
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.convolution import Convolution
from fungrad.primitives.cumulative import LinearRecurrence
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexing import Scatter, Update
from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.shaping import Broadcast, Permute
from fungrad.primitives.stacks import OfMatrices
from fungrad.primitives.ufunc import Elementwise

JOINS = (Concatenate, Roll, Stack)


def turned(expr: Expr, given: Iterable[int] = ()) -> set[int]:
    """Return the variables in another order than C's, if those `given` are, as transposed arrays are."""
    types, copies = expr.types, copying(expr)
    reordered = {v for v in given if types[v].ndim > 1}
    ahead = set(reordered)  # also apart from the last two axes, which are those of matrices
    spread: set[int] = set()  # along an axis before others: what is made of that may lie so, too
    for number, (primitive, inputs, outputs) in enumerate(expr.equations):
        if primitive.rearranges and (_spreads(primitive) or not spread.isdisjoint(inputs)):
            spread.update(outputs)
        elif isinstance(primitive, (Cast, *JOINS)) and not spread.isdisjoint(inputs):
            reordered.update(outputs)
        if isinstance(primitive, Permute):
            shape = types[inputs[0]].shape
            turns = [a for a in primitive.axes if shape[a] != 1]
            if turns != sorted(turns):
                reordered.update(outputs)
        elif (isinstance(primitive, DotGeneral) and _moves_axes(primitive)) or (
            isinstance(primitive, OfMatrices) and _by_columns(primitive, types[outputs[0]].shape)
        ):
            reordered.update(outputs)
        flow = primitive.uncut.control_flow if primitive.holds_programs else None
        if isinstance(flow, Choice):
            flags = _turned_results(flow.branches, [v in reordered for v in inputs[1:]])
            reordered.update(itertools.compress(outputs, flags))
        elif number not in copies and any(
            v in ahead or (v in reordered and not _stacks(primitive, types[v].ndim))
            for v in followed(primitive, inputs)
        ):
            reordered.update(outputs)
        reordered.difference_update([v for v in outputs if types[v].ndim < 2])
        if not reordered.isdisjoint(outputs) and _turns_ahead(
            primitive, not ahead.isdisjoint(inputs)
        ):
            ahead.update(outputs)
    return reordered


def _stacks(primitive: Primitive, ndim: int) -> bool:
    """Whether an operand is a stack of matrices whose order of elements does not decide the result's."""
    if isinstance(primitive, DotGeneral):
        return ndim - len(primitive.batch_axes[0]) >= 2
    return isinstance(primitive, OfMatrices)


def _turns_ahead(primitive: Primitive, given: bool) -> bool:
    """Whether a result not in C order is so apart from its last two axes; `given` if operands are."""
    if isinstance(primitive, Permute):
        return given or primitive.axes[:-2] != tuple(range(len(primitive.axes) - 2))
    return given or not isinstance(primitive, (Elementwise, Cast))


def followed(primitive: Primitive, inputs: Sequence[int]) -> Sequence[int]:
    """Return the operands whose order the results may have: of a convolution, not the weights."""
    if isinstance(primitive, Fused):
        return [inputs[k] for k in primitive.kernel.followed]
    if not isinstance(primitive, Convolution):
        return inputs
    return inputs[1:] if primitive.gives == "x" else inputs[:1]


def _moves_axes(primitive: DotGeneral) -> bool:
    """Whether NumPy's functions move axes of operands to compute a product, and those of the result back."""
    return any(axes != tuple(range(len(axes))) for axes in primitive.batch_axes)


def _by_columns(primitive: OfMatrices, shape: Shape) -> bool:
    """Whether LAPACK computes a matrix, whose columns lie one after the other, and that is the result."""
    return primitive.by_columns and len(shape) == 2 and 1 not in shape


def _spreads(primitive: Primitive) -> bool:
    """Whether elements are repeated along an axis before one where they are not."""
    if not isinstance(primitive, Broadcast):
        return False
    axes = [a for a, n in enumerate(primitive.shape) if n > 1]
    return any(a in primitive.axes and b not in primitive.axes for a, b in itertools.pairwise(axes))


def visible(expr: Expr) -> set[int]:
    """Return the variables whose memory order a result may have: NumPy's functions follow operands."""
    types, copies = expr.types, copying(expr)
    reaching = {v for v in expr.outputs if types[v].ndim > 1}
    for number in range(len(expr.equations) - 1, -1, -1):
        primitive, inputs, outputs = expr.equations[number]
        if number not in copies and not reaching.isdisjoint(outputs):
            reaching.update([v for v in followed(primitive, inputs) if types[v].ndim > 1])
    return reaching


def copying(expr: Expr) -> set[int]:
    """Return the equations whose results are in C order; others follow an operand."""
    last = last_uses(expr)
    given = {*expr.inputs, *expr.constants}
    numbers = set()
    for number, (primitive, inputs, _) in enumerate(expr.equations):
        updates = isinstance(primitive, (Scatter, Update))
        copied = updates and (inputs[0] in given or last[inputs[0]] != number)
        flow = primitive.uncut.control_flow if primitive.holds_programs else None
        of_matrices = isinstance(primitive, OfMatrices) and not primitive.keeps_order
        of_matrices = of_matrices and expr.types[inputs[0]].ndim < 4
        alone = isinstance(primitive, LinearRecurrence) or isinstance(flow, (Repeat, Until))
        if copied or alone or of_matrices or _multiplies(primitive):
            numbers.add(number)
    return numbers


def _multiplies(primitive: Primitive) -> bool:
    """Whether it multiplies matrices, or stacks along one axis; NumPy lays out more axes as the operands'."""
    if not isinstance(primitive, DotGeneral):
        return False
    return bool(primitive.contracting[0]) and len(primitive.batch_axes[0]) < 2


def _turned_results(branches: Sequence[Expr], given: Sequence[bool]) -> list[bool]:
    """Return which results of branches lie in another order."""
    by_branch = []
    for branch in branches:
        turned_ones = turned(branch, itertools.compress(branch.inputs, given))
        by_branch.append([v in turned_ones for v in branch.outputs])
    return [any(flags) for flags in zip(*by_branch, strict=True)]
