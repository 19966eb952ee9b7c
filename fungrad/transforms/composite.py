"""Functions of fungrad recorded as one equation, such as a density or `logsumexp`.

Such a function is written with others, some fifty operations; recording and rewriting them would take most of the time of an
un-jitted program. So it is traced once for the types of its operands, and what is recorded is a call of that program.
A gradient that is computed at once runs it, and pulls a cotangent back by another program that is made once; all
rewriting puts the equations in the place of the call.

Design: docs/design/16-composites-and-foreign-primitives.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core.cached import cached_property
from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling, Cut, Expr
from fungrad.core.mode import PROGRAM
from fungrad.core.primitive import primitive
from fungrad.core.trace import Trace
from fungrad.core.types import ArrayType
from fungrad.rewrite.reverse import cut_expr
from fungrad.transforms.called import Call


@primitive
class Composite(Calling):
    """A function of fungrad's own, as the program that it is for operands of some types."""

    name: str
    program: Program = dataclasses.field(repr=False)

    interned = False
    whole = True

    @property
    def callee(self) -> Expr:
        return self.program.expr

    @property
    def parts(self) -> Mapping[str, Any]:
        return {"program": self.program}

    @cached_property
    def can_fail(self) -> bool:
        """Whether an equation of the program can."""
        return self.program.can_fail

    def infer(self, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
        return self.program.expr.output_types

    def impl(self, xp: Any, *operands: Any) -> Any:
        return self.program(*operands)[0]

    def cut(self, flags: Sequence[bool]) -> Cut:
        key = tuple(flags)
        return self._cuts.get(key) or self._cuts.setdefault(key, self._cut(key))

    @cached_property
    def _cuts(self) -> dict[tuple[bool, ...], Cut]:
        return {}

    def _cut(self, flags: tuple[bool, ...]) -> Cut:
        forward, backward, needed, reached = cut_expr(self.callee, flags)
        back = None
        if any(reached):
            back = Call(f"{self.name} backwards", Program(_unplaced(backward)))
        return Cut(Call(self.name, Program(_unplaced(forward))), back, needed, reached)

    def __repr__(self) -> str:
        """Show the function called."""
        return self.name


def _unplaced(expr: Expr) -> Expr:
    """Return a program without the places where it was recorded: it stands for calls at many."""
    return dataclasses.replace(expr, sources=(None,) * len(expr.equations))


def composite(
    name: str, function: Callable[..., Any], types: Sequence[ArrayType]
) -> Composite | None:
    """Return a function of arrays of such types as a primitive; None if its result is no new array."""
    with Trace(name, PROGRAM) as trace:
        inputs = [trace.new_input(t) for t in types]
        expr = trace.expr_of([function(*inputs)])
    if not expr.equations or not expr.output_types[0].inexact:
        return None
    return Composite(name, Program(_unplaced(inline(expr))))
