"""Rows of `fungrad.primitives.matrix_functions`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from fungrad.primitives.matrix_functions import (
    Frechet,
    Hessenberg,
    MatrixFunction,
    Polar,
    Schur,
    SquareRoot,
    Sylvester,
)
from tests.samples.linalg import complex_regular, of_matrices, positive, regular
from tests.samples.row import complexes, reals


def by_kronecker(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
    m, n = q.shape
    system = np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T)
    return np.linalg.solve(system, q.ravel()).reshape(m, n)


def of_each(f: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda *stacks: np.stack([f(*xs) for xs in zip(*stacks)])


def by_eigenvalues(f: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """Return a function of diagonalizable matrices."""

    def of_matrix(a: np.ndarray) -> np.ndarray:
        w, v = np.linalg.eig(a)
        value = v * f(w + 0j)[..., None, :] @ np.linalg.inv(v)
        return value if np.iscomplexobj(a) else value.real

    return of_matrix


def by_difference(f: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the derivative, by differences of order 4."""

    def derivative(a: np.ndarray, e: np.ndarray) -> np.ndarray:
        h = 1e-3
        steps = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
        return sum(weight / h * f(a + k * h * e) for k, weight in steps.items())

    return derivative


def by_square_root(a: np.ndarray) -> Any:
    p = scipy.linalg.sqrtm(a.conj().T @ a)
    return a @ np.linalg.inv(p), p


SMALL = 0.5 * regular(3, 3)
OF_E = {"linear": ((1,),), "tolerance": 1e-9}
OF_Q = {"linear": ((2,),)}
NO_JVP = {"gaps": frozenset(["jvp"])}

ROWS = [
    of_matrices(
        Sylvester(),
        (regular(3, 3), regular(2, 2, seed=1), reals(3, 2)),
        by_kronecker,
        **OF_Q,
    ),
    of_matrices(
        Sylvester(),
        (complex_regular(2, 2, 2), complex_regular(2, 2, 2, seed=1), complexes(2, 2, 2)),
        of_each(by_kronecker),
        "complex-stack",
        **OF_Q,
    ),
    of_matrices(Polar(), (regular(3, 3),), by_square_root, tolerance=1e-10),
    of_matrices(Polar(), (complexes(4, 2, low=-1),), by_square_root, "complex", tolerance=1e-10),
    of_matrices(Polar(), (np.eye(3)[:, :2],), by_square_root, "repeated"),
    of_matrices(SquareRoot(), (positive(3, 3),), by_eigenvalues(np.sqrt)),
    of_matrices(SquareRoot(), (complex_regular(2, 2, 2),), by_eigenvalues(np.sqrt), "stack"),
    of_matrices(MatrixFunction("expm"), (SMALL,), by_eigenvalues(np.exp), "exp"),
    of_matrices(
        MatrixFunction("expm"), (complexes(2, 3, 3),), by_eigenvalues(np.exp), "exp-complex-stack"
    ),
    of_matrices(MatrixFunction("logm"), (positive(3, 3),), by_eigenvalues(np.log), "log"),
    of_matrices(
        MatrixFunction("logm"), (complex_regular(3, 3),), by_eigenvalues(np.log), "log-complex"
    ),
    of_matrices(
        Frechet("expm"), (SMALL, reals(3, 3)), by_difference(scipy.linalg.expm), "exp", **OF_E
    ),
    of_matrices(
        Frechet("expm"),
        (complexes(2, 2, 2), 9 * complexes(2, 2, 2, seed=5)),
        by_difference(of_each(scipy.linalg.expm)),
        "exp-complex-stack",
        **OF_E | {"tolerance": 1e-7},
    ),
    of_matrices(Frechet("expm"), (SMALL, np.zeros((3, 3))), lambda a, e: e, "exp-zero", **OF_E),
    of_matrices(
        Frechet("logm"),
        (positive(3, 3), reals(3, 3)),
        by_difference(scipy.linalg.logm),
        "log",
        **OF_E,
    ),
    of_matrices(Schur(True), (regular(3, 3),), lambda a: scipy.linalg.schur(a), **NO_JVP),
    of_matrices(
        Schur(False),
        (regular(2, 3, 3),),
        lambda a: tuple(map(np.stack, zip(*[scipy.linalg.schur(x, "complex") for x in a]))),
        "complex-stack",
        **NO_JVP,
    ),
    of_matrices(
        Hessenberg(), (regular(3, 3),), lambda a: scipy.linalg.hessenberg(a, True), **NO_JVP
    ),
]
