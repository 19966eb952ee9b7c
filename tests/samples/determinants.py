"""Rows of `fungrad.primitives.determinants`."""

import numpy as np

from fungrad.primitives.determinants import Cofactors, Det, Slogdet
from tests.samples.linalg import complex_regular, of_matrices, regular
from tests.samples.row import Sample, complexes, reals


def minors(a: np.ndarray) -> np.ndarray:
    """Return the cofactors by their definition."""
    n = a.shape[-1]
    out = np.empty_like(a)
    for i in range(n):
        for j in range(n):
            rest = np.delete(np.delete(a, i, -2), j, -1)
            out[..., i, j] = (-1) ** (i + j) * np.linalg.det(rest)
    return out


def by_expansion(a: np.ndarray) -> np.ndarray:
    return (a[..., 0, :] * minors(a)[..., 0, :]).sum(-1)


def sign_and_log(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    det = by_expansion(a)
    return det / abs(det), np.log(abs(det))


def of_rank(n: int, rank: int) -> np.ndarray:
    """Return a singular matrix."""
    return reals(n, rank) @ reals(rank, n, low=-1, seed=1)


def minors_along(a: np.ndarray, e: np.ndarray, f: np.ndarray | None = None) -> np.ndarray:
    """Return the derivatives of the cofactors of 3 by 3 matrices, which are quadratic, by exact differences."""
    if f is None:
        return (minors(a + e) - minors(a - e)) / 2
    return minors(a + e + f) - minors(a + e) - minors(a + f) + minors(a)


def along(operands: tuple[np.ndarray, ...], name: str = "along") -> Sample:
    linear = tuple([(i,) for i in range(1, len(operands))])
    return of_matrices(Cofactors(), operands, minors_along, name, linear=linear)


ROWS = [
    of_matrices(Det(), (regular(3, 3),), by_expansion),
    of_matrices(Det(), (complex_regular(2, 3, 3),), by_expansion, "complex-stack"),
    of_matrices(Det(), (of_rank(3, 2),), by_expansion, "rank-2-of-3"),
    of_matrices(Det(), (of_rank(3, 1),), by_expansion, "rank-1-of-3"),
    of_matrices(Det(), (complexes(3, 1) @ complexes(1, 3),), by_expansion, "complex-rank-1"),
    of_matrices(Det(), (np.zeros((2, 2)),), by_expansion, "zero"),
    of_matrices(Det(), (reals(0, 0),), lambda a: np.float64(1), "empty"),
    of_matrices(Slogdet(), (regular(3, 3),), sign_and_log),
    of_matrices(Slogdet(), (-complex_regular(2, 3, 3),), sign_and_log, "complex-stack"),
    of_matrices(Cofactors(), (regular(3, 3),), minors),
    of_matrices(Cofactors(), (complex_regular(2, 3, 3),), minors, "complex-stack"),
    of_matrices(Cofactors(), (of_rank(3, 2),), minors, "singular"),
    along((regular(3, 3), reals(3, 3))),
    along((complex_regular(2, 3, 3), complexes(2, 3, 3)), "complex-along"),
    along((of_rank(3, 1), reals(3, 3)), "singular-along"),
    along((2 * np.eye(3), reals(3, 3), regular(3, 3)), "along-two"),
]
