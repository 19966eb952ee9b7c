"""Outlining: groups of equations on small arrays, and loops of such, become routines.

A call of NumPy's takes as long as computing some thousand elements, and a step of a loop on small arrays is all calls. Equations
are taken in order. Those that can be in a routine wait for others, until an equation outside of the routine needs one of
their results.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from fungrad.compile.flow import ControlFlow, Repeat, Until, held, runs_python
from fungrad.compile.kernels.bounds import evenly
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.meaning import is_of_elements, work_of
from fungrad.compile.kernels.operations import DTYPES
from fungrad.compile.kernels.orders import turned, visible
from fungrad.compile.kernels.products import is_medium
from fungrad.compile.kernels.routine import Routine, calls, copied_by_loops, height, routine_of
from fungrad.compile.kernels.views import Views
from fungrad.compile.memory import assigns
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.steps import Schedule
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.convolution import Convolution
from fungrad.primitives.indexing import Scatter
from fungrad.primitives.shaping import Broadcast, Iota

SMALL = 1 << 16
"""Bytes of an array up to which the equations that read it or compute it may be in a routine."""
MATRIX = 1 << 11
"""Most bytes of a matrix in a stack, of any size, that a routine takes: it loops over the stack."""
LARGE = 1 << 18
"""Most bytes of an array computed by a step of a loop; for larger ones NumPy's functions are as fast."""
LARGEST = 1 << 13
"""Most operations of a routine: so many compile in a second or two; time grows faster than linearly."""
OTHERS = 1 << 5
"""Operations that an equation counts as which is not elementwise."""
MOST = 1 << 9
"""How many arrays a routine may take and give."""
COUNTED = 1 << 13
"""Most bytes of evenly spaced integers that are part of a routine."""
FEWEST = 2
"""How many calls are worth a routine."""


HasForm: TypeAlias = Callable[[Primitive, Sequence[ArrayType], ArrayType], bool]


def outlined(
    expr: Expr,
    fits: Callable[[Routine], bool],
    has_form: HasForm,
    scheduled: Callable[[Expr], Schedule],
) -> tuple[Expr, list[Fused]]:
    """Return `expr` with groups of equations replaced by routines, and the routines.

    `fits` says whether a routine can be compiled, and `has_form` whether an equation that holds no programs could be in one.
    `scheduled` gives the steps of a program that becomes a routine.
    """
    outliner = _Outliner(expr, fits, has_form, scheduled)
    return outliner.outlined(), outliner.routines


