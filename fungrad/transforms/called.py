"""A call of a jitted function within another transform, as an equation.

Design: docs/design/15-keeping-programs.md.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core.cached import cached_property
from fungrad.core.expr import Calling, Expr
from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType


@primitive
class Call(Calling):
    """A call of a jitted function. The transforms put the equations of `program` in its place."""

    name: str
    program: Program = dataclasses.field(repr=False)

    multiple_results = True
    interned = False  # a call is as good as its program, and goes when that goes

    @property
    def callee(self) -> Expr:
        return self.program.expr

    # Whether it is so of an equation of the program.
    effect = cached_property(lambda self: self.program.effect)
    is_collective = cached_property(lambda self: self.program.is_collective)
    can_fail = cached_property(lambda self: self.program.can_fail)

    def infer(self, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
        return self.abstract_eval(*types)

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.program.expr.output_types

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        return tuple(self.program(*operands))

    def __repr__(self) -> str:
        """Show the function called."""
        return f"call[{self.name}]"
