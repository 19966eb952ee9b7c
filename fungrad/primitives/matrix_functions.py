"""Functions of square matrices (`expm`, `logm`, `sqrtm`), polar decomposition, Sylvester's equation.

SciPy computes them, on CuPy's arrays on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import neg
from fungrad.primitives.linalg import Solve
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.stacks import (
    LinearInSecond,
    OfMatrices,
    OfSquare,
    adjoint,
    below,
    beside,
    columns,
    matmul,
    rows,
    transposed,
)
from fungrad.primitives.ufunc import total


@primitive
class Sylvester(OfMatrices):
    """Solve ``a x + x b = q`` for x. Linear in q."""

    can_fail = True

    def abstract_eval(self, a: ArrayType, b: ArrayType, q: ArrayType) -> ArrayType:
        self.check_stacks(a, b, q)
        self.check_square(a)
        self.check_square(b)
        if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
            raise ValueError(f"sylvester: {a}, {b} and {q} do not fit together")
        return q.update(weak=False)

    def impl(self, xp: Any, a: Any, b: Any, q: Any) -> Any:
        return self.one_by_one(xp, scipy.linalg.solve_sylvester, a, b, q)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_a, t_b, t_q), (a, b, _) = tangents, operands
        terms = [] if t_q is None else [t_q]
        terms += [] if t_a is None else [neg(matmul(t_a, out))]
        terms += [] if t_b is None else [neg(matmul(out, t_b))]
        return self(a, b, total(terms))

    def transpose(self, ct: Any, a: Any, b: Any, q: Any) -> tuple[Any, ...]:
        if isinstance(a, Linear) or isinstance(b, Linear):
            raise self.missing("transpose")
        return None, None, self(transposed(a), transposed(b), ct)


@primitive
class Polar(OfMatrices):
    """U with orthonormal columns and the positive semidefinite P with ``a = U P``.

    Matrices have no more columns than rows. With dU = U W + (I - U U^H) dA P^-1, W being anti-Hermitian, the
    Hermitian dP gives ``P W + W P = U^H dA - dA^H U``: N. Higham, "Functions of Matrices" (2008), chapter 8.
    Unlike with the SVD, repeated singular values do no harm. Columns must be independent.
    """

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        stack = self.check_stacks(a)
        m, n = a.shape[-2:]
        if m < n:
            raise ValueError(f"polar takes matrices with no more columns than rows, got {a}")
        return a.update(weak=False), a.update(shape=(*stack, n, n), weak=False)

    def impl(self, xp: Any, a: Any) -> tuple[Any, ...]:
        w, s, vh = xp.linalg.svd(a, full_matrices=False)
        v = xp.conj(xp.swapaxes(vh, -1, -2))
        return xp.matmul(w, vh), xp.matmul(v * s[..., None, :], vh)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        (t,), (u, p) = tangents, out
        moved = matmul(adjoint(u), t)
        turn = Sylvester()(p, p, moved - adjoint(moved))
        t_u = matmul(u, turn)
        if t.shape[-2] > t.shape[-1]:
            rest = t - matmul(u, moved)
            inverse = Solve()(transposed(p), transposed(rest))  # rest P^-1, transposed
            t_u = t_u + transposed(inverse)
        return t_u, moved - matmul(turn, p)


@primitive
class SquareRoot(OfSquare):
    """The principal square roots. Of real matrices they must be real.

    The derivative solves ``X dX + dX X = dA``: N. Higham, "Functions of Matrices" (2008), section 6.1.
    """

    can_fail = True

    def impl(self, xp: Any, a: Any) -> Any:
        return self.one_by_one(xp, _real_of_real("sqrtm"), a)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return Sylvester()(out, out, tangents[0])


@primitive
class MatrixFunction(OfSquare):
    """A function of square matrices: `function` is its name in `scipy.linalg`, expm or logm.

    The value for a real matrix must be real.
    """

    function: str

    can_fail = True

    def impl(self, xp: Any, a: Any) -> Any:
        return self.one_by_one(xp, _real_of_real(self.function), a)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return Frechet(self.function)(operands[0], tangents[0])


@primitive
class Frechet(LinearInSecond):
    """The derivative of a `MatrixFunction` f at `a` in direction `e`. Linear in e.

    It is a block of f of a larger matrix: ``f([[a, e], [0, a]]) = [[f(a), L(a, e)], [0, f(a)]]``. So is each
    derivative of it, and the transpose is L(a^T, .): R. Mathias, "A chain rule for matrix functions and
    applications" (1996); A. Al-Mohy and N. Higham, "Computing the Fréchet derivative of the matrix
    exponential, with an application to condition number estimation" (2009).
    """

    function: str

    def impl(self, xp: Any, a: Any, e: Any) -> Any:
        function = _real_of_real(self.function)

        def derivative(a: Any, e: Any) -> Any:
            # Of a direction as large as the matrix: a larger one would cost accuracy, a smaller one digits.
            scale = (np.abs(e).max() or 1) / (np.abs(a).max() or 1)
            value = function(np.block([[a, e / scale], [np.zeros_like(a), a]]))
            n = len(a)
            return value[:n, n:] * scale

        return self.one_by_one(xp, derivative, a, e)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_a, t_e), (a, e) = tangents, operands
        moved = None if t_e is None else self(a, t_e)
        if t_a is None:
            return moved
        zeros, n = zeros_like(a), a.shape[-1]
        whole = self(_blocks(a, e, zeros, a), _blocks(t_a, zeros, zeros, t_a))
        corner = columns(rows(whole, 0, n), n, 2 * n)
        return corner if moved is None else moved + corner


def _blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    return below(beside(a, b), beside(c, d))


def _real_of_real(name: str) -> Callable[[Any], Any]:
    """Return a function of SciPy that refuses real matrices whose image is complex."""
    function = getattr(scipy.linalg, name)

    def checked(a: Any) -> Any:
        value = function(a)
        if value.dtype.kind == "c" != a.dtype.kind:
            raise ValueError(
                f"{name} of this real matrix is complex, while the dtype of a traced result cannot depend on values: "
                "give it a complex matrix, A.astype(complex)"
            )
        return value

    return checked


@primitive
class Schur(OfMatrices):
    """T, triangular up to blocks of two rows if `real`, and the unitary Z of ``a = Z T Z^H``."""

    real: bool

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        self.check_square(a)
        dtype = a.dtype if self.real else np.result_type(a.dtype, np.complex64)
        return (a.update(dtype=dtype, weak=False),) * 2

    def impl(self, xp: Any, a: Any) -> Any:
        output = "real" if self.real else "complex"
        return self.one_by_one(xp, lambda a: scipy.linalg.schur(a, output), a)


@primitive
class Hessenberg(OfMatrices):
    """H, zero below the first subdiagonal, and the unitary Q of ``a = Q H Q^H``."""

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        self.check_square(a)
        return (a.update(weak=False),) * 2

    def impl(self, xp: Any, a: Any) -> Any:
        return self.one_by_one(xp, lambda a: scipy.linalg.hessenberg(a, calc_q=True), a)
