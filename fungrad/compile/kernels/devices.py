"""Elementwise operations in kernels for GPUs: CuPy's results, up to rounding.

Kernels on the CPU may require something of their arguments; if it fails, NumPy computes the call again. A kernel on a GPU cannot
ask for that, and nothing warns there. So operations that need a requirement are refused (`NotScalar`), and elementary
functions, which hold for all arguments, are CUDA's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.compile.kernels.meaning import Namespace
from fungrad.compile.kernels.operations import DType, Node, NotScalar
from fungrad.compile.kernels.scalar import Scalar
from fungrad.core.types import is_added


class DeviceNamespace(Namespace):
    """NumPy's functions of one element each, recorded as operations that CUDA has."""

    def node(self, operation: str, dtype: DType, *operands: Scalar, value: Any = None) -> Scalar:
        if is_added(dtype):
            raise NotScalar(f"devices have no {dtype}")
        return super().node(operation, dtype, *operands, value=value)

    def require(self, truth: Scalar) -> None:
        raise NotScalar("kernels on a GPU cannot ask for a rerun")

    def in_range(self, x: Scalar, dtype: DType) -> None:
        """Require nothing: floats out of the range of an integer convert as in C and CuPy."""

    def within(self, place: Scalar, length: int) -> Scalar:
        """Return an index as CuPy takes it: modulo the length of the axis."""
        rest = self.node("rem", place.dtype, place, self.constant(length, place.dtype))
        return self.where(self.comparison("lt", rest, 0), self.add(rest, length), rest)

    def finished(self) -> tuple[Sequence[Node], Sequence[int], Sequence[int]]:
        return (
            self.nodes,
            (),
            range(len(self.nodes)),
        )  # elementary functions stay: CUDA has them by these names

    def work(self) -> int:
        return len(self.nodes)
