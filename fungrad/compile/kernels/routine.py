"""Routines: programs on small arrays, with loops and branches, as one function of machine code."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fungrad.compile.interpret import interpret
from fungrad.compile.kernels.fused import Block, Fused
from fungrad.compile.kernels.orders import JOINS, turned
from fungrad.compile.memory import assigns
from fungrad.compile.steps import (
    Assign,
    Branch,
    Call,
    Control,
    Copy,
    Into,
    Loop,
    Schedule,
    While,
    within,
)
from fungrad.core.cached import cached_property
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.convolution import Convolution
from fungrad.primitives.stacks import OfMatrices

STACK = 4
"""Fewest matrices for which a call of NumPy's for stacks counts as two calls."""
OVER_FROM = 1 << 12
"""Fewest bytes of results written over operands; smaller ones LLVM keeps in memory of their own."""
ENDLESS = 1 << 30
"""Operations that a loop of unknown length counts as."""


@dataclass(frozen=True, eq=False, repr=False)
class Routine(Block):
    """A schedule that is one function.

    Attributes
    ----------
    steps
        What it does.
    followed
        Operands whose memory layout externally visible outputs follow.
    """

    steps: Schedule
    followed: frozenset[int] = frozenset()

    @property
    def operand_types(self) -> list[ArrayType]:
        return [self.steps.types[v] for v in self.steps.inputs]

    @property
    def output_types(self) -> list[ArrayType]:
        return [self.steps.types[result.register] for result in self.steps.results]

    @property
    def summary(self) -> str:
        return f"routine[steps={len(self.steps.steps)}]"

    @cached_property
    def told_apart(self) -> frozenset[int]:
        """Operands whose zero strides matter: the compiled code depends on which axes they have.

        These are the operands that are copied, or all, if one is converted or joined, or copied within a loop.
        """
        everything = frozenset(range(len(self.steps.inputs)))
        copied = set()
        pending = [self.steps]
        while pending:
            current = pending.pop()
            views: dict[int, int] = {}
            for step in current.steps:
                if isinstance(step, Control):
                    pending += [part for _, part, *_ in within(step, current.types)]
                elif isinstance(step, Call) and step.primitive.rearranges:
                    of = step.operands[0].register
                    views[step.results[0]] = views.get(of, of)
                elif isinstance(step, Call) and _follows_repeats(step):
                    return everything
                elif isinstance(step, Copy):
                    of = views.get(step.operand, step.operand)
                    if of in current.inputs:
                        if current is not self.steps:
                            return everything
                        copied.add(current.inputs.index(of))
        return frozenset(copied)

    @cached_property
    def work(self) -> int:
        return work(self.steps)

    def interpret(self, *arrays: Any) -> list[Any]:
        return interpret(self.steps, arrays)

    def __str__(self) -> str:
        """Show the steps."""
        return str(self.steps).replace("{ schedule", "{ routine", 1)

    __repr__ = __str__


def _follows_repeats(step: Call) -> bool:
    primitive = step.primitive
    return isinstance(primitive, JOINS) or (
        isinstance(primitive, Fused) and bool(primitive.kernel.told_apart)
    )


def routine_of(expr: Expr, steps: Schedule, seen: Collection[int] = ()) -> Routine:
    """Return a program as a routine with steps; `seen` are variables whose layout is visible outside."""
    outputs = set(seen).intersection(expr.outputs)
    followed = [
        k
        for k, v in enumerate(expr.inputs)
        if outputs and not outputs.isdisjoint(turned(expr, [v]))
    ]
    return Routine(steps, frozenset(followed))


def uncut(expr: Expr, calls: bool = True) -> Expr:
    """Return a program whose loops run step by step; those over calls of a batch only with `calls`."""
    equations = [
        e
        if not calls and getattr(e.primitive, "over_calls", False)
        else e._replace(primitive=e.primitive.uncut)
        for e in expr.equations
    ]
    return dataclasses.replace(expr, equations=tuple(equations))


def work(steps: Schedule) -> int:
    """Return about how many operations on elements a schedule is."""
    total = 0
    for step in steps.steps:
        if isinstance(step, While):
            return ENDLESS
        if isinstance(step, Control):
            rounds = step.rows.rounds if isinstance(step, Loop) else 1
            parts = [work(part) for _, part, *_ in within(step, steps.types)]
            total += rounds * (max(parts) if isinstance(step, Branch) else sum(parts))
        elif isinstance(step, Call):
            total += _work_of(step, steps.types)
        else:
            total += 1
    return min(total, ENDLESS)


def _work_of(step: Call, types: Sequence[ArrayType]) -> int:
    primitive = step.primitive
    if isinstance(primitive, Fused):
        return primitive.kernel.work
    size = sum(types[v].size for v in step.results)
    if isinstance(primitive, DotGeneral):
        x = types[step.operands[0].register]
        return size * math.prod([x.shape[a] for a in primitive.contracting[0]]) // 2
    if isinstance(primitive, Convolution):
        arrays = {primitive.gives: types[step.results[0]]}
        arrays |= zip(primitive.operands, [types[v] for v, _ in step.operands], strict=True)
        return arrays["y"].size * arrays["w"].size // arrays["w"].shape[1]
    if isinstance(primitive, OfMatrices):
        return size * types[step.operands[0].register].shape[-1]
    return max([size, *[types[v].size for v, _ in step.operands]])


def calls(steps: Schedule) -> int:
    """Return how many functions a schedule calls; one more for stacks of matrices, many if it has loops."""
    types = steps.types
    count = 0
    for step in steps.steps:
        if isinstance(step, (Loop, While)):
            return ENDLESS
        if isinstance(step, (Call, Into, Assign, Branch)) and not step.primitive.rearranges:
            count += 1
            if isinstance(step, Call):
                operands = [types[v] for v, _ in step.operands]
                count += height(step.primitive, operands) > STACK
    return count


def copied_by_loops(steps: Schedule, inside: bool = False) -> Iterator[ArrayType]:
    """Yield the types of arrays that each round of a loop copies, or updates in memory of its own."""
    for step in steps.steps:
        if isinstance(step, Control):
            for _, part, *_ in within(step, steps.types):
                yield from copied_by_loops(part, inside or isinstance(step, (Loop, While)))
        elif inside and isinstance(step, Copy):
            yield steps.types[step.register]
        elif inside and isinstance(step, Call) and assigns(step.primitive):
            yield steps.types[step.results[0]]


def height(primitive: Primitive, operands: Sequence[ArrayType]) -> int:
    """Return how many matrices the stacks hold that an equation computes with; 1 of any other."""
    if isinstance(primitive, OfMatrices):
        return math.prod(operands[0].shape[:-2])
    if isinstance(primitive, DotGeneral):
        return math.prod([operands[0].shape[a] for a in primitive.batch_axes[0]])
    return 1
