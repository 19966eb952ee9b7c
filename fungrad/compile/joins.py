"""Joined arrays whose parts are computed in place, without copies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fungrad.compile.kernels.fused import Fused
from fungrad.compile.memory import Memory
from fungrad.core.expr import Equation, Expr
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.joins import Concatenate, Stack
from fungrad.primitives.slices import Slice
from fungrad.primitives.ufunc import Elementwise

LEAST = 1 << 16
"""Bytes of an array from which parts are computed in place: smaller copies cost no more than views."""


class Place(NamedTuple):
    """Where a variable is computed: in the part of another one that a slice takes."""

    whole: int
    part: Slice


def parts_of(equation: Equation, types: Sequence[ArrayType]) -> list[Slice]:
    """Return the slices of an equation's result for its operands, if they follow each other in memory."""
    primitive, inputs, outputs = equation
    if not isinstance(primitive, (Concatenate, Stack)) or not outputs:
        return []
    shape, axis = types[outputs[0]].shape, primitive.axis
    if types[outputs[0]].nbytes < LEAST or math.prod(shape[:axis]) != 1:
        return []
    stacks = isinstance(primitive, Stack)
    slices, first = [], 0
    for v in inputs:
        last = first + (1 if stacks else types[v].shape[axis])
        start = tuple([first if a == axis else 0 for a in range(len(shape))])
        stop = tuple([last if a == axis else n for a, n in enumerate(shape)])
        slices.append(Slice(start, stop, (1,) * len(shape), (axis,) if stacks else ()))
        first = last
    return slices


def places_of(expr: Expr, memory: Memory) -> dict[int, Place]:
    """Return the variables computed in a part of another one, and where."""
    types = expr.types
    made: dict[int, Equation] = {}
    places: dict[int, Place] = {}
    for number, equation in enumerate(expr.equations):
        inputs = equation.inputs
        if parts := parts_of(equation, types):
            placed = {
                v: Place(equation.outputs[0], part)
                for v, part in zip(inputs, parts, strict=True)
                if inputs.count(v) == 1
                and v in made
                and v in memory.owned
                and memory.root[v] == v
                and memory.needed[v] == number
                and _can_be_placed(made[v], v, types)
            }
            if _is_worth_it(equation, placed, types):
                places |= placed
        made |= dict.fromkeys(equation.outputs, equation)
    return places


def _can_be_placed(equation: Equation, v: int, types: Sequence[ArrayType]) -> bool:
    """Whether a variable can be computed in memory that is given, and would lie in C order anywhere."""
    primitive, inputs, outputs = equation
    if not types[v].size or not types[v].shape:
        return False
    if isinstance(primitive, Fused):
        return primitive.kernel.can_be_given(outputs.index(v))
    names = ["x"] * len(inputs)
    if isinstance(primitive, DotGeneral):
        in_order = all(axes == tuple(range(len(axes))) for axes in primitive.batch_axes)
        return in_order and primitive.call_into("out", *names) is not None
    simple = isinstance(primitive, Elementwise) and types[v].ndim == 1
    return simple and primitive.call_into("out", *names) is not None


def _is_worth_it(
    equation: Equation, placed: Mapping[int, Place], types: Sequence[ArrayType]
) -> bool:
    """Whether at least half of a join is computed in place, and the whole has NumPy's layout."""
    primitive, inputs, (out,) = equation
    in_order = isinstance(primitive, Stack) and types[out].ndim == 2  # of vectors
    if types[out].ndim > 1 and not in_order and len(placed) < len(inputs):
        return False  # the others may lie in another order, which the result would have
    return 2 * sum([types[v].nbytes for v in placed]) >= types[out].nbytes


def to_be_placed(expr: Expr, is_computed: Callable[[Equation], bool]) -> tuple[set[int], set[int]]:
    """Return the numbers of joins of fresh results of kernels and products, and these operands.

    Such parts are to be computed in place; `is_computed` says whether a kernel can.
    """
    joins = [n for n, e in enumerate(expr.equations) if parts_of(e, expr.types)]
    if not joins:
        return set(), set()
    readers = Counter([*expr.outputs, *[v for e in expr.equations for v in e.inputs]])
    made = {v: e for e in expr.equations for v in e.outputs}
    numbers, operands = set[int](), set[int]()
    for number in joins:
        inputs = expr.equations[number].inputs
        if all(
            readers[v] == 1
            and v in made
            and (isinstance(made[v].primitive, DotGeneral) or is_computed(made[v]))
            for v in inputs
        ):
            numbers.add(number)
            operands.update(inputs)
    return numbers, operands
