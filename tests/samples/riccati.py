"""Rows of `fungrad.primitives.riccati`."""

import numpy as np

from fungrad.primitives.riccati import ContinuousRiccati, DiscreteLyapunov, DiscreteRiccati
from tests.samples.linalg import complex_regular, of_matrices, positive, regular
from tests.samples.row import complexes, reals


def by_powers(a: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the sum of a^k q (a^k)^H."""
    x, power = np.zeros_like(q), np.eye(a.shape[-1]) + 0 * a
    for _ in range(200):
        x = x + power @ q @ np.conj(np.swapaxes(power, -1, -2))
        power = power @ a
    return x


def by_value_iteration(a: np.ndarray, b: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    x = q
    for _ in range(400):
        bx = b.conj().T @ x
        x = q + a.conj().T @ x @ (a - b @ np.linalg.solve(r + bx @ b, bx @ a))
    return x


def by_invariant_subspace(a: np.ndarray, b: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """A. Laub, "A Schur method for solving algebraic Riccati equations" (1979)."""
    n = a.shape[-1]
    w, v = np.linalg.eig(np.block([[a, -b @ np.linalg.solve(r, b.conj().T)], [-q, -a.conj().T]]))
    v = v[:, w.real < 0]
    x = v[n:] @ np.linalg.inv(v[:n])
    return x if np.iscomplexobj(a) else x.real


A, B = regular(3, 3) / 4, reals(3, 2)
COMPLEX = complex_regular(2, 2) / 4, complexes(2, 2), positive(2, 2, dtype=complex)
OF_Q = {"linear": ((1,),), "tolerance": 1e-11}

ROWS = [
    of_matrices(DiscreteLyapunov(), (A, reals(3, 3)), by_powers, **OF_Q),
    of_matrices(
        DiscreteLyapunov("bilinear"),
        (complex_regular(2, 2, 2) / 4, complexes(2, 2, 2)),
        by_powers,
        "bilinear-stack",
        **OF_Q,
    ),
    of_matrices(
        ContinuousRiccati(),
        (A, B, positive(3, 3), positive(2, 2)),
        by_invariant_subspace,
        tolerance=1e-10,
    ),
    of_matrices(
        ContinuousRiccati(),
        (*COMPLEX, COMPLEX[-1]),
        by_invariant_subspace,
        "complex",
        tolerance=1e-10,
    ),
    of_matrices(
        DiscreteRiccati(),
        (A, B, positive(3, 3), positive(2, 2)),
        by_value_iteration,
        tolerance=1e-10,
    ),
    of_matrices(
        DiscreteRiccati(), (*COMPLEX, COMPLEX[-1]), by_value_iteration, "complex", tolerance=1e-10
    ),
]
