"""The interface of a trace for its tracers and the functions applied to them.

Design: docs/design/04-one-tracer-and-levels.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from fungrad.core.errors import Source
from fungrad.core.types import ArrayType

if TYPE_CHECKING:
    from fungrad.core.mode import Facts, Given, Late, Mode, Opening
    from fungrad.core.turns import Turn

CLOSED: Any = object()
"""In place of a trace that records, where none does any more."""


SeenAs: TypeAlias = type[bool] | type[int] | None
"""How much Python sees of a value: whether it is true, its whole part, or, with None, all."""


class Slots:
    """The layout of tracers and of the arrays that they may become (`core/kept.py`)."""

    # Private: other libraries ask any object for names such as `variable` (xarray).
    __slots__ = ("__weakref__", "_memory", "_owner", "_type", "_variable")


class Recorder(Protocol):
    """A trace as seen by its tracers and the functions applied to them.

    The trace itself (`core/trace.py`) stands above primitives, and these above tracers; so of the primitives that
    it records nothing is known here.
    """

    label: str
    level: int
    mode: Mode
    outer: Recorder | None
    into: Recorder | None
    values: dict[int, Any] | None
    types: list[ArrayType]
    sources: list[Source | None]
    inputs: list[int]
    captures: dict[int, Any]
    constants: dict[int, Any]
    source: Source | None
    turn: Turn
    facts: Facts
    given: Given
    late: Late
    opening: Opening

    @property
    def open(self) -> bool:
        """Whether it still records."""

    @property
    def parts(self) -> bool:
        """Whether it is of calls that are mapped, which are parted where Python asks for a value."""

    def close(self) -> None:
        """Record no more."""

    def recorder(self) -> Recorder:
        """Return the trace that records the current computation: this one, or an open branch."""

    def record(self, primitive: Any, operands: Sequence[Any], source: Source | None = None) -> Any:
        """Append the equation that applies a primitive and return the tracers of its results."""

    def extend(
        self,
        primitive: Any,
        inputs: tuple[int, ...],
        out_types: tuple[ArrayType, ...],
        source: Source | None = None,
        own_frames: int = 2,
    ) -> Any:
        """Append the equation of a one-result primitive on variables of this trace, where `into` is None."""

    def lift(self, value: Any) -> Any:
        """Return `value` as a tracer of this trace, or of the branch that records instead."""

    def capture(self, value: Any) -> int:
        """Return the variable that stands for `value`, an array or a tracer of another trace."""

    def uniform(self, value: Any, type_: ArrayType, strides: tuple[int, ...]) -> Any:
        """Return a new input of `type_` whose elements all are `value`, a 0-d array."""

    def evaluate(self) -> None:
        """Run the equations that are pending; values must be known."""

    def settle(self, called_with: int) -> None:
        """Take the first operands of the equation recorded last for its results: nothing is computed."""

    def constant(self, variable: int, ask: bool = False) -> Any:
        """Return the value of a variable that depends on no input, though these have none; else None.

        With `ask` it is needed: `asked` is what enclosing traces give.
        """

    def answer(self, variable: int, seen_as: SeenAs = None) -> Any:
        """Return the value of a variable with which Python goes on, if calls traced together differ in it.

        From then on only the calls that have this value are traced; or that are equal in what Python sees of it.
        """

    def has_tangent(self, variable: int, by_this: bool = False) -> bool:
        """Whether an open transform, or with `by_this` this one, may differentiate a variable."""

    def maker(self, variable: int) -> tuple[Any, tuple[int, ...]]:
        """Return the primitive and operands that made a variable; None if it is no equation's only result."""

    def origin(self, variable: int) -> str:
        """Say where a variable was made."""

    def kept(self, x: Any) -> Any:
        """Return the array that a constant of this closed trace becomes."""

    def keeps(self, x: Any) -> bool:
        """Make an array of a constant of this closed trace; whether it is one."""

    def raise_leaked(self, operands: Sequence[Any]) -> NoReturn:
        """Raise the error for the use of a tracer of this trace after it was closed."""
