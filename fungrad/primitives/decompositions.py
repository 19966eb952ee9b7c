"""Decompositions of matrices, batched over leading axes: Cholesky, QR, SVD, eigenvalues.

A decomposition may leave a vector free up to a sign, a phase or a rotation. Its derivative follows the choice that is
stated with it. Functions that do not depend on the choice have the right derivatives for any. Where singular values
or eigenvalues repeat, their vectors have no derivative: it is NaN, unless nothing turns them (`gaps.py`). Those of
the values do not look at it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import absolute, cast, complex_, imag, is_complex, real, select
from fungrad.primitives.gaps import over_gaps
from fungrad.primitives.indexing import take_along_axis
from fungrad.primitives.linalg import Solve, TriangularSolve
from fungrad.primitives.reductions import ArgMax
from fungrad.primitives.shaping import Reshape, full, zeros_like
from fungrad.primitives.stacks import (
    OfMatrices,
    OfNumpy,
    OfSquare,
    Triangle,
    adjoint,
    below,
    beside,
    column_products,
    columns,
    diagonal,
    diagonal_matrix,
    half_diagonal,
    inverse_or_nan,
    inverse_sums,
    matmul,
    real_part,
    real_type,
    rows,
    scaled_columns,
    symmetrized,
    transposed,
)


@primitive
class Cholesky(OfNumpy, OfSquare):
    """The lower triangular L with ``L L^H = a``, of Hermitian `a`, whose lower triangle is read.

    I. Murray, "Differentiation of the Cholesky decomposition" (2016).
    """

    function = "cholesky"
    can_fail = True

    def spoilt(self, out: Any) -> Any:
        return np.tril(out)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        left = TriangularSolve(True)(out, symmetrized(tangents[0]))
        both = TriangularSolve(True)(out, adjoint(left))
        return matmul(out, half_diagonal(both))


@primitive
class Qr(OfMatrices):
    """Q with orthonormal columns and upper triangular R with ``Q R = a``.

    Q has as many columns as `a` has rows if `complete`, else at most as many as `a` has columns. The
    diagonal of R is real, as LAPACK makes it. The derivative needs the leading columns to be independent, as
    many as there can be: S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
    application in optimum experimental design" (2010), whose formula for square matrices extends to others.
    Columns of a complete Q that are orthogonal to all of `a` do not rotate among themselves.
    """

    complete: bool = False

    multiple_results = True
    keeps_order = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        stack = self.check_stacks(a)
        m, n = a.shape[-2:]
        k = m if self.complete else min(m, n)
        return a.update(shape=(*stack, m, k), weak=False), a.update(
            shape=(*stack, k, n), weak=False
        )

    def impl(self, xp: Any, a: Any) -> tuple[Any, ...]:
        return tuple(xp.linalg.qr(a, "complete" if self.complete else "reduced"))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        (t,), (q, r) = tangents, out
        m, n = t.shape[-2:]
        k = min(m, n)
        q1, r1 = columns(q, 0, k), rows(r, 0, k)
        triangle = columns(r1, 0, k)
        x = transposed(
            TriangularSolve(True)(transposed(triangle), transposed(columns(t, 0, k)))
        )  # t R^-1, of the first k columns
        g = matmul(adjoint(q1), x)
        turn = _anti_hermitian(g)
        t_q = matmul(q1, turn)
        if m > k:
            t_q = t_q + (x - matmul(q1, g))
        t_r = Triangle(False)(matmul(adjoint(q1), t) - matmul(turn, r1))
        if self.complete and m > k:
            q2 = columns(q, k, m)
            t_q2 = -matmul(q1, matmul(adjoint(t_q), q2))
            t_q = beside(t_q, t_q2)
            t_r = below(t_r, zeros_like(rows(r, k, m)))
        return t_q, t_r


def _anti_hermitian(g: Any) -> Any:
    """Return the anti-Hermitian matrix with which ``g`` minus it is upper triangular with real diagonal."""
    low = Triangle(True, -1)(g)
    turn = low - adjoint(low)
    return turn + diagonal_matrix(_imaginary(diagonal(g))) if is_complex(g) else turn


def _imaginary(x: Any) -> Any:
    """Return i Im(x)."""
    part = imag(x)
    return complex_(zeros_like(part), part)


@primitive
class Svd(OfMatrices):
    """U, s and V^H of ``a = U diag(s) V^H``; s alone without `vectors`.

    J. Townsend, "Differentiating the singular value decomposition" (2016); for complex matrices Z.-Q. Wan and
    S.-X. Zhang, "Automatic differentiation for complex valued SVD" (2019). What turns both vectors of a pair one way, and what
    turns them apart, are taken separately: the former is divided by differences of singular values, the latter by sums. A pair of complex vectors is
    free up to a common phase: that of V stays. Vectors of a full U or V beyond the number of
    singular values do not rotate among themselves. The derivative of a singular value at 0 is one-sided, and that
    of its vectors NaN where `a` is not square or is complex.
    """

    full_matrices: bool = False
    vectors: bool = True

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        stack = self.check_stacks(a)
        m, n = a.shape[-2:]
        k = min(m, n)
        s = real_type(a.update(shape=(*stack, k), weak=False))
        if not self.vectors:
            return (s,)
        left, right = (m, n) if self.full_matrices else (k, k)
        return (
            a.update(shape=(*stack, m, left), weak=False),
            s,
            a.update(shape=(*stack, right, n), weak=False),
        )

    def impl(self, xp: Any, a: Any) -> tuple[Any, ...]:
        if not self.vectors:
            return (xp.linalg.svd(a, compute_uv=False),)
        return tuple(xp.linalg.svd(a, full_matrices=self.full_matrices))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        (t,) = tangents
        if not self.vectors:
            u, _, vh = Svd()(operands[0])
            return (real_part(column_products(u, matmul(t, adjoint(vh)))),)
        u, s, vh = out
        m, n = t.shape[-2:]
        k = min(m, n)
        u1, v = columns(u, 0, k), adjoint(vh)
        v1 = columns(v, 0, k)
        moved = matmul(t, v1)
        p = matmul(adjoint(u1), moved)
        p_adjoint = adjoint(p)
        apart, twice_moved = over_gaps(p + p_adjoint, s)
        together = cast(inverse_sums(s), p) * (p - p_adjoint)
        half, s_type = full(ArrayType(p.shape, p.dtype), 0.5), ArrayType(s.shape, s.dtype)
        turn_u, turn_v = half * (apart + together), half * (apart - together)
        inverse = inverse_or_nan(s)
        if is_complex(p):
            turn_u = turn_u + diagonal_matrix(_imaginary(diagonal(p)) * cast(inverse, p))
        t_u, t_v = matmul(u1, turn_u), matmul(v1, turn_v)
        if m > k:
            t_u = t_u + scaled_columns(moved - matmul(u1, p), inverse)
        if n > k:
            back = matmul(adjoint(t), u1)
            t_v = t_v + scaled_columns(back - matmul(v1, p_adjoint), inverse)
        if self.full_matrices and m > k:
            rest = matmul(u1, matmul(adjoint(t_u), columns(u, k, m)))
            t_u = beside(t_u, -rest)
        if self.full_matrices and n > k:
            rest = matmul(v1, matmul(adjoint(t_v), columns(v, k, n)))
            t_v = beside(t_v, -rest)
        return t_u, real_part(twice_moved) * full(s_type, 0.5), adjoint(t_v)


@primitive
class Eigh(OfMatrices):
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices; without `vectors` the values.

    The lower, or upper, triangle is read. Giles (2008), section 3.1; a vector does not turn in its own
    direction, which for complex ones is a choice of the phase.
    """

    lower: bool = True
    vectors: bool = True

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        w = real_type(a.update(shape=(*self.check_square(a), a.shape[-1]), weak=False))
        return (w, a.update(weak=False)) if self.vectors else (w,)

    def impl(self, xp: Any, a: Any) -> tuple[Any, ...]:
        triangle = "L" if self.lower else "U"
        if not self.vectors:
            return (xp.linalg.eigvalsh(a, triangle),)
        return tuple(xp.linalg.eigh(a, triangle))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        t = symmetrized(tangents[0], self.lower)
        if not self.vectors:
            _, v = Eigh(self.lower)(operands[0])
            return (real_part(column_products(v, matmul(t, v))),)
        w, v = out
        moved = matmul(adjoint(v), matmul(t, v))
        turn, t_w = over_gaps(moved, w)
        return real_part(t_w), matmul(v, turn)