class _Outliner:
    def __init__(
        self,
        expr: Expr,
        fits: Callable[[Routine], bool],
        has_form: HasForm,
        scheduled: Callable[[Expr], Schedule],
    ) -> None:
        self.expr = expr
        self.scheduled = scheduled
        self.fits = fits
        self.has_form = has_form
        self.given = list(expr.located())
        self.order: list[tuple[Equation, Source | None]] = []
        self.routines: list[Fused] = []
        self.group: list[int] = []
        self.made: set[int] = set()  # by the group
        self.operations = 0  # of the group
        self.views = {
            e.outputs[0]: n for n, e in enumerate(expr.equations) if e.primitive.rearranges
        }
        self.bypassed = False  # a routine makes the views that it reads by itself
        self.turned = turned(expr)
        self.returned = frozenset(expr.outputs)
        self.visible = visible(expr)
        self.spread = {  # by variable: the number of the broadcast that it is
            e.outputs[0]: n
            for n, e in enumerate(expr.equations)
            if isinstance(e.primitive, Broadcast)
        }
        self.last = {v: n for n, e in enumerate(expr.equations) for v in e.inputs}
        self.accumulating = accumulating(expr)

    def outlined(self) -> Expr:
        for number, (equation, _) in enumerate(self.given):
            if self._can_join(number):
                self.group.append(number)
                self.made.update(equation.outputs)
                self.operations += self._operations(equation)
                if self.operations >= LARGEST:
                    self._close()
            else:
                if runs_python(equation.primitive) or not self.made.isdisjoint(equation.inputs):
                    self._close()
                product = self._product(number)
                if not (product and self._place_routine(product, alone=True)):
                    self.order.append(self.given[number])
        self._close()
        if not self.routines:
            return self.expr
        expr = self.expr.with_equations(self.order)
        return without_dead_code(expr) if self.bypassed else expr

    def _can_join(self, number: int) -> bool:
        """Whether an equation may be in a routine."""
        primitive, inputs, outputs = self.given[number][0]
        types = self.expr.types
        if primitive.effect or primitive.is_collective or not outputs:
            return False
        if any(not types[v].size for v in (*inputs, *outputs)):
            return False
        flow = primitive.uncut.control_flow if primitive.holds_programs else None
        if flow is not None:
            if any(_is_large(t) for t in _computed(flow)):
                return False
            if not (self.turned.isdisjoint(outputs) or self.turned.isdisjoint(self.returned)):
                return False  # something is returned that may lie as this does
        if not isinstance(flow, (Repeat, Until)):
            if number in self.accumulating:
                return True
            operands = [types[v] for v in inputs]
            stack = height(primitive, operands)
            most = max(SMALL, MATRIX * stack if stack > 1 else 0)
            if any(types[v].nbytes > most for v in (*inputs, *outputs)):
                return False
            if flow is None:
                return self.has_form(primitive, operands, types[outputs[0]])
        part, _ = self._part([number])
        if part is None:
            return False
        routine = routine_of(part, self.scheduled(part))
        return not any(_is_large(t) for t in copied_by_loops(routine.steps)) and self.fits(routine)

    def _product(self, number: int) -> list[int]:
        """Return the numbers of an equation and of the views it reads, if it is a routine by itself, else []."""
        primitive, inputs, _ = self.given[number][0]
        types = self.expr.types
        operands = [types[v] for v in inputs]
        if isinstance(primitive, Convolution):
            if not self.has_form(primitive, operands, types[self.given[number][0].outputs[0]]):
                return []
        elif not isinstance(primitive, DotGeneral) or not is_medium(primitive, *operands):
            return []
        numbers, pending = [number], [*inputs]
        while pending:
            v = pending.pop()
            made_by = self.views.get(v)
            if made_by is not None:
                numbers.append(made_by)
                pending += self.given[made_by][0].inputs
        return sorted({*numbers})

    def _operations(self, equation: Equation) -> int:
        """Return about how many operations an equation is."""
        primitive, inputs, outputs = equation
        if primitive.rearranges:
            return 1
        types = self.expr.types
        return (
            work_of(primitive, tuple([types[v] for v in inputs]), types[outputs[0]]).nodes
            if is_of_elements(primitive)
            else OTHERS
        )

    def _close(self) -> None:
        """Put the equations that wait into the program: as a routine, or each loop as one, or as they are."""
        group, self.group, self.made, self.operations = self.group, [], set(), 0
        if self._place_routine(group):
            return
        for number in group:
            alone = self.given[number][0].primitive.holds_programs and len(group) > 1
            if not (alone and self._place_routine([number])):
                self.order.append(self.given[number])

    def _place_routine(self, group: list[int], alone: bool = False) -> bool:
        """Put a routine of these equations into the program, if that pays and it can be compiled.

        `alone`: it is of one equation, and the views that it reads stay in the program, too.
        """
        part, outside = self._part(group)
        if part is None or len(part.inputs) + len(part.outputs) > MOST:
            return False
        routine = routine_of(part, self.scheduled(part), self.visible)
        many = any(isinstance(self.given[n][0].primitive, Convolution) for n in group)
        worth = many or calls(routine.steps) >= FEWEST or not self.accumulating.isdisjoint(group)
        if not (alone or worth) or not self.fits(routine):
            return False
        self.routines.append(Fused(routine))
        place = Equation(self.routines[-1], part.inputs, part.outputs)
        self.order.append((place, self.given[group[-1]][1]))
        if alone:
            self.bypassed = True
        else:
            self.order += [self.given[number] for number in outside]
        return True

    def _part(self, group: list[int]) -> tuple[Expr | None, list[int]]:
        """Return equations as a program, None if no result is needed; and those to be outside of it, too."""
        equations = [self.given[number][0] for number in group]
        made = dict.fromkeys(v for e in equations for v in e.outputs)
        needed = {v for v in made if v in self.returned or self.last.get(v, -1) > group[-1]}
        outside = []
        for number in reversed(group):
            primitive, inputs, outputs = self.given[number][0]
            # Views, counts along one of several axes, which are views too, and what does not lie in C order are for NumPy to make.
            turns = not (primitive.holds_programs or self.turned.isdisjoint(outputs))
            views = primitive.rearranges or (
                isinstance(primitive, Iota) and len(primitive.shape) > 1
            )
            if (turns or views) and not needed.isdisjoint(outputs):
                outside.append(number)
                needed.difference_update(outputs)
                needed.update(v for v in inputs if v in made)
        if not needed:
            return None, []
        outputs = tuple([v for v in made if v in needed])
        located = [self.given[number] for number in group]
        part = self.expr.with_equations(
            located, **self._given(equations), outputs=outputs, captured=0
        )
        part = without_dead_code(part)
        part = dataclasses.replace(part, **self._given(part.equations))
        return self._with_broadcasts(part), outside[::-1]

    def _with_broadcasts(self, part: Expr) -> Expr:
        """Return a part with the broadcasts that it reads inside, if that fits: as operands they are copied."""
        numbers: set[int] = set()
        pending = list(part.inputs)
        while pending:
            number = self.spread.get(pending.pop())
            if number is not None and number not in numbers:
                numbers.add(number)
                pending += self.given[number][0].inputs
        if not numbers:
            return part
        located = [self.given[number] for number in sorted(numbers)] + list(part.located())
        equations, sources = zip(*located, strict=True)
        given = self._given(equations)
        extended = dataclasses.replace(part, **given, equations=equations, sources=sources)
        return extended if self.fits(routine_of(extended, self.scheduled(extended))) else part

    def _given(self, equations: Sequence[Equation]) -> dict[str, Any]:
        """Return the inputs and constants of a program of some equations."""
        made = {v for e in equations for v in e.outputs}
        read = dict.fromkeys(v for e in equations for v in e.inputs if v not in made)
        known = {v: self.expr.constants[v] for v in read if self._is_known(v)}
        return {"inputs": tuple([v for v in read if v not in known]), "constants": known}

    def _is_known(self, v: int) -> bool:
        """Whether a constant is part of a routine: a number, or numbers that count the rounds of a loop."""
        x = self.expr.constants.get(v)
        short = self.expr.types[v].nbytes <= COUNTED
        return x is not None and (not np.ndim(x) or (short and evenly(x) is not None))


