"""LU decomposition, and the permutations that pivoting makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from fungrad.core.backend import to_host
from fungrad.core.config import settings
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType, array_type
from fungrad.primitives.indexing import take_along_axis
from fungrad.primitives.linalg import TriangularSolve
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.stacks import (
    OfMatrices,
    Triangle,
    below,
    beside,
    columns,
    identity_like,
    matmul,
    rows,
    transposed,
)


def _factors(a: Any) -> tuple[Any, Any]:
    (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (a,))
    factors, pivots, _ = getrf(a)
    return factors, pivots


@primitive
class Lu(OfMatrices):
    """The triangles L and U of a matrix with its rows interchanged, in one matrix; and the pivots.

    Row i is interchanged with row ``pivots[i]``, for each i in turn. L has ones on its diagonal, which
    are not stored. On CuPy's arrays the host computes: CuPy factorizes no stacks.
    """

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        shape = (*self.check_stacks(a), min(a.shape[-2:]))
        return a.update(weak=False), array_type(shape, np.dtype(np.int32))

    def impl(self, xp: Any, a: Any) -> Any:
        # Of singular matrices SciPy warns.
        return self.one_by_one(xp, _factors if settings.get().soft else scipy.linalg.lu_factor, a)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        (t,), (packed, pivots) = tangents, out
        m, n = t.shape[-2:]
        k = min(m, n)
        axis = len(t.shape) - 2
        order = Permutation(m)(pivots)
        t = take_along_axis(t, Broadcast(t.shape, (axis + 1,))(order), axis, unique=True)
        square = columns(rows(packed, 0, k), 0, k)
        low, up = TriangularSolve(True, True), TriangularSolve(True)  # U^T is lower triangular
        of_lower = low(square, columns(rows(t, 0, k), 0, k))
        upper = transposed(Triangle(False)(square))
        x = transposed(up(upper, transposed(of_lower)))  # L^-1 t U^-1
        t_lower, t_upper = Triangle(True, -1)(x), Triangle(False)(x)
        lower = Triangle(True, -1)(square) + identity_like(square)
        moved_upper = matmul(t_upper, transposed(upper))
        moved = matmul(lower, t_lower) + moved_upper
        if m > k:
            rest = rows(t, k, m) - matmul(rows(packed, k, m), moved_upper)
            moved = below(moved, transposed(up(upper, transposed(rest))))
        if n > k:
            rest = low(square, columns(t, k, n)) - matmul(t_lower, columns(packed, k, n))
            moved = beside(moved, rest)
        return moved, None


@primitive
class Permutation(Primitive):
    """The order in which interchanging item i with item ``pivots[i]``, for each i in turn, puts items.

    There are `length` items.
    """

    length: int

    differentiable = False

    def abstract_eval(self, pivots: ArrayType) -> ArrayType:
        if pivots.dtype.kind not in "iu":
            raise TypeError(f"pivots must be integers, got {pivots}")
        return array_type((*pivots.shape[:-1], self.length), np.dtype(np.int64))

    def impl(self, xp: Any, pivots: Any) -> Any:
        pivots = to_host(pivots)
        order = np.empty((*pivots.shape[:-1], self.length), np.int64)
        order[...] = range(self.length)
        for i in range(pivots.shape[-1]):
            other = pivots[..., i, None].astype(np.int64)
            mine = order[..., i, None].copy()
            order[..., i, None] = np.take_along_axis(order, other, -1)
            np.put_along_axis(order, other, mine, -1)
        return xp.asarray(order)

    def batch(self, size: int, batched: tuple[bool, ...], pivots: Any) -> Any:
        return self(pivots)


@primitive
class ColumnPivots(OfMatrices):
    """The order of columns that QR decomposition with pivoting takes. On the host for CuPy's arrays."""

    differentiable = False

    def abstract_eval(self, a: ArrayType) -> ArrayType:
        return array_type((*self.check_stacks(a), a.shape[-1]), np.dtype(np.int32))

    def impl(self, xp: Any, a: Any) -> Any:
        return self.one_by_one(xp, lambda a: scipy.linalg.qr(a, mode="r", pivoting=True)[1], a)
