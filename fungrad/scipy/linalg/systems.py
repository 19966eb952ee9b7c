"""Linear systems, inverses, least squares, norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from fungrad.numpy.linalg.decompositions import cholesky_factor
from fungrad.numpy.linalg.operands import check_matrices, hermitian, matrices, numbers
from fungrad.numpy.linalg.systems import lstsq as numpy_lstsq
from fungrad.numpy.linalg.systems import solved
from fungrad.numpy.promotion import as_tracer, broadcast_to
from fungrad.numpy.shaping import reshaped
from fungrad.primitives.elimination import Permutation
from fungrad.primitives.linalg import Inv, Pinv, Solve, TriangularSolve
from fungrad.primitives.stacks import Triangle, adjoint, diagonal, symmetrized, transposed
from fungrad.scipy.arguments import double
from fungrad.scipy.mirrors import mirrors

__all__ = [
    "cho_solve", "det", "inv", "lstsq", "lu_solve", "norm", "pinv", "pinvh", "solve",
    "solve_triangular",
]  # fmt: skip

# How LAPACK is asked to take the matrix.
_TRANSPOSES = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def _system(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Return a matrix, right-hand sides as columns, and whether these were one vector."""
    x, y = numbers(a, b)
    check_matrices(x, square=True)
    is_vector = y.ndim == 1
    y = reshaped(y, (*y.shape, 1)) if is_vector else y
    if y.shape[-2] != x.shape[-1]:
        raise ValueError(f"shapes of a {x.shape} and b {np.shape(b)} are incompatible")
    return x, y, is_vector


def _result(x: Any, is_vector: bool) -> Any:
    return reshaped(x, x.shape[:-1]) if is_vector else x


def _transposed(a: Any, trans: Any) -> tuple[Any, bool]:
    """Return the matrix as `trans` says, and whether it was transposed."""
    kind = _TRANSPOSES.get(trans)
    if kind is None:
        raise ValueError(f"trans must be one of 0, 1, 2, 'N', 'T', 'C', got {trans!r}")
    return (a if kind == 0 else transposed(a) if kind == 1 else adjoint(a)), kind != 0


@mirrors(scipy.linalg.solve)
def solve(
    a: Any, b: Any, lower: bool = False, assume_a: Any = None, transposed: bool = False
) -> Any:
    """Of a symmetric or Hermitian matrix one triangle is read; derivatives are those by such matrices.

    Traced, a structure given by `assume_a` tells what to read; 'pos' is solved by Cholesky factors, triangles and
    diagonals as such, all others by LU decomposition.
    """
    x, y, is_vector = _system(a, b)
    if transposed and x.dtype.kind == "c":
        raise NotImplementedError(
            "scipy.linalg.solve can currently not solve a^T x = b or a^H x = b for complex matrices."
        )
    kind = _STRUCTURES.get("gen" if assume_a is None else assume_a)
    if kind is None:
        raise ValueError(f"{assume_a} is unrecognized matrix structure")
    if transposed:
        x, lower = np.matrix_transpose(x), not lower
        kind = {"upper": "lower", "lower": "upper"}.get(kind, kind)
    return _result(_solve_structured(x, y, kind, lower), is_vector)


_STRUCTURES = {
    "gen": "gen",
    "general": "gen",
    "banded": "gen",
    "pos": "pos",
    "sym": "sym",
    "symmetric": "sym",
    "her": "her",
    "hermitian": "her",
    "positive definite": "pos",
    "diagonal": "diagonal",
    "tridiagonal": "tridiagonal",
    "upper triangular": "upper",
    "lower triangular": "lower",
}


def _solve_structured(a: Any, b: Any, kind: str, lower: bool) -> Any:
    if kind == "diagonal":
        return b / diagonal(a)[..., :, None]
    if kind in ("upper", "lower"):
        return solved(TriangularSolve(kind == "lower"), a, b)
    if kind == "tridiagonal":
        return solved(Solve(), Triangle(True, 1)(Triangle(False, -1)(a)), b)
    if kind == "pos":
        factor = cholesky_factor(a, lower)
        return _by_cholesky(factor, lower, b)
    if kind == "her" or (kind == "sym" and a.dtype.kind != "c"):
        a = symmetrized(hermitian(a), lower)
    elif kind == "sym":
        half = Triangle(lower)(a) + Triangle(lower, -1 if lower else 1)(a)
        a = (half + transposed(half)) * 0.5
    return solved(Solve(), a, b)


