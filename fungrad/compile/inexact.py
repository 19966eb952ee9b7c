"""Rewrites that save work at the price of rounding or of overflow, off by default.

`settings.inexact_algebra` asks for them. The rules of `passes/algebra.py`, which change no bit, are always on.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.compile.lower import Program
from fungrad.compile.passes.draft import Draft
from fungrad.compile.passes.share import share
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.elementwise import add, div, mul, sub
from fungrad.primitives.shaping import Broadcast

Rewrite: TypeAlias = Callable[["_Rewriting", Equation], int | None]
"""Signature: adds cheaper equations and returns their variable, equal but for rounding; or None."""


class Rule(NamedTuple):
    """A cheaper form of equations of a primitive."""

    name: str
    primitives: tuple[Primitive, ...]
    rewrite: Rewrite


def _by_reciprocal(program: _Rewriting, equation: Equation) -> int | None:
    x, y = equation.inputs
    value = program.uniform(y)
    if value is None or not value:
        return None
    with np.errstate(all="ignore"):
        reciprocal = 1 / value
    if not np.isfinite(reciprocal) or abs(reciprocal) < np.finfo(reciprocal.dtype).tiny:
        return None
    factor = program.uniform_like(y, reciprocal)
    return program.computed(mul, (x, factor))


def _common_factor(program: _Rewriting, equation: Equation) -> int | None:
    """As of ``x * y + x * z``, and of sums and differences of products of matrices."""
    (made, first), (other, second) = [program.made_alone(v) for v in equation.inputs]
    if made is None or made != other or not (made is mul or isinstance(made, DotGeneral)):
        return None
    for side, place in [(0, 0), (1, 1), *([(0, 1), (1, 0)] if made is mul else [])]:
        if first[side] != second[place]:
            continue
        rest = first[1 - side], second[1 - place]
        if program.types[rest[0]] is not program.types[rest[1]]:
            continue
        together = program.computed(equation.primitive, rest)
        return program.computed(made, (first[0], together) if side == 0 else (together, first[1]))
    return None


RULES = (
    Rule("x / c = x * (1 / c)", (div,), _by_reciprocal),
    Rule("x y + x z = x (y + z)", (add, sub), _common_factor),
)
"""Rules, by name. The second is for products of numbers and of matrices, as in derivatives."""


def inexact(expr: Expr) -> Expr:
    """Return the program with the rules applied, also in bodies of loops and branches."""
    return _Rewriting(share(expr)).run()  # what is equal has to be one variable


class _Rewriting(Draft):
    def __init__(self, expr: Expr) -> None:
        super().__init__(expr)
        self.made_by: dict[int, tuple[Primitive, tuple[int, ...]]] = {}
        self.readers = Counter([*expr.outputs, *[v for e in expr.equations for v in e.inputs]])

    def run(self) -> Expr:
        for equation in self.given():
            equation = equation._replace(primitive=_inside(equation.primitive))
            equal = self._instead(equation)
            if equal is None:
                self.add(*equation)
            else:
                out = equation.outputs[0]
                self.same[out] = equal
                self.readers[equal] += self.readers[out]
        return self.finished()

    def _instead(self, equation: Equation) -> int | None:
        out = self.types[equation.outputs[0]] if equation.outputs else None
        if out is None or out.dtype.kind not in "fc":
            return None
        for rule in RULES:
            if any(equation.primitive is p for p in rule.primitives):
                equal = rule.rewrite(self, equation)
                if equal is not None and self.types[equal] is out:
                    return equal
        return None

    def add(self, primitive: Primitive, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        super().add(primitive, inputs, outputs)
        if len(outputs) == 1:
            self.made_by[outputs[0]] = primitive, tuple(inputs)

    def computed(self, primitive: Primitive, inputs: Sequence[int]) -> int:
        self.readers.update(inputs)
        return super().computed(primitive, inputs)

    def uniform(self, v: int) -> Any:
        """Return the value of all elements of a variable; None if that is not known."""
        value = self.constants.get(self._spread(v))
        return value if isinstance(value, np.generic) else None

    def uniform_like(self, v: int, value: Any) -> int:
        """Return a new variable that is made as `v`, which is uniform, of another value."""
        old = self._spread(v)
        new = self.new(self.types[old])
        self.constants[new] = value
        return new if old == v else self.computed(self.made_by[v][0], (new,))

    def _spread(self, v: int) -> int:
        made, given = self.made_by.get(v, (None, ()))
        return given[0] if isinstance(made, Broadcast) else v

    def made_alone(self, v: int) -> tuple[Primitive | None, tuple[int, ...]]:
        """Return the primitive and operands that compute a variable, if it is read once."""
        return self.made_by.get(v, (None, ())) if self.readers[v] == 1 else (None, ())


def _inside(primitive: Any) -> Any:
    """Return the primitive with its bodies rewritten, if it holds programs."""
    if not primitive.holds_programs:
        return primitive
    rewritten: dict[str, Any] = {}
    for field in dataclasses.fields(primitive):
        value = getattr(primitive, field.name)
        if isinstance(value, Program):
            rewritten[field.name] = _rewritten(value)
        elif isinstance(value, tuple) and value and all(isinstance(x, Program) for x in value):
            rewritten[field.name] = tuple([_rewritten(x) for x in value])
    return primitive.replaced(**rewritten) if rewritten else primitive


def _rewritten(program: Program) -> Program:
    return Program(inexact(program.given), program.donated, True, program.borrowed)
