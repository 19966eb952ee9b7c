"""Factors of sparse matrices of traced data: `splu` and `factorized` of `scipy.sparse.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse
import scipy.sparse.linalg

from fungrad.core.tracer import Tracer
from fungrad.scipy.arguments import operand
from fungrad.scipy.glossary import public
from fungrad.scipy.sparse import products
from fungrad.scipy.sparse.arrays import SparseArray
from fungrad.typing import Array, ArrayLike

__all__ = ["Factors", "factorized", "splu"]


class Factors:
    """A sparse matrix of traced data, to be solved for.

    Attributes
    ----------
    shape
        Its shape.
    """

    def __init__(self, matrix: SparseArray) -> None:
        self._matrix, self.shape = matrix, matrix.shape

    def solve(self, rhs: ArrayLike, trans: str = "N") -> Array:
        """Return the solution for the matrix ("N"), its transpose ("T") or conjugate transpose ("H")."""
        if trans not in ("N", "T", "H"):
            raise ValueError(f'solve: trans must be "N", "T" or "H", got {trans!r}')
        matrix = self._matrix if trans == "N" else self._matrix.T
        return products.solution(matrix.conj() if trans == "H" else matrix, operand(rhs))


@public
def splu(
    A: SparseArray | scipy.sparse.sparray | scipy.sparse.spmatrix,
    permc_spec: str | None = None,
    diag_pivot_thresh: float | None = None,
    relax: int | None = None,
    panel_size: int | None = None,
    options: dict[str, Any] | None = None,
) -> scipy.sparse.linalg.SuperLU | Factors:
    """Factorize a sparse matrix, to solve systems of it.

    Parameters
    ----------
    A
        A square sparse matrix, SciPy's or one of traced data.
    permc_spec, diag_pivot_thresh, relax, panel_size, options
        How SciPy eliminates. Matrices of traced data are factorized by its defaults, when a system is solved.

    Returns
    -------
    SuperLU or Factors
        SciPy's ``SuperLU``; of traced data an object with `shape` and ``solve(rhs, trans="N")``.

    Examples
    --------
    >>> import scipy.sparse
    >>> from fungrad.scipy import sparse
    >>> A = scipy.sparse.csc_array([[1.0, 2.0], [0.0, 4.0]])
    >>> def f(data):
    ...     return linalg.splu(sparse.csc_array((data, A.indices, A.indptr), A.shape)).solve(np.ones(2)).sum()
    >>> fg.grad(f)(A.data)
    array([-0.5   , -0.25  ,  0.0625])
    """
    traced = _traced("splu", A)
    if traced is not None:
        return Factors(traced)
    return scipy.sparse.linalg.splu(A, permc_spec, diag_pivot_thresh, relax, panel_size, options)


@public
def factorized(
    A: SparseArray | scipy.sparse.sparray | scipy.sparse.spmatrix,
) -> Callable[[ArrayLike], Array]:
    """Return the function that solves systems of a sparse matrix, by `splu`.

    Examples
    --------
    >>> import scipy.sparse
    >>> linalg.factorized(scipy.sparse.csc_array([[1.0, 2.0], [0.0, 4.0]]))(np.ones(2))
    array([0.5 , 0.25])
    """
    traced = _traced("factorized", A)
    if traced is not None:
        return Factors(traced).solve
    return scipy.sparse.linalg.factorized(A)


def _traced(label: str, matrix: Any) -> SparseArray | None:
    """Return a matrix if its data are traced; raise an error if it is no square sparse matrix then."""
    if type(matrix) is Tracer:
        raise TypeError(
            f"{label} takes a sparse matrix of SciPy, not a traced array; for arrays there is "
            "fungrad.numpy.linalg.solve"
        )
    if not isinstance(matrix, SparseArray):
        return None
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{label}: matrix must be square (has shape {matrix.shape})")
    return matrix
