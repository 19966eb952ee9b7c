"""Scalars in kernels of devices: what CuPy's functions make of them, whose bits of rounding these need not be.

Nothing warns there, and a kernel cannot ask for all to be computed again. So what is right for a part of the arguments alone is no
operation of theirs; functions that hold for all arguments are, by the names that NumPy has for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fungrad.compile.kernels.meaning import Namespace
from fungrad.compile.kernels.operations import FUNCTIONS, DType, NotScalar
from fungrad.compile.kernels.scalar import Scalar
from fungrad.core.types import is_added, kind_of


class DeviceNamespace(Namespace):
    """NumPy's functions of scalars, as devices have them."""

    def node(self, operation: str, dtype: DType, *operands: Scalar, value: Any = None) -> Scalar:
        if is_added(dtype):
            raise NotScalar(f"devices have no {dtype}")
        return super().node(operation, dtype, *operands, value=value)

    def require(self, truth: Scalar) -> None:
        raise NotScalar("nobody asks on a device")

    def in_range(self, x: Scalar, dtype: DType) -> None:
        """Take a conversion of what is no integer as C does, and CuPy."""

    def within(self, place: Scalar, length: int) -> Scalar:
        """Return an index as CuPy takes it: modulo the length of the axis."""
        rest = self.node("rem", place.dtype, place, self.constant(length, place.dtype))
        return self.where(self.comparison("lt", rest, 0), self.add(rest, length), rest)

    def _of_floats(self, name: str, function: Callable[..., Any], *values: Any) -> Scalar:
        operands = self.operands(*values)
        dtype = operands[0].dtype
        if name not in FUNCTIONS or kind_of(dtype) != "f":
            return super()._of_floats(name, function, *values)
        wide = self.widened(*operands)
        return self.convert(self.node(name, wide[0].dtype, *wide), dtype)
