"""Data of a trace: equations, their places, and facts known of the variables."""

from __future__ import annotations

import bisect
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

from fungrad.core.errors import Source, describe_source
from fungrad.core.expr import Expr, as_equation
from fungrad.core.mode import NOTHING, Facts, Given, Mode
from fungrad.core.primitive import Primitive
from fungrad.core.recorder import CLOSED, SeenAs
from fungrad.core.turns import Turn
from fungrad.core.types import ArrayType


class Lookups:
    """Answers that a trace remembers about its variables."""

    captured: dict[Hashable, tuple[int, Any]] = NOTHING
    """The variables of captured values, each with the value as it was captured."""
    constants: Any = None
    """The `Constants`, once one has been asked for; likewise `Moving`."""
    moving: Any = None


class Recording:
    """A program that is being recorded: the data of a trace, which makes it.

    Attributes
    ----------
    label
        What is running, for error messages.
    types
        Of every variable.
    equations
        In the order of the user's Python.
    sources
        Where each was recorded.
    inputs
        The variables of the arguments.
    captures
        The arrays and tracers that the function closes over, by variable.
    constants
        Captured arrays that are part of the program instead, by variable.
    values
        What is known, by variable; None if the arguments have no values.
    known
        For each evaluated equation: its number of equations after inlining, and their results.
    mode
        What the trace is for.
    turn
        The context in which a thread has its turn to record.
    facts, given
        What is noted of the run, and of its inputs: see `mode.py`.
    lookups
        What has been looked up of variables.
    """

    __slots__ = (
        "captures",
        "constants",
        "equations",
        "facts",
        "given",
        "inputs",
        "known",
        "label",
        "lookups",
        "mode",
        "sources",
        "turn",
        "types",
        "values",
    )

    parts: ClassVar[bool] = False
    """Whether it is of calls that are mapped, which are parted where Python asks for a value."""

    label: str
    into: Any  # of `Trace`
    types: list[ArrayType]
    equations: list[tuple[Primitive, tuple[int, ...], tuple[int, ...]]]
    sources: list[Source | None]
    inputs: list[int]
    captures: dict[int, Any]
    constants: dict[int, Any]
    values: dict[int, Any] | None
    known: list[tuple[int, Sequence[Any]]]
    mode: Mode
    turn: Turn
    facts: Facts
    given: Given
    lookups: Lookups

    @property
    def done(self) -> int:
        """How many equations have been evaluated."""
        return len(self.known)

    @property
    def open(self) -> bool:
        """Whether it still records."""
        return self.into is not CLOSED

    def evaluate(self) -> None:
        """Compute all that has been recorded."""
        raise NotImplementedError

    def answer(self, variable: int, seen_as: SeenAs = None) -> Any:
        """Return the value of a variable that Python needs although arguments have none; or None."""
        if self.given.answers is not None:
            return self.given.answers.ask(self, variable, seen_as)
        return self.constant(variable, True)

    def constant(self, variable: int, ask: bool = False) -> Any:
        """Return the value of a variable that depends on no input, though these have none; else None."""
        raise NotImplementedError

    def expr(self, outputs: Sequence[int]) -> Expr:
        """Return the recorded program; captured arrays are its leading inputs."""
        leading = tuple(self.captures)
        expr = object.__new__(Expr)  # frozen: its `__init__` takes three times as long
        vars(expr).update(
            inputs=leading + tuple(self.inputs),
            equations=tuple(map(as_equation, self.equations)),
            outputs=tuple(outputs),
            types=tuple(self.types),
            constants=dict(self.constants),
            captured=len(leading),
            sources=tuple(self.sources),
        )
        return expr

    def maker(self, variable: int) -> tuple[Primitive | None, tuple[int, ...]]:
        """Return the primitive and operands that made a variable; None if it is no equation's only result."""
        equations = self.equations
        if equations and (last := equations[-1])[2] == (variable,):  # as of what was made just now
            return last[:2]
        n = len(equations)

        def first(i: int) -> int:  # equations without results stand where the next with one does
            while i < n and not equations[i][2]:
                i += 1
            return equations[i][2][0] if i < n else len(self.types)

        i = bisect.bisect_right(range(n), variable, key=first) - 1
        if i < 0 or equations[i][2] != (variable,):
            return None, ()
        return equations[i][:2]

    def origin(self, variable: int) -> str:
        """Say where a variable was made."""
        made = zip(self.equations, self.sources, strict=True)
        maker = next((source for e, source in made if variable in e[2]), None)
        if maker is None:
            return "it is one of the function's arguments"
        return f"it was computed at {describe_source(maker)}"
