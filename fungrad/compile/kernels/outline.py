"""Which equations of a program become routines: what computes with small arrays alone, one beside the other, and loops that do.

A call of NumPy's takes as long as computing some thousand elements, and a step of a loop on small arrays is all calls. Equations
are taken in order: those that can be in a routine wait for others, and take their place in the program as soon as somebody outside needs
what they compute.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from fungrad.compile.flow import Choice, Repeat, Until
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.compile.kernels.orders import turned
from fungrad.compile.kernels.routine import Routine, calls, routine_of
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType

SMALL = 1 << 16
"""Bytes of an array up to which the equations that read it or compute it may be in a routine."""
LARGE = 1 << 18
"""Bytes of an array up to which a step of a loop may compute it: beyond, NumPy's functions serve it as well."""
LONGEST = 1 << 10
"""How many equations are one routine: compilers take longer than in proportion."""
FEWEST = 2
"""How many calls are worth a routine."""


HasForm: TypeAlias = Callable[[Primitive, Sequence[ArrayType], ArrayType], bool]


def outlined(
    expr: Expr, fits: Callable[[Routine], bool], has_form: HasForm
) -> tuple[Expr, list[Fused]]:
    """Return `expr` with routines in place of what they compute, and the routines.

    `fits` says whether a routine can be compiled, and `has_form` whether an equation that holds no programs could be in one.
    """
    found = _Outliner(expr, fits, has_form)
    return found.outlined(), found.routines


class _Outliner:
    def __init__(self, expr: Expr, fits: Callable[[Routine], bool], has_form: HasForm) -> None:
        self.expr = expr
        self.fits = fits
        self.has_form = has_form
        self.given = list(expr.located())
        self.order: list[tuple[Equation, object]] = []
        self.routines: list[Fused] = []
        self.group: list[int] = []
        self.made: set[int] = set()  # by the group
        self.turned = turned(expr)
        self.returned = frozenset(expr.outputs)
        self.last = {v: n for n, e in enumerate(expr.equations) for v in e.inputs}

    def outlined(self) -> Expr:
        for number, (equation, _) in enumerate(self.given):
            if self._can_join(equation):
                self.group.append(number)
                self.made.update(equation.outputs)
                if len(self.group) >= LONGEST:
                    self._close()
            else:
                if not self.made.isdisjoint(equation.inputs):
                    self._close()
                self.order.append(self.given[number])
        self._close()
        if not self.routines:
            return self.expr
        equations, sources = zip(*self.order, strict=True)
        return dataclasses.replace(self.expr, equations=equations, sources=sources)

    def _can_join(self, equation: Equation) -> bool:
        """Whether an equation may be in a routine, if it has a form there."""
        primitive, inputs, outputs = equation
        types = self.expr.types
        if primitive.effect or primitive.axis_names or not outputs:
            return False
        if any(not types[v].size for v in (*inputs, *outputs)):
            return False
        if primitive.holds_programs:
            flow = primitive.uncut.control_flow
            if isinstance(flow, (Repeat, Until)):
                return not any(_is_large(t) for t in _computed(flow))
            if flow is None:
                return False
        lies = self.returned.intersection(outputs)
        if not self.turned.isdisjoint(lies):
            return False
        if any(types[v].nbytes > SMALL for v in (*inputs, *outputs)):
            return False
        operands = [types[v] for v in inputs]
        return primitive.holds_programs or self.has_form(primitive, operands, types[outputs[0]])

    def _close(self) -> None:
        """Put the equations that wait into the program: as a routine, or each loop as one, or as they are."""
        group, self.group, self.made = self.group, [], set()
        if self._place_routine(group):
            return
        for number in group:
            equation, _ = self.given[number]
            alone = equation.primitive.holds_programs and len(group) > 1
            if not (alone and self._place_routine([number])):
                self.order.append(self.given[number])

    def _place_routine(self, group: list[int]) -> bool:
        """Put a routine of these equations into the program, if it is worth it and fits."""
        part = self._part(group)
        if part is None:
            return False
        equations = [self.given[number][0] for number in group]
        lies = {v for e in equations if is_of_elements(e.primitive) for v in e.outputs}
        seen = [v for v in part.outputs if v in lies and v in self.returned]
        internal = not any(self.expr.types[v].ndim > 1 for v in seen)
        routine = routine_of(part, internal)
        if calls(routine.steps) < FEWEST or not self.fits(routine):
            return False
        self.routines.append(Fused(routine))
        place = Equation(self.routines[-1], part.inputs, part.outputs)
        self.order.append((place, self.given[group[-1]][1]))
        return True

    def _part(self, group: list[int]) -> Expr | None:
        """Return some equations as a program; None if nobody needs what they compute, or that is known."""
        equations = [self.given[number][0] for number in group]
        made = dict.fromkeys(v for e in equations for v in e.outputs)
        read = dict.fromkeys(v for e in equations for v in e.inputs if v not in made)
        known = {v: self.expr.constants[v] for v in read if self._is_number(v)}
        outside = [v in self.returned or self.last.get(v, -1) > group[-1] for v in made]
        needed = [v for v, flag in zip(made, outside, strict=True) if flag]
        if not needed:
            return None
        return dataclasses.replace(
            self.expr,
            inputs=tuple([v for v in read if v not in known]),
            constants=known,
            equations=tuple(equations),
            sources=tuple([self.given[number][1] for number in group]),
            outputs=tuple(needed),
            captured=0,
        )

    def _is_number(self, v: int) -> bool:
        return v in self.expr.constants and not self.expr.types[v].shape


def _computed(flow: Repeat | Until) -> Iterable[ArrayType]:
    """Yield the types of what the steps of a loop compute."""
    if isinstance(flow, Until):
        pending = [flow.condition, flow.body]
    else:
        pending = [body for _, body in flow.spans]
        pending += [flow.before] if flow.before is not None else []
    while pending:
        expr = pending.pop()
        for primitive, _, outputs in expr.equations:
            inner = primitive.uncut.control_flow if primitive.holds_programs else None
            if isinstance(inner, Choice):
                pending += inner.branches
            elif isinstance(inner, Until):
                pending += [inner.condition, inner.body]
            elif isinstance(inner, Repeat):
                pending += [body for _, body in inner.spans]
            else:
                yield from [expr.types[v] for v in outputs]


def _is_large(type_: ArrayType) -> bool:
    return type_.nbytes > LARGE or not math.prod(type_.shape)
