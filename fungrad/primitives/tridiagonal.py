"""Tridiagonal systems; reductions by reflections to tridiagonal, Hessenberg and triangular form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from fungrad.core.backend import to_host
from fungrad.core.config import settings
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import neg
from fungrad.primitives.shaping import expand
from fungrad.primitives.slices import shift
from fungrad.primitives.stacks import OfMatrices, real_type, scaled_rows


@primitive
class TridiagonalSolve(Primitive):
    """Solve ``T x = b`` with tridiagonal T, for matrices b; linear in b.

    Row i of T has ``lower[i]``, ``middle[i]``, ``upper[i]``, of which ``lower[0]`` and ``upper[-1]`` do not
    count. All operands have the same stacking axes. With `gtsv` of LAPACK: elimination with interchanges.
    On the host for CuPy's arrays.
    """

    can_fail = True

    def abstract_eval(
        self, lower: ArrayType, middle: ArrayType, upper: ArrayType, b: ArrayType
    ) -> ArrayType:
        operands = (lower, middle, upper, b)
        if b.ndim < 2 or any(t.shape != b.shape[:-1] for t in operands[:3]):
            raise ValueError(
                f"{self.name} takes diagonals of shape (..., n) and b (..., n, k), got {operands}"
            )
        if any(t.dtype != b.dtype for t in operands) or not b.inexact:
            raise TypeError(
                f"{self.name} takes real or complex arrays of one dtype, got {operands}"
            )
        return b.update(weak=False)

    def impl(self, xp: Any, lower: Any, middle: Any, upper: Any, b: Any) -> Any:
        wide = np.result_type(b.dtype, np.float32)
        hosted = [to_host(x).astype(wide) for x in (lower, middle, upper, b)]
        (solve,) = scipy.linalg.get_lapack_funcs(("gtsv",), hosted)
        out = np.empty(b.shape, wide)
        for i in np.ndindex(b.shape[:-2]) if out.size else ():
            below, on, above, given = [x[i] for x in hosted]
            if len(on) > 1:
                *_, out[i], info = solve(below[1:], on, above[:-1], given)
            else:
                out[i], info = given / np.where(on == 0, 1, on), int(on[0] == 0)
            if info and settings.get().soft:
                out[i] = np.nan
            elif info:
                raise np.linalg.LinAlgError("Singular matrix")
        return xp.asarray(out.astype(b.dtype, copy=False))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        *diagonals, moved = tangents
        axis = len(out.shape) - 2
        for t, by in zip(diagonals, (1, 0, -1), strict=True):
            if t is not None:
                term = neg(scaled_rows(t, shift(out, axis, by)))
                moved = term if moved is None else moved + term
        return self(*operands[:3], moved)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        lower, middle, upper, _ = operands
        if any(isinstance(x, Linear) for x in (lower, middle, upper)):
            raise self.missing("transpose")
        axis = len(middle.shape) - 1
        return None, None, None, self(shift(upper, axis, 1), middle, shift(lower, axis, -1), ct)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        return self(*[expand(size, x, b) for x, b in zip(operands, batched, strict=True)])


@primitive
class PackedHessenberg(OfMatrices):
    """The Hessenberg form of square matrices as LAPACK's `gehrd` packs it, and the factors of reflections.

    The vectors of the reflections are below the first subdiagonal. On the host for CuPy's arrays.
    """

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        stack = self.check_square(a)
        return a.update(weak=False), a.update(shape=(*stack, max(a.shape[-1] - 1, 0)), weak=False)

    def impl(self, xp: Any, a: Any) -> Any:
        def packed(a: Any) -> tuple[Any, ...]:
            if len(a) < 2:
                return a, a[0, :0]
            (reduce,) = scipy.linalg.get_lapack_funcs(("gehrd",), (a,))
            return reduce(a)[:2]  # type: ignore[no-any-return]

        return self.one_by_one(xp, packed, a)


@primitive
class PackedTridiagonal(OfMatrices):
    """The tridiagonal form of Hermitian matrices as LAPACK's `sytrd` and `hetrd` pack it.

    One triangle is read. Results are the matrices with the vectors of the reflections in that triangle, the
    diagonal, the other diagonal and the factors of the reflections. On the host for CuPy's arrays.
    """

    lower: bool

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        stack = self.check_square(a)
        n = a.shape[-1]
        factors = a.update(shape=(*stack, max(n - 1, 0)), weak=False)
        middle = real_type(a.update(shape=(*stack, n), weak=False))
        return a.update(weak=False), middle, real_type(factors), factors

    def impl(self, xp: Any, a: Any) -> Any:
        name = "hetrd" if a.dtype.kind == "c" else "sytrd"

        def packed(a: Any) -> tuple[Any, ...]:
            if len(a) < 2:
                return a, a.diagonal().real, a[0, :0].real, a[0, :0]
            (reduce,) = scipy.linalg.get_lapack_funcs((name,), (a,))
            return reduce(a, lower=self.lower)[:4]  # type: ignore[no-any-return]

        return self.one_by_one(xp, packed, a)


@primitive
class PackedQr(OfMatrices):
    """QR packed as by LAPACK's `geqrf`, transposed: R with the reflection vectors; their factors.

    On the host for CuPy's arrays.
    """

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        *stack, m, n = a.shape
        packed = a.update(shape=(*stack, n, m), weak=False)
        return packed, a.update(shape=(*stack, min(m, n)), weak=False)

    def impl(self, xp: Any, a: Any) -> Any:
        return self.one_by_one(xp, lambda a: np.linalg.qr(a, mode="raw"), a)
