"""Runners of loops that are not part of a compiled program."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import ModuleType
from typing import Any

from fungrad.compile.evaluated import evaluator, watcher
from fungrad.compile.lower import Program
from fungrad.core.backend import target_of
from fungrad.core.cached import cached_property
from fungrad.core.config import settings
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.programs.closing import shared

Run = Callable[..., list[Any]]


class Alone:
    """A loop as a compiled program of one equation; if `short`, Python runs it the first time."""

    def __init__(self, loop: Primitive, types: Sequence[ArrayType], short: bool) -> None:
        self.loop = loop
        self.types = types
        self._ran = not short

    @cached_property
    def program(self) -> Program:
        """The program."""
        return Program(Expr.of(self.loop, self.types), at_once=True)

    def compiled(self, xp: ModuleType) -> Run | None:
        """Return the compiled loop for arrays of the library `xp`; None if Python is to run it."""
        if not self._ran and target_of(xp).takes_scalars:
            self._ran = True
            return None
        return self.program.compiled(xp)


def compiled_loop(
    loop: Primitive,
    types: Sequence[ArrayType],
    xp: ModuleType,
    axis_names: frozenset[Hashable],
    short: bool = False,
) -> Run | None:
    """Return `loop` compiled for operands of `types`; None if Python is to run it step by step.

    Python runs it if values are watched, under named axes, and if compiling would take longer.
    """
    if settings.get().watched or axis_names:
        return None
    alone: Alone = shared(Alone, loop, tuple(types), short)
    return alone.compiled(xp)


def step_of(body: Program) -> Run:
    """Return the function that runs a body once, in loops that Python runs."""
    return watcher(body.expr) if settings.get().watched else evaluator(body.expr)
