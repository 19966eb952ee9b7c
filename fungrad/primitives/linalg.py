"""Solutions of linear systems and inverses, batched over leading axes.

The derivatives of both are in M. Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from fungrad.core.backend import target_of
from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import neg
from fungrad.primitives.shaping import Reshape, move_axis
from fungrad.primitives.stacks import (
    LinearInSecond,
    OfMatrices,
    OfNumpy,
    OfSquare,
    Triangle,
    adjoint,
    matmul,
    product_of_three,
    symmetrized,
)


class LinearSystem(LinearInSecond):
    """Solves ``a x = b`` for matrices b; linear in b."""

    can_fail = True

    def fit(self, a: ArrayType, b: ArrayType) -> bool:
        return b.shape[-2] == a.shape[-1]

    def matrix(self, a: Any) -> Any:
        """Return the part of `a` that counts."""
        return a

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_a, t_b), (a, _) = tangents, operands
        if t_a is None:
            return self(a, t_b)
        moved = neg(matmul(self.matrix(t_a), out))
        return self(a, moved if t_b is None else t_b + moved)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        a, b = operands
        if batched[0]:
            return super().batch(size, batched, *operands)
        # One matrix for the whole batch: it is factorized once, the batch is more columns.
        *stack, n, k = b.shape[1:]
        wide = Reshape((*stack, n, k * size))(move_axis(b, 0, len(b.shape) - 1))
        x = Reshape((*stack, n, k, size))(self(a, wide))
        return move_axis(x, len(b.shape) - 1, 0)


@primitive
class Solve(OfNumpy, LinearSystem):
    """Solve ``a x = b`` for square matrices a; singular ones raise `LinAlgError`."""

    function = "solve"

    def failed(self, *matrices: Any) -> Any:
        a, b = matrices
        return _eliminated(a, b)


@primitive
class TriangularSolve(LinearSystem):
    """Solve ``a x = b`` for triangular matrices; of `a` only that triangle is read.

    With `unit_diagonal` its diagonal counts as ones.
    """

    lower: bool
    unit_diagonal: bool = False

    by_columns = True

    def matrix(self, a: Any) -> Any:
        strict = -1 if self.lower else 1
        return Triangle(self.lower, strict if self.unit_diagonal else 0)(a)

    def of_transposed(self) -> LinearSystem:
        return TriangularSolve(not self.lower, self.unit_diagonal)

    def impl(self, xp: Any, a: Any, b: Any) -> Any:
        target = target_of(xp)
        if target.on_host and a.ndim == 2 and a.size and b.size:
            return self._by_lapack(a, b)
        if not target.on_host and a.size and b.size:  # cuBLAS has substitution of stacks, too
            solve = target.scipys("linalg").solve_triangular
            return solve(a, b, lower=self.lower, unit_diagonal=self.unit_diagonal)
        # For stacks the loop over matrices inside of `solve` beats a loop in Python.
        triangle = (xp.tril if self.lower else xp.triu)(a)
        if self.unit_diagonal:
            diagonal = xp.arange(a.shape[-1])
            triangle[..., diagonal, diagonal] = 1
        return xp.linalg.solve(triangle, b)

    def _by_lapack(self, a: Any, b: Any) -> Any:
        """Return `scipy.linalg.solve_triangular`, which takes twenty times as long for small matrices."""
        solve = _TRTRS.get(a.dtype.char) if a.dtype == b.dtype else None
        if solve is None:
            options = {"lower": self.lower, "unit_diagonal": self.unit_diagonal}
            return scipy.linalg.solve_triangular(a, b, **options, check_finite=False)
        # LAPACK reads columns one after the other, as the rows of an array in C order are those of its transpose.
        turned = not a.flags.f_contiguous
        x, failed = solve(
            a.T if turned else a,
            b,
            lower=self.lower != turned,
            trans=turned,
            unitdiag=self.unit_diagonal,
        )
        if failed:
            raise np.linalg.LinAlgError(
                f"singular matrix: resolution failed at diagonal {failed - 1}"
            )
        return x

    def failed(self, *matrices: Any) -> Any:
        a, b = matrices
        return _substituted(a, b, self.lower, self.unit_diagonal)


_TRTRS = {
    dtype: getattr(scipy.linalg.lapack, f"{name}trtrs") for dtype, name in zip("fdFD", "sdcz")
}


def _substituted(a: Any, b: Any, lower: bool, unit_diagonal: bool) -> Any:
    """Solve with a triangular matrix, dividing by its zeros too: missing solutions are inf and NaN."""
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (a, b))
    return trsm(1, a, b, lower=lower, diag=unit_diagonal)


def _eliminated(a: Any, b: Any) -> Any:
    """Solve with a singular matrix by elimination, dividing by its zero pivots too."""
    (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (a,))
    factors, swaps, _ = getrf(a)
    b = b.copy()
    for i, j in enumerate(swaps):
        b[[i, j]] = b[[j, i]]
    return _substituted(factors, _substituted(factors, b, True, True), False, False)


@primitive
class Inv(OfNumpy, OfSquare):
    """The inverses; a singular matrix raises `LinAlgError`."""

    function = "inv"
    can_fail = True

    def failed(self, *matrices: Any) -> Any:
        (a,) = matrices
        return _eliminated(a, np.eye(len(a), dtype=a.dtype))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return neg(matmul(matmul(out, tangents[0]), out))


@primitive
class Pinv(OfMatrices):
    """The pseudoinverses; singular values up to `rcond` times the largest count as 0.

    The second operand is `rcond`, one for each matrix. The derivative is for changes that keep the rank:
    G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
    problems whose variables separate" (1973), eq. 4.12.
    """

    hermitian: bool = False

    def abstract_eval(self, a: ArrayType, rcond: ArrayType) -> ArrayType:
        if rcond.shape != self.check_stacks(a):
            raise ValueError(f"pinv takes one rcond for each matrix, got {rcond} for {a}")
        return a.update(shape=(*a.shape[:-2], a.shape[-1], a.shape[-2]), weak=False)

    def impl(self, xp: Any, a: Any, rcond: Any) -> Any:
        return (
            np.linalg.pinv(a, rcond, hermitian=self.hermitian)
            if target_of(xp).on_host
            else _pinv(xp, a, rcond)
        )

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t, _), (a, _) = tangents, operands
        if t is None:
            return None
        if self.hermitian:  # of which the lower triangle is read
            a, t = symmetrized(a), symmetrized(t)
        back, inverse = adjoint(t), adjoint(out)
        left = product_of_three(out, inverse, back)
        right = product_of_three(back, inverse, out)
        moved = left - product_of_three(left, a, out) + right - product_of_three(out, a, right)
        return moved - product_of_three(out, t, out)


def _pinv(xp: Any, a: Any, rcond: Any) -> Any:
    """Return `numpy.linalg.pinv`, for libraries whose `pinv` takes one `rcond`."""
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    if not s.size:
        return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    kept = s > rcond[..., None] * xp.max(s, axis=-1, keepdims=True)
    inverse = kept / xp.where(kept, s, 1)
    scaled = xp.conj(xp.swapaxes(vh, -1, -2)) * inverse[..., None, :]
    return xp.matmul(scaled, xp.conj(xp.swapaxes(u, -1, -2))).astype(a.dtype)
