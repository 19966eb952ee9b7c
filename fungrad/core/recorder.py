"""The interface of a trace for its tracers and the functions applied to them.

Design: docs/design/04-one-tracer-and-levels.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from fungrad.core.errors import Source
from fungrad.core.types import ArrayType

if TYPE_CHECKING:
    from fungrad.core.mode import Facts, Given, Mode
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
    it records nothing is known here. Its methods are described there and in the classes that it is made of.
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

    @property
    def open(self) -> bool:
        """Whether it still records."""

    @property
    def parts(self) -> bool:
        """Whether it is of calls that are mapped, which are parted where Python asks for a value."""

    def close(self) -> None: ...
    def recorder(self) -> Recorder: ...
    def record(
        self, primitive: Any, operands: Sequence[Any], source: Source | None = None
    ) -> Any: ...
    def extend(
        self,
        primitive: Any,
        inputs: tuple[int, ...],
        out_types: tuple[ArrayType, ...],
        source: Source | None = None,
    ) -> Any: ...
    def lift(self, value: Any) -> Any: ...
    def capture(self, value: Any) -> int: ...
    def uniform(self, value: Any, type_: ArrayType, strides: tuple[int, ...]) -> Any: ...
    def evaluate(self) -> None: ...
    def settle(self, called_with: int) -> None: ...
    def constant(self, variable: int, ask: bool = False) -> Any: ...
    def answer(self, variable: int, seen_as: SeenAs = None) -> Any: ...
    def has_tangent(self, variable: int, by_this: bool = False) -> bool: ...
    def maker(self, variable: int) -> tuple[Any, tuple[int, ...]]: ...
    def origin(self, variable: int) -> str: ...
    def kept(self, x: Any) -> Any: ...
    def keeps(self, x: Any) -> bool: ...
    def raise_leaked(self, operands: Sequence[Any]) -> NoReturn: ...
