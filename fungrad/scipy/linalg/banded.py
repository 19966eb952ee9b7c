"""Systems whose matrices are stored by their diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from fungrad.numpy.linalg.decompositions import cholesky_factor
from fungrad.numpy.linalg.operands import numbers
from fungrad.primitives.stacks import adjoint
from fungrad.scipy.linalg.eigenvalues import eigh, selected_indices
from fungrad.scipy.linalg.systems import cho_solve, solve
from fungrad.scipy.mirrors import mirrors

__all__ = [
    "cho_solve_banded", "cholesky_banded", "eig_banded", "eigvals_banded", "solve_banded",
    "solveh_banded",
]  # fmt: skip


def _dense(ab: Any, lower: int) -> Any:
    """Return the matrix; row ``u`` of `ab` is its diagonal, with `u` rows above it."""
    upper = ab.shape[0] - 1 - lower
    n = ab.shape[1]
    row, column = np.arange(n)[:, None], np.arange(n)
    place = upper + row - column
    inside = (place >= 0) & (place < ab.shape[0])
    picked = ab[np.where(inside, place, 0), np.broadcast_to(column, (n, n))]
    return np.where(inside, picked, np.zeros((), ab.dtype))


@mirrors(scipy.linalg.solve_banded)
def solve_banded(l_and_u: Any, ab: Any, b: Any) -> Any:
    """Traced, by LU decomposition of the whole matrix."""
    lower, upper = l_and_u
    x, y = numbers(ab, b)
    if x.ndim != 2 or lower + upper + 1 != x.shape[0]:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) does "
            f"not equal ab.shape[0] ({x.shape[0]})"
        )
    return solve(_dense(x, lower), y)


def _dense_hermitian(ab: Any, lower: bool) -> Any:
    half = _dense(ab, ab.shape[0] - 1 if lower else 0)
    return half + adjoint(half) - np.diag(np.real(np.diag(half)).astype(half.dtype))


@mirrors(scipy.linalg.solveh_banded)
def solveh_banded(ab: Any, b: Any, lower: bool = False) -> Any:
    """Traced, by the Cholesky factor of the whole matrix."""
    x, y = numbers(ab, b)
    if x.shape[-1] != y.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
    return solve(_dense_hermitian(x, lower), y, assume_a="pos")


@mirrors(scipy.linalg.cholesky_banded)
def cholesky_banded(ab: Any, lower: bool = False) -> Any:
    """Traced, of the whole matrix."""
    (x,) = numbers(ab)
    factor: Any = cholesky_factor(_dense_hermitian(x, lower), lower)
    count, n = x.shape
    column = np.arange(n)
    row = column + np.arange(count)[:, None] - (0 if lower else count - 1)
    inside = (row >= 0) & (row < n)
    picked = factor[np.where(inside, row, 0), np.broadcast_to(column, (count, n))]
    return np.where(inside, picked, x)


@mirrors(scipy.linalg.cho_solve_banded)
def cho_solve_banded(cb_and_lower: Any, b: Any) -> Any:
    """Traced, by the whole factor."""
    cb, lower = cb_and_lower
    x, y = numbers(cb, b)
    return cho_solve((_dense(x, x.shape[0] - 1 if lower else 0), lower), y)


@mirrors(scipy.linalg.eigvals_banded)
def eigvals_banded(
    a_band: Any, lower: bool = False, select: Any = "a", select_range: Any = None
) -> Any:
    """Traced, of the whole matrix; eigenvalues are selected by index only."""
    return eig_banded(a_band, lower, True, False, select, select_range)


@mirrors(scipy.linalg.eig_banded)
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Any = None,
) -> Any:
    """Traced, of the whole matrix; eigenvalues are selected by index only."""
    subset = selected_indices("eig_banded", select, select_range)
    (x,) = numbers(a_band)
    return eigh(_dense_hermitian(x, lower), eigvals_only=eigvals_only, subset_by_index=subset)
