"""Scalars in kernels of devices: CuPy's meaning, without its exact bits of rounding.

Nothing warns there, and a kernel cannot ask for all to be computed again. So what is right for a part of the arguments alone is no
operation of theirs; functions that hold for all arguments are, by the names that NumPy has for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.compile.kernels.meaning import Namespace
from fungrad.compile.kernels.operations import DType, Node, NotScalar
from fungrad.compile.kernels.scalar import Scalar
from fungrad.core.types import is_added


class DeviceNamespace(Namespace):
    """NumPy's functions of scalars, as devices have them."""

    def node(self, operation: str, dtype: DType, *operands: Scalar, value: Any = None) -> Scalar:
        if is_added(dtype):
            raise NotScalar(f"devices have no {dtype}")
        return super().node(operation, dtype, *operands, value=value)

    def require(self, truth: Scalar) -> None:
        raise NotScalar("nobody asks on a device")

    def in_range(self, x: Scalar, dtype: DType) -> None:
        """Convert numbers out of range as C and CuPy do."""

    def within(self, place: Scalar, length: int) -> Scalar:
        """Return an index as CuPy takes it: modulo the length of the axis."""
        rest = self.node("rem", place.dtype, place, self.constant(length, place.dtype))
        return self.where(self.comparison("lt", rest, 0), self.add(rest, length), rest)

    def finished(self) -> tuple[Sequence[Node], Sequence[int], Sequence[int]]:
        return self.nodes, (), range(len(self.nodes))  # CUDA has functions of these names

    def work(self) -> int:
        return len(self.nodes)
