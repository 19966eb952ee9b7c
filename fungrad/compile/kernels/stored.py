"""Scalars of all dtypes: those that are stored otherwise than they are computed with, too.

float16 and bfloat16 are computed with in float32 and rounded after each operation (`narrow.py`), complex numbers part by
part (`complexes.py`). The nodes that are recorded compute with no others than booleans, integers, float32 and float64.
"""

from __future__ import annotations

from typing import Any

from fungrad.compile.kernels import complexes, narrow
from fungrad.compile.kernels.operations import DType, NotScalar
from fungrad.compile.kernels.scalar import Scalar, Scalars
from fungrad.core.types import is_added


class Stored(Scalars):
    """Records operations on scalars of all dtypes."""

    def constant(self, value: Any, dtype: DType) -> Scalar:
        if dtype.kind == "c":
            return complexes.constant(self, value, dtype)
        return super().constant(value, dtype)

    def arithmetic(self, operation: str, *values: Any, kinds: str = "iuf") -> Scalar:
        operands = self.operands(*values)
        dtype = operands[0].dtype
        if dtype.kind == "c":
            return complexes.arithmetic(self, operation, *operands)
        if not narrow.is_narrow(dtype):
            return super().arithmetic(operation, *operands, kinds=kinds)
        if operation in ("max", "min"):
            self.ordered(*operands)
        wide = super().arithmetic(operation, *self.widened(*operands), kinds=kinds)
        return self.convert(wide, dtype)

    def comparison(self, operation: str, x: Any, y: Any) -> Scalar:
        operands = self.operands(x, y)
        if operands[0].dtype.kind == "c":
            return complexes.comparison(self, operation, *operands)
        if operation not in ("eq", "ne"):
            self.ordered(*operands)
        return super().comparison(operation, *self.widened(*operands))

    def ordered(self, *operands: Scalar) -> None:
        """Require that no NaN is among ordered scalars, where NumPy would warn of it."""
        for x in (
            operands
        ):  # of ml_dtypes, whose functions take that for an invalid operation, as C does
            if is_added(x.dtype) and self.nodes[x.index].operation != "constant":
                self.require(self.comparison("eq", x, x))

    def widened(self, *operands: Scalar) -> tuple[Scalar, ...]:
        """Return scalars in the dtype that is computed in with theirs."""
        return tuple([narrow.widened(self, x) for x in operands])

    def reduce(self, operation: str, x: Scalar) -> Scalar:
        """Return a reduction along the row: of narrow numbers in the wider dtype, rounded once."""
        if x.dtype.kind == "c":
            parts = [self.reduce(operation, part) for part in complexes.parts(self, x)]
            return complexes.joined(self, *parts)
        if operation in ("reduce_max", "reduce_min"):
            self.ordered(x)
        (wide,) = self.widened(x)
        return self.convert(self.node(operation, wide.dtype, wide), x.dtype)

    def convert(self, x: Scalar, dtype: DType) -> Scalar:
        if dtype == x.dtype:
            return x
        if dtype.kind == "c":
            return complexes.converted(self, x, dtype)
        if x.dtype.kind == "c" and dtype.kind != "b":
            raise NotScalar(f"{dtype} of {x.dtype}")
        if narrow.is_narrow(dtype):
            return narrow.narrowed(self, narrow.widened(self, x), dtype)
        if dtype.kind == "b":
            return self.comparison("ne", x, 0)
        x = narrow.widened(self, x)
        return x if dtype == x.dtype else super().convert(x, dtype)

    def bitcast(self, x: Scalar, dtype: DType) -> Scalar:
        if "c" in (x.dtype.kind, dtype.kind):
            raise NotScalar(f"the bits of {x.dtype} as {dtype}")
        return super().bitcast(x, dtype)

    def where(self, p: Scalar, x: Any, y: Any) -> Scalar:
        x, y = self.operands(x, y)
        if x.dtype.kind == "c":
            return complexes.where(self, p, x, y)
        return super().where(p, x, y)

    def sign(self, x: Scalar) -> Scalar:
        usual = super().sign(x)
        if is_added(x.dtype):  # in ml_dtypes zero keeps its sign
            return self.where(self.comparison("eq", x, 0), x, usual)
        return usual

    # Complex numbers

    def complex(self, x: Scalar, y: Scalar) -> Scalar:
        """Return the complex number of two parts."""
        return complexes.joined(self, x, y)

    def real(self, x: Scalar) -> Scalar:
        """Return the real part."""
        return complexes.parts(self, x)[0] if x.dtype.kind == "c" else x

    def imag(self, x: Scalar) -> Scalar:
        """Return the imaginary part, of a complex number."""
        return complexes.parts(self, x)[1]

    def conjugate(self, x: Scalar) -> Scalar:
        """Return the complex conjugate; a real number itself."""
        return complexes.conjugate(self, x) if x.dtype.kind == "c" else x

    def reciprocal(self, x: Scalar) -> Scalar:
        return complexes.reciprocal(self, x) if x.dtype.kind == "c" else super().reciprocal(x)

    def isfinite(self, x: Scalar) -> Scalar:
        if x.dtype.kind == "c":
            return self.logical_and(*map(super().isfinite, complexes.parts(self, x)))
        return super().isfinite(*self.widened(x))

    def isinf(self, x: Scalar) -> Scalar:
        if x.dtype.kind == "c":
            return self.logical_or(*map(super().isinf, complexes.parts(self, x)))
        return super().isinf(*self.widened(x))
