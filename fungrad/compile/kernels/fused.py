"""A block, which becomes one function of machine code, and the primitive that it is in a program."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType


class Block:
    """An index space (`Kernel`) or a schedule (`Routine`) that becomes one function.

    Attributes
    ----------
    summary
        Its extent, as printed programs show it.
    operand_types, output_types
        Types of its operands and of its results.
    work
        About how many operations on elements it is.
    followed
        Operands whose memory layout externally visible outputs follow. Layouts of other operands do not matter: outputs are in C order.
    told_apart
        Operands whose zero strides matter, because NumPy's own function copies them and chooses the layout.
    over
        By the number of an output, the operand over which it is written.
    """

    summary: str
    operand_types: Sequence[ArrayType]
    output_types: Sequence[ArrayType]
    work: int
    followed: Collection[int]
    told_apart: Collection[int]
    over: Mapping[int, int] = {}

    def places_for(self, output: int) -> list[int]:
        """Return the operands over which an output can be written."""
        return []

    def can_be_given(self, output: int) -> bool:
        """Whether an output can be written to an array that is given."""
        return False

    def written(self, over: Mapping[int, int]) -> Block:
        """Return the version that writes outputs over operands."""
        raise NotImplementedError(f"{self.summary} writes over nothing")

    def into(self, outputs: Sequence[int]) -> Block:
        """Return the version with more operands, after the others, into which it writes outputs."""
        raise NotImplementedError(f"{self.summary} makes its results")

    def interpret(self, *arrays: Any) -> list[Any]:
        """Return the outputs by NumPy's functions, as an oracle for compilers."""
        raise NotImplementedError


class Fused(Primitive):
    """Runs a kernel, or a routine."""

    name = "kernel"
    interned = False
    kernel: Block

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, kernel: Block) -> None:
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
