"""Eigenvalue problems, also generalized ones."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.linalg

from fungrad.numpy.linalg.operands import hermitian, matrices, numbers
from fungrad.numpy.promotion import promote
from fungrad.primitives.decompositions import Cholesky, Eig, Eigh
from fungrad.primitives.linalg import Inv, Solve, TriangularSolve
from fungrad.primitives.stacks import adjoint, matmul, symmetrized
from fungrad.scipy.mirrors import Group, mirrors

__all__ = ["eig", "eigh", "eigh_tridiagonal", "eigvals", "eigvalsh", "eigvalsh_tridiagonal"]


@mirrors(scipy.linalg.eig)
def eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    """Derivatives keep vectors of norm 1 and their largest elements real.

    Traced, `b` must be invertible, and left vectors are for the problem without `b`.
    """
    if homogeneous_eigvals:
        raise TypeError(
            "eig: traced eigenvalues are not homogeneous; leave out `homogeneous_eigvals`"
        )
    if left and b is not None:
        raise TypeError(
            "eig: traced, there are no left vectors of a generalized problem; those of inv(b) @ a are"
        )
    w, v = Eig()(_with_inverse(a, b))
    results = [w]
    if left:
        dual = adjoint(Inv()(v))
        results.append(dual / np.linalg.norm(dual, axis=-2, keepdims=True))
    if right:
        results.append(v)
    return tuple(results) if left or right else w


def _with_inverse(a: Any, b: Any) -> Any:
    if b is None:
        return matrices(a, square=True)
    x, y = numbers(a, b)
    return Solve()(matrices(y, square=True), matrices(x, square=True))


@mirrors(scipy.linalg.eigvals)
def eigvals(a: Any, b: Any = None, homogeneous_eigvals: bool = False) -> Any:
    """Traced, `b` must be invertible."""
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


@dataclasses.dataclass(frozen=True)
class Subset(Group):
    """The requested eigenvalues of a Hermitian problem, and its `type`."""

    lower: bool = True
    type: int = 1
    subset_by_index: Any = None
    subset_by_value: Any = None

    def places(self, n: int) -> slice:
        """Return the places of the eigenvalues among all `n`."""
        if self.subset_by_index is None:
            return slice(None)
        first, last = [int(i) for i in self.subset_by_index]
        if not 0 <= first <= last < n:
            raise ValueError(
                f"Requested eigenvalue indices are not valid. Valid range is [0, {n - 1}] and start "
                f"<= end, but start={first}, end={last} is given"
            )
        return slice(first, last + 1)


@mirrors(scipy.linalg.eigh)
def eigh(a: Any, b: Any, eigvals_only: bool, subset: Subset) -> Any:
    """Derivatives are those by Hermitian matrices. A subset is taken of all eigenvalues.

    Vectors may have other signs than on plain arrays, where SciPy uses another routine of LAPACK.

    A generalized problem is made a standard one with the Cholesky factor of `b`: G. Golub and C. Van Loan, "Matrix
    Computations" (4th edition), section 8.7.
    """
    return hermitian_problem(a, b, eigvals_only, subset)


@mirrors(scipy.linalg.eigvalsh)
def eigvalsh(a: Any, b: Any, subset: Subset) -> Any:
    """See `eigh`."""
    return hermitian_problem(a, b, True, subset)


def hermitian_problem(a: Any, b: Any, eigvals_only: bool, subset: Subset) -> Any:
    """Return the result of `eigh`."""
    if subset.subset_by_value is not None:
        raise TypeError(
            "eigh: how many eigenvalues lie in an interval depends on values, so a traced result has no shape; use "
            "subset_by_index"
        )
    lower, type = subset.lower, subset.type
    if type not in (1, 2, 3):
        raise ValueError('"type" keyword only accepts 1, 2, and 3.')
    x = hermitian(a)
    factor = None
    if b is not None:
        x, y = promote(symmetrized(x, lower), symmetrized(hermitian(b), lower))
        factor = Cholesky()(y)
        x, lower = _standard(x, factor, type), True
    keep = subset.places(x.shape[-1])
    if eigvals_only:
        return Eigh(bool(lower), vectors=False)(x)[0][..., keep]
    w, v = Eigh(bool(lower))(x)
    if factor is not None:
        v = matmul(factor, v) if type == 3 else TriangularSolve(False)(adjoint(factor), v)
    return w[..., keep], v[..., keep]


def _standard(a: Any, factor: Any, type: int) -> Any:
    """Return the Hermitian matrix with the eigenvalues of the generalized problem with L L^H."""
    if type == 1:  # L^-1 a L^-H
        half = TriangularSolve(True)(factor, a)
        return TriangularSolve(True)(factor, adjoint(half))
    return matmul(adjoint(factor), matmul(a, factor))


def selected_indices(name: str, select: Any, select_range: Any) -> Any:
    """Return the `subset_by_index` that SciPy's older arguments `select` and `select_range` ask for."""
    if select in ("a", "all", 0):
        return None
    if select in ("i", "index", 2):
        return select_range
    raise TypeError(f"{name}: traced eigenvalues are selected by index: select='i'")


@mirrors(scipy.linalg.eigh_tridiagonal)
def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: Any = "a", select_range: Any = None
) -> Any:
    """Traced, by `eigh` of the whole matrix; eigenvalues are selected by index only."""
    subset = selected_indices("eigh_tridiagonal", select, select_range)
    diagonal, off = numbers(d, e)
    if diagonal.ndim != 1 or off.shape != (max(diagonal.size - 1, 0),):
        raise ValueError(f"d ({diagonal.size}) must have one more element than e ({off.size})")
    matrix = np.diag(diagonal) + np.diag(off, -1) + np.diag(off, 1)
    return eigh(matrix, eigvals_only=eigvals_only, subset_by_index=subset)


@mirrors(scipy.linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d: Any, e: Any, select: Any = "a", select_range: Any = None) -> Any:
    """See `eigh_tridiagonal`."""
    return eigh_tridiagonal(d, e, True, select, select_range)
