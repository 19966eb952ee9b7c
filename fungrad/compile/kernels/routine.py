"""Routines: parts of a program on small arrays, loops above all, that become one function of machine code.

A step of a loop on small arrays costs what calling NumPy costs, a hundred times what it computes. A routine is one call.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fungrad.compile.flow import Repeat, Until
from fungrad.compile.interpret import interpret
from fungrad.compile.kernels.fuse import fuse
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.units import without_units
from fungrad.compile.schedule import schedule
from fungrad.compile.steps import Branch, Call, Control, Loop, Schedule, Step, While, within
from fungrad.core.cached import cached_property
from fungrad.core.expr import Equation, Expr
from fungrad.core.types import ArrayType

LARGE = 1 << 18
"""Bytes of an array from which NumPy's functions, and kernels on several threads, serve a step as well."""
ENDLESS = 1 << 30
"""How many operations a loop is taken for of which nobody knows how long it runs."""


@dataclass(frozen=True, eq=False, repr=False)
class Routine:
    """A schedule that is one function."""

    steps: Schedule

    @property
    def internal(self) -> bool:
        """Whether its outputs may lie in C order however the operands do: what loops give does so without kernels too."""
        return True

    @property
    def summary(self) -> str:
        """What it is."""
        return f"routine[steps={len(self.steps.steps)}]"

    @property
    def operand_types(self) -> list[ArrayType]:
        """What it is given."""
        return [self.steps.types[v] for v in self.steps.inputs]

    @property
    def output_types(self) -> list[ArrayType]:
        """What it gives."""
        return [self.steps.types[result.register] for result in self.steps.results]

    @cached_property
    def work(self) -> int:
        """About how many operations on elements it is."""
        return work(self.steps)

    def interpret(self, *arrays: Any) -> list[Any]:
        """Return the outputs by NumPy's functions."""
        return interpret(self.steps, arrays)

    def __str__(self) -> str:
        """Show the steps."""
        return str(self.steps).replace("{ schedule", "{ routine", 1)

    __repr__ = __str__


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
        else:
            total += 1
    return min(total, ENDLESS)


def outlined(expr: Expr, fits: Callable[[Routine], bool]) -> tuple[Expr, list[Fused]]:
    """Return `expr` with routines in place of loops that `fits` takes, and the routines."""
    found: list[Fused] = []
    equations = []
    for equation, _ in expr.located():
        if is_loop(equation) and (routine := _routine(expr, equation)) and fits(routine):
            inputs = _inputs(expr, equation)
            found.append(Fused(routine))
            equation = Equation(found[-1], inputs, equation.outputs)
        equations.append(equation)
    return (dataclasses.replace(expr, equations=tuple(equations)) if found else expr), found


def is_loop(equation: Equation) -> bool:
    """Whether an equation runs a program again and again."""
    primitive = equation.primitive
    if not primitive.holds_programs or primitive.effect or primitive.axis_names:
        return False
    return isinstance(primitive.uncut.control_flow, (Repeat, Until))


def _inputs(expr: Expr, equation: Equation) -> tuple[int, ...]:
    """Return what an equation reads that is not a number known now."""
    known = {v for v in expr.constants if not expr.types[v].shape}
    return tuple([v for v in dict.fromkeys(equation.inputs) if v not in known])


def _routine(expr: Expr, equation: Equation) -> Routine | None:
    """Return the routine that is one equation; None if its arrays are large."""
    inputs = _inputs(expr, equation)
    alone = dataclasses.replace(
        expr,
        inputs=inputs,
        constants={v: expr.constants[v] for v in equation.inputs if v not in inputs},
        equations=(equation,),
        sources=(None,),
        outputs=equation.outputs,
        captured=0,
    )
    if any(not math.prod(t.shape) for v in (*inputs, *equation.outputs) for t in [alone.types[v]]):
        return None
    steps = schedule(alone, prepare=_prepared)
    return None if any(_is_large(t) for t in _types_within(steps)) else Routine(steps)


def _prepared(expr: Expr) -> Expr:
    """Return a program whose elementwise equations are all in kernels, and whose loops are run step by step."""
    equations = [e._replace(primitive=e.primitive.uncut) for e in expr.equations]
    expr = dataclasses.replace(expr, equations=tuple(equations))
    return fuse(without_units(expr), every=True)[0]


def _is_large(type_: ArrayType) -> bool:
    return type_.nbytes > LARGE or not math.prod(type_.shape)


def _types_within(steps: Schedule) -> Iterator[ArrayType]:
    """Yield the types of what steps of loops and branches compute."""
    pending = [part for step in steps.steps for part in _parts(step, steps)]
    while pending:
        part = pending.pop()
        made = [step.results for step in part.steps if isinstance(step, Call)]
        yield from [part.types[v] for results in made for v in results]
        pending += [inner for step in part.steps for inner in _parts(step, part)]


def _parts(step: Step, steps: Schedule) -> list[Schedule]:
    if not isinstance(step, Control):
        return []
    return [part for _, part, *_ in within(step, steps.types)]
