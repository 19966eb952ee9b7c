"""The primitive that a kernel is in a program."""

from __future__ import annotations

from typing import Any

from fungrad.compile.kernels.kernel import Kernel
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType


class Fused(Primitive):
    """Runs a kernel."""

    name = "kernel"
    interned = False
    kernel: Kernel

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, kernel: Kernel) -> None:
        object.__setattr__(self, "kernel", kernel)

    def compiled(self, function: Any) -> None:
        """Have it run by a function of arrays."""
        object.__setattr__(self, "native", function)

    @property
    def multiple_results(self) -> bool:
        """Whether there is more than one output."""
        return len(self.kernel.outputs) != 1

    def abstract_eval(self, *types: ArrayType) -> Any:
        found = tuple([output.type for output in self.kernel.outputs])
        return found if self.multiple_results else found[0]

    def impl(self, xp: Any, *operands: Any) -> Any:
        found = self.kernel.interpret(*operands)
        return tuple(found) if self.multiple_results else found[0]

    def __repr__(self) -> str:
        """Show what it goes over and how much it computes there."""
        return f"kernel[space={self.kernel.space}, nodes={len(self.kernel.nodes)}]"