@mirrors(scipy.linalg.solve_triangular)
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    x, y, is_vector = _system(a, b)
    x, was_transposed = _transposed(x, trans)
    is_lower = bool(lower) != was_transposed
    return _result(solved(TriangularSolve(is_lower, bool(unit_diagonal)), x, y), is_vector)


def _by_cholesky(factor: Any, lower: bool, b: Any) -> Any:
    low = factor if lower else adjoint(factor)
    half = solved(TriangularSolve(True), low, b)
    return solved(TriangularSolve(False), adjoint(low), half)


@mirrors(scipy.linalg.cho_solve)
def cho_solve(c_and_lower: Any, b: Any) -> Any:
    c, lower = c_and_lower
    x, y, is_vector = _system(c, b)
    return _result(_by_cholesky(x, bool(lower), y), is_vector)


@mirrors(scipy.linalg.lu_solve)
def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0) -> Any:
    packed, pivots = lu_and_piv
    x, y, is_vector = _system(packed, b)
    order = Permutation(x.shape[-1])(as_tracer(pivots))
    x, was_transposed = _transposed(x, trans)
    if not was_transposed:
        y = solved(TriangularSolve(True, True), x, _reordered(y, order))
        return _result(solved(TriangularSolve(False), x, y), is_vector)
    y = solved(TriangularSolve(False, True), x, solved(TriangularSolve(True), x, y))
    return _result(_reordered(y, np.argsort(order, -1)), is_vector)


def _reordered(y: Any, order: Any) -> Any:
    """Return the rows in another order."""
    stack = np.broadcast_shapes(y.shape[:-2], order.shape[:-1])
    y = broadcast_to(y, stack + y.shape[-2:])
    order = broadcast_to(reshaped(order, (*order.shape, 1)), y.shape)
    return np.take_along_axis(y, order, -2)


# Inverses


@mirrors(scipy.linalg.inv)
def inv(a: Any, *, assume_a: Any = None, lower: bool = False) -> Any:
    """See `solve` for `assume_a`."""
    x = matrices(a, square=True)
    if assume_a in (None, "gen", "general"):
        return Inv()(x)
    return solve(
        x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), lower, assume_a=assume_a
    )


@mirrors(scipy.linalg.det)
def det(a: Any) -> Any:
    """In double precision, as SciPy. The first and second derivatives are right for singular matrices too."""
    return np.linalg.det(double(a))


def _pseudoinverse(x: Any, s: Any, atol: Any, rtol: Any, is_hermitian: bool) -> tuple[Any, Any]:
    """Return it and the rank, given the singular values and SciPy's tolerances."""
    rtol = max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
    largest = np.max(s, -1, initial=0)
    cut = largest * rtol if atol is None else atol + largest * rtol
    rank = np.count_nonzero(np.greater(s, np.expand_dims(cut, -1)), axis=-1)
    relative = cut / np.where(np.greater(largest, 0), largest, 1)
    return Pinv(is_hermitian)(x, as_tracer(relative)), rank


@mirrors(scipy.linalg.pinv)
def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False) -> Any:
    """The derivative is for changes that keep the rank."""
    x = matrices(a)
    inverse, rank = _pseudoinverse(x, np.linalg.svdvals(x), atol, rtol, False)
    return (inverse, rank) if return_rank else inverse


@mirrors(scipy.linalg.pinvh)
def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False
) -> Any:
    """The derivative is for changes that keep the rank, by Hermitian matrices."""
    x = symmetrized(hermitian(a), lower)
    inverse, rank = _pseudoinverse(x, np.abs(np.linalg.eigvalsh(x)), atol, rtol, True)
    return (inverse, rank) if return_rank else inverse


@mirrors(scipy.linalg.lstsq)
def lstsq(a: Any, b: Any, cond: Any = None) -> Any:
    """Derivatives are for changes that keep the rank.

    Traced, singular values are always computed, and residuals are NaN where the rank is less than the number of
    columns, while SciPy leaves them out.
    """
    x, y = numbers(a, b)
    if x.ndim != 2:
        raise ValueError("Input array a should be 2D")
    if x.shape[0] != y.shape[0]:
        raise ValueError(
            "Shape mismatch: a and b should have the same number of rows "
            f"({x.shape[0]} != {y.shape[0]})."
        )
    cond = np.finfo(x.dtype).eps if cond is None else cond
    solution, residuals, rank, s = numpy_lstsq(x, y, cond)
    if y.ndim == 1 and x.shape[0] > x.shape[1]:
        residuals = reshaped(residuals, ())
    return solution, residuals, rank, s


@mirrors(scipy.linalg.norm)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The derivative at 0 of norms that have none is 0."""
    return np.linalg.norm(as_tracer(a), ord, axis, keepdims)
