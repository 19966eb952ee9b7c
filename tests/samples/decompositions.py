"""Rows of `fungrad.primitives.decompositions`.

Signs of real vectors are LAPACK's for all matrices near those here, so that derivatives can be taken
by differences. Phases of complex vectors are not; tests/numpy/test_linalg.py has functions free of them.
"""

from typing import Any

import numpy as np
import scipy.linalg

from fungrad.primitives.decompositions import Cholesky, Eig, Eigh, Qr, Svd
from tests.samples.linalg import complex_regular, of_matrices, positive, regular
from tests.samples.row import complexes, reals


def with_junk(a: np.ndarray) -> np.ndarray:
    """Put other numbers above the diagonal."""
    return np.where(np.tri(a.shape[-1], dtype=bool), a, 7.0)


def by_eigenvalues(a: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor: R^T where Q R = sqrt(a), with positive diagonal."""
    low = np.tril(a)
    full = low + np.conj(np.swapaxes(np.tril(a, -1), -1, -2))
    w, v = np.linalg.eigh(full)
    r = np.linalg.qr(np.sqrt(w)[..., None] * np.conj(np.swapaxes(v, -1, -2)), "r")
    signs = np.sign(np.diagonal(r, 0, -2, -1).real)
    return np.conj(np.swapaxes(r * signs[..., None], -1, -2))


def scipy_qr(mode: str) -> Any:
    def oracle(a: np.ndarray) -> Any:
        found = [scipy.linalg.qr(x, mode=mode) for x in a.reshape(-1, *a.shape[-2:])]
        return tuple(np.stack(x).reshape(*a.shape[:-2], *x[0].shape) for x in zip(*found))

    return oracle


def values_of_gram(a: np.ndarray) -> tuple[np.ndarray]:
    """Return the singular values as roots of eigenvalues."""
    adjoint = np.conj(np.swapaxes(a, -1, -2))
    gram = a @ adjoint if a.shape[-2] <= a.shape[-1] else adjoint @ a
    return (np.sqrt(np.linalg.eigvalsh(gram))[..., ::-1],)


def values_of_lower(a: np.ndarray) -> tuple[np.ndarray]:
    low = np.tril(a, -1)
    diagonal = np.eye(a.shape[-1]) * a.real
    values = np.linalg.eigvals(low + np.conj(np.swapaxes(low, -1, -2)) + diagonal)
    return (np.sort(values.real),)


def as_complex(a: np.ndarray) -> Any:
    return tuple(x.astype(complex) for x in scipy.linalg.eig(a))


ROTATION = np.array([[0.3, -0.8, 0.1], [0.9, 0.2, 0.3], [0.1, -0.2, 1.4]])

ROWS = [
    of_matrices(Cholesky(), (with_junk(positive(3, 3)),), by_eigenvalues),
    of_matrices(Cholesky(), (positive(2, 3, 3, dtype=complex),), by_eigenvalues, "complex-stack"),
    of_matrices(Cholesky(), (reals(0, 0),), lambda a: a, "empty"),
    of_matrices(Qr(), (regular(3, 3),), scipy_qr("economic")),
    of_matrices(Qr(), (reals(2, 4, 2, low=-1),), scipy_qr("economic"), "tall-stack"),
    of_matrices(Qr(), (reals(2, 4, low=-1),), scipy_qr("economic"), "wide"),
    of_matrices(Qr(), (complexes(3, 2),), scipy_qr("economic"), "complex"),
    of_matrices(Qr(), (complexes(2, 3, low=-1),), scipy_qr("economic"), "complex-wide"),
    of_matrices(Qr(True), (reals(3, 2, low=-1),), scipy_qr("full"), "complete"),
    of_matrices(Qr(True), (reals(2, 3, low=-1),), scipy_qr("full"), "complete-wide"),
    of_matrices(Svd(), (regular(3, 3),), lambda a: scipy.linalg.svd(a)),
    of_matrices(Svd(), (regular(3, 3)[:, :2],), lambda a: scipy.linalg.svd(a, False), "tall"),
    of_matrices(
        Svd(),
        (regular(3, 3)[None, :2],),
        lambda a: tuple(np.linalg.svd(a, full_matrices=False)),
        "wide-stack",
    ),
    of_matrices(Svd(True), (regular(3, 3)[:, :2],), lambda a: scipy.linalg.svd(a), "full"),
    of_matrices(Svd(True), (regular(3, 3)[:2],), lambda a: scipy.linalg.svd(a), "full-wide"),
    of_matrices(Svd(vectors=False), (complex_regular(2, 3, 3),), values_of_gram, "values"),
    of_matrices(Svd(vectors=False), (complexes(2, 3),), values_of_gram, "values-wide"),
    of_matrices(Eigh(), (with_junk(positive(3, 3)),), lambda a: scipy.linalg.eigh(a, driver="evd")),
    of_matrices(
        Eigh(False),
        (with_junk(positive(3, 3)).T,),
        lambda a: scipy.linalg.eigh(a.T, driver="evd"),
        "upper",
    ),
    of_matrices(
        Eigh(vectors=False), (positive(2, 3, 3, dtype=complex),), values_of_lower, "values"
    ),
    of_matrices(Eig(), (regular(3, 3),), as_complex),
    of_matrices(Eig(), (ROTATION,), as_complex, "complex-pair"),
    of_matrices(Eig(), (complex_regular(3, 3)[None],), np.linalg.eig, "complex-stack"),
    of_matrices(Eig(), (complexes(0, 0),), np.linalg.eig, "empty"),
]