def accumulating(expr: Expr) -> set[int]:
    """Return the equations that add at index arrays to a new array, and those that make this array.

    The array may be of zeros, or a constant. Indices may repeat; NumPy's functions for that (`np.add.at`) take several
    times as long as a routine, so the equations may be in one however large the array is.
    """
    if not any(isinstance(e.primitive, Scatter) for e in expr.equations):
        return set()
    views, types = Views(expr, False), expr.types
    made: dict[int, int] = {}  # by variable, the equation that repeats a number
    scatters: set[int] = set()
    for number, equation in enumerate(expr.equations):
        views.take(equation)
        primitive, inputs, outputs = equation
        if isinstance(primitive, Broadcast) and not types[inputs[0]].shape:
            made[outputs[0]] = number
        elif isinstance(primitive, Scatter) and (inputs[0] in made or inputs[0] in expr.constants):
            integers = types[inputs[0]].dtype.kind in "iu"
            combines = primitive.kind in ("add", "mul") or (primitive.kind != "set" and integers)
            narrow = all(types[v].dtype != np.uint64 for v in inputs[2:])
            fits = {types[v].dtype for v in inputs} <= DTYPES and types[inputs[0]].dtype.kind != "b"
            sizes = all(types[v].size for v in inputs)
            if combines and narrow and fits and sizes and views.written(equation, True) is None:
                scatters.add(number)
    others = {v for n, e in enumerate(expr.equations) if n not in scatters for v in e.inputs}
    others.update(expr.outputs)
    scatters -= {n for n in scatters if expr.equations[n].inputs[0] in others.intersection(made)}
    return scatters | {made[v] for n in scatters if (v := expr.equations[n].inputs[0]) in made}


def _computed(flow: ControlFlow) -> Iterable[ArrayType]:
    """Yield the types of results within loops and branches; of assignments, the types of the elements."""
    pending = held(flow)
    while pending:
        expr = pending.pop()
        for primitive, inputs, outputs in expr.equations:
            inner = primitive.uncut.control_flow if primitive.holds_programs else None
            if inner is None:
                yield from [expr.types[v] for v in (inputs[1:2] if assigns(primitive) else outputs)]
            else:
                pending += held(inner)


def _is_large(type_: ArrayType) -> bool:
    return type_.nbytes > LARGE or not math.prod(type_.shape)