@primitive
class Eig(OfMatrices):
    """Eigenvalues and eigenvectors of square matrices, complex also if those are real.

    C. Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum
    beamforming" (2017). As LAPACK leaves them, vectors have norm 1 and their largest
    element is real; the derivative keeps that. Of matrices that have no basis of eigenvectors it raises
    `LinAlgError`, or overflows.
    """

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        v = a.update(dtype=np.result_type(a.dtype, np.complex64), weak=False)
        return v.update(shape=(*self.check_square(a), a.shape[-1])), v

    def impl(self, xp: Any, a: Any) -> tuple[Any, ...]:
        if not hasattr(xp.linalg, "eig"):
            raise NotImplementedError(
                "eigenvalues of matrices that are not Hermitian need CuPy 14; with an older one, move the "
                "matrix to the host: fungrad.numpy.linalg.eig(x.get())"
            )
        w, v = xp.linalg.eig(a)
        dtype = np.result_type(a.dtype, np.complex64)
        return w.astype(dtype), v.astype(dtype)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        w, v = out
        moved = Solve()(v, matmul(cast(tangents[0], v), v))
        turn, t_w = over_gaps(moved, w)
        t_v = matmul(v, turn)
        t_v = t_v - scaled_columns(v, _drift(v, t_v))
        return t_w, t_v


def _drift(v: Any, t_v: Any) -> Any:
    """Return the rates of change of the columns' norms and phases, which must be subtracted."""
    growth = real(column_products(v, t_v))
    axis = len(v.shape) - 2
    if not v.shape[axis]:
        return cast(growth, v)
    # The largest element has an imaginary part of exactly 0.
    size = absolute(v)
    is_real = imag(v) == zeros_like(size)
    largest = ArgMax(axis)(select(is_real, size, full(ArrayType(size.shape, size.dtype), -1)))
    where = Reshape((*v.shape[:-2], 1, v.shape[-1]))(largest)
    ratio = take_along_axis(t_v, where, axis) / take_along_axis(v, where, axis)
    turn = imag(Reshape(growth.shape)(ratio))
    return complex_(growth, turn)
