"""Rewritings for devices, where a launch costs more than the arithmetic of a small array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.compile.flow import Repeat
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.draft import Draft
from fungrad.compile.passes.lowered import Spelled
from fungrad.core.evaluate import inline
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.joins import Stack
from fungrad.primitives.shaping import Broadcast, ReduceSum
from fungrad.primitives.slices import Slice
from fungrad.primitives.stacks import OfMatrices
from fungrad.primitives.ufunc import Elementwise

UNROLLED = 1 << 11
"""Most equations that a loop is written out as."""
AGAIN = 16
"""Most operations on numbers that every element repeats, to spare a launch."""


def unrolled(expr: Expr) -> Expr:
    """Return `expr` with short loops written out, which kernels then span.

    Loops that hold programs, have effects, or multiply or factor matrices stay: many rounds may be one launch.
    """
    loops = _Loops(expr)
    for primitive, inputs, outputs in loops.given():
        flow = loops.short(primitive)
        if flow is not None:
            loops.write_out(flow, inputs, outputs)
        elif (row := loops.row_taken(primitive, inputs)) is not None:
            loops.same[outputs[0]] = row
        else:
            loops.add(primitive, inputs, outputs)
            if primitive == Stack(0):
                loops.rows[outputs[0]] = inputs
    return inline(loops.finished()) if loops.left < UNROLLED else expr


class _Loops(Draft):
    """A program in which loops are written out."""

    def __init__(self, expr: Expr) -> None:
        super().__init__(expr)
        self.left = UNROLLED
        self.rows: dict[int, Sequence[int]] = {}  # by stacked array: its rows

    def short(self, primitive: Primitive) -> Repeat | None:
        """Return the flow of a loop that is to be written out; None of anything else."""
        flow = primitive.uncut.control_flow if primitive.holds_programs else None
        if not isinstance(flow, Repeat) or not 0 < _equations(flow) <= self.left:
            return None
        inner = [p for _, body in flow.spans for p, _, _ in body.equations]
        return None if any(map(_keeps_a_loop, inner)) else flow

    def write_out(self, flow: Repeat, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        """Add the rounds of a loop, then its stacked results."""
        self.left -= _equations(flow)
        c, k = flow.counts
        constants, carries, stacked = inputs[:c], inputs[c : c + k], inputs[c + k :]
        if flow.before is not None:
            constants += self._run(flow.before, constants)
        given: dict[int, tuple[int, ...]] = {}
        for rows, body in flow.spans:
            assert rows.block is None
            places = range(rows.start, rows.stop)
            for i in reversed(places) if rows.reverse else places:
                taken = tuple([self._row(v, i) for v in stacked])
                results = self._run(body, (*constants, *carries, *taken))
                carries, given[i] = results[:k], results[k:]
        self.same.update(zip(outputs[:k], carries, strict=True))
        for n, out in enumerate(outputs[k:]):
            self.rows[out] = rows_of = [given[i][n] for i in sorted(given)]
            self.add(Stack(0), rows_of, (out,))

    def _row(self, v: int, i: int) -> int:
        """Return the variable of a row."""
        if v in self.rows:
            return self.rows[v][i]
        shape = self.types[v].shape
        if v in self.constants and len(shape) == 1:
            row = self.new(self.types[v].update(shape=()))
            self.constants[row] = self.constants[v][i]
            return row
        return self.computed(_row_of(shape, i), (v,))

    def row_taken(self, primitive: Primitive, inputs: tuple[int, ...]) -> int | None:
        """Return the variable of the row of a stacked array that a slice takes; None of anything else."""
        rows = self.rows.get(inputs[0]) if inputs and isinstance(primitive, Slice) else None
        if rows is None:
            return None
        i, shape = primitive.start[0], self.types[inputs[0]].shape  # type: ignore[attr-defined]
        return rows[i] if primitive == _row_of(shape, i) else None

    def _run(self, body: Expr, inputs: tuple[int, ...]) -> tuple[int, ...]:
        """Add a run of a program; return the variables of its results."""
        results = tuple(map(self.new, body.output_types))
        self.add(Spelled(body), inputs, results)
        return results


def _keeps_a_loop(primitive: Primitive) -> bool:
    program = primitive.holds_programs or primitive.effect or primitive.is_collective
    return program or isinstance(primitive, (DotGeneral, OfMatrices))


def _row_of(shape: Shape, i: int) -> Slice:
    start, stop = (i, *[0] * (len(shape) - 1)), (i + 1, *shape[1:])
    return Slice(start, stop, (1,) * len(shape), (0,))


def _equations(flow: Repeat) -> int:
    return sum(rows.rounds * len(body.equations) for rows, body in flow.spans)


def numbers_repeated(expr: Expr) -> Expr:
    """Return `expr` with operations on numbers repeated by the elements that read their results.

    So kernels have them. Sums of a constant's repetitions are constants.
    """
    draft = Draft(expr)
    made: dict[
        int, tuple[Primitive, tuple[int, ...], int]
    ] = {}  # by number: its equation, its operations
    spread: dict[int, int] = {}  # by variable: the constant that is repeated
    changed = False

    def repeated(v: int, broadcast: Broadcast, out: int | None = None) -> int:
        """Return the variable of the repetitions of a number."""
        if v not in made:
            return draft.computed(broadcast, (v,))
        primitive, inputs, _ = made[v]
        operands = [repeated(w, broadcast) for w in inputs]
        if out is None:
            return draft.computed(primitive, operands)
        draft.add(primitive, operands, (out,))
        return out

    for primitive, inputs, outputs in draft.given():
        if isinstance(primitive, Broadcast) and inputs[0] in made:
            changed = True
            repeated(inputs[0], primitive, outputs[0])
            continue
        if isinstance(primitive, ReduceSum) and inputs[0] in spread:
            value = _sum_of(draft, spread[inputs[0]], primitive, inputs[0])
            if value is not None:
                changed = True
                out = draft.types[outputs[0]]
                constant = draft.new(out.update(shape=()))
                draft.constants[constant] = value
                if out.shape:
                    draft.add(Broadcast(out.shape, tuple(range(out.ndim))), (constant,), outputs)
                else:
                    draft.same[outputs[0]] = constant
                continue
        if isinstance(primitive, Broadcast) and inputs[0] in draft.constants:
            if not draft.types[inputs[0]].shape:
                spread[outputs[0]] = inputs[0]
        elif isinstance(primitive, Elementwise) and not draft.types[outputs[0]].shape:
            operations = 1 + sum(made[v][2] for v in inputs if v in made)
            if operations <= AGAIN:
                made[outputs[0]] = primitive, inputs, operations
        draft.add(primitive, inputs, outputs)
    return without_dead_code(draft.finished()) if changed else expr


def _sum_of(draft: Draft, constant: int, sum_: ReduceSum, v: int) -> Any:
    """Return the sum of so many equal numbers, as kernels add them; None if that is not known."""
    dtype = draft.types[v].dtype
    if dtype.kind != "f" or dtype.itemsize < 4:
        return None
    count = math.prod([draft.types[v].shape[a] for a in sum_.axes])
    value = dtype.type(np.float64(draft.constants[constant]) * count)
    return value if np.isfinite(value) else None
