"""The primitive that a kernel is in a program."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType


class Function(Protocol):
    """A function of machine code: a kernel or a routine."""

    @property
    def followed(self) -> Collection[int]:
        """Operands whose memory layout externally visible outputs follow.

        Layouts of other operands do not matter: outputs are in C order.
        """

    @property
    def told_apart(self) -> Collection[int]:
        """Operands whose zero strides matter, because NumPy's own function copies them and chooses the layout."""

    @property
    def summary(self) -> str:
        """Its index space, and its amount of work."""

    @property
    def operand_types(self) -> Sequence[ArrayType]:
        """Types of its operands."""

    @property
    def output_types(self) -> Sequence[ArrayType]:
        """Types of its results."""

    @property
    def work(self) -> int:
        """About how many operations on elements it is."""

    @property
    def over(self) -> Mapping[int, int]:
        """By the number of an output, the operand over which it is written."""

    def places_for(self, output: int) -> list[int]:
        """Return the operands over which an output can be written."""

    def written(self, over: Mapping[int, int]) -> Function:
        """Return the version that writes outputs over operands."""

    def can_be_given(self, output: int) -> bool:
        """Whether an output can be written to an array that is given."""

    def into(self, outputs: Sequence[int]) -> Function:
        """Return the version with more operands, after the others, into which it writes outputs."""

    def interpret(self, *arrays: Any) -> list[Any]:
        """Return the outputs by NumPy's functions."""


class Fused(Primitive):
    """Runs a kernel, or a routine."""

    name = "kernel"
    interned = False
    kernel: Function

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, kernel: Function) -> None:
        object.__setattr__(self, "kernel", kernel)

    def compiled(self, function: Any) -> None:
        """Have it run by a function of arrays."""
        object.__setattr__(self, "native", function)

    def places_for(self, result: int) -> list[int]:
        """Return the operands over which a result can be written."""
        return self.kernel.places_for(result)

    def over(self, places: Mapping[int, int]) -> Fused:
        """Return the version that writes results over operands, given by the number of the result."""
        return Fused(self.kernel.written(places)) if places else self

    def into(self, results: Sequence[int]) -> Fused:
        """Return the version with more operands, after the others, into which it writes results."""
        return Fused(self.kernel.into(results)) if results else self

    @property
    def multiple_results(self) -> bool:
        """Whether there is more than one output."""
        return len(self.kernel.output_types) != 1

    def abstract_eval(self, *types: ArrayType) -> Any:
        return self.from_sequence(self.kernel.output_types)

    def impl(self, xp: Any, *operands: Any) -> Any:
        return self.from_sequence(self.kernel.interpret(*operands))

    def __repr__(self) -> str:
        """Show its index space and amount of work."""
        return self.kernel.summary
