"""Rows of `fungrad.primitives.linalg`, and matrices for others."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.primitive import Primitive
from fungrad.primitives.linalg import Inv, Pinv, Solve, TriangularSolve
from tests.samples.row import Sample, complexes, reals


def regular(*shape: int, seed: int = 0) -> np.ndarray:
    """Return well-conditioned square matrices."""
    return reals(*shape, low=-0.4, high=0.4, seed=seed) + np.diag(np.arange(1.0, shape[-1] + 1))


def complex_regular(*shape: int, seed: int = 0) -> np.ndarray:
    """Return well-conditioned complex square matrices."""
    return regular(*shape, seed=seed) + 1j * reals(*shape, low=-0.4, high=0.4, seed=seed + 1)


def positive(*shape: int, dtype: Any = float) -> np.ndarray:
    """Return Hermitian positive definite matrices."""
    a = complex_regular(*shape) if dtype is complex else regular(*shape)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(shape[-1])


def of_matrices(
    primitive: Primitive,
    operands: tuple[np.ndarray, ...],
    oracle: Callable[..., Any],
    name: str = "",
    **fields: Any,
) -> Sample:
    """Return a row of a primitive that takes matrices of a kind."""
    return Sample(primitive, operands, oracle, name=name, matrices=True, **fields)


def by_inverse(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.inv(a) @ b


def triangle(*shape: int, lower: bool = True) -> np.ndarray:
    """Return matrices of which only one triangle makes sense."""
    a = regular(*shape)
    return np.where(np.tri(shape[-1], k=0 if lower else -1, dtype=bool) == lower, a, 7.0)


def by_inverse_of(lower: bool, unit: bool = False) -> Callable[..., np.ndarray]:
    def oracle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a = np.tril(a) if lower else np.triu(a)
        if unit:
            a = a * (1 - np.eye(a.shape[-1])) + np.eye(a.shape[-1])
        return np.linalg.inv(a) @ b

    return oracle


def by_normal_equations(a: np.ndarray, rcond: np.ndarray) -> np.ndarray:
    adjoint = np.conj(np.swapaxes(a, -1, -2))
    if a.shape[-2] >= a.shape[-1]:
        return np.linalg.inv(adjoint @ a) @ adjoint
    return adjoint @ np.linalg.inv(a @ adjoint)


LINEAR = {"linear": ((1,),)}
CUT = np.array(1e-15)

ROWS = [
    of_matrices(Solve(), (regular(3, 3), reals(3, 2)), by_inverse, **LINEAR),
    of_matrices(Solve(), (regular(2, 3, 3), reals(2, 3, 1)), by_inverse, "stack", **LINEAR),
    of_matrices(Solve(), (complex_regular(3, 3), complexes(3, 2)), by_inverse, "complex", **LINEAR),
    of_matrices(Solve(), (regular(0, 0), reals(0, 2)), by_inverse, "empty", **LINEAR),
    of_matrices(
        TriangularSolve(True), (triangle(3, 3), reals(3, 2)), by_inverse_of(True), **LINEAR
    ),
    of_matrices(
        TriangularSolve(False),
        (triangle(2, 3, 3, lower=False), reals(2, 3, 2)),
        by_inverse_of(False),
        "upper-stack",
        **LINEAR,
    ),
    of_matrices(
        TriangularSolve(False, True),
        (triangle(3, 3, lower=False), reals(3, 2)),
        by_inverse_of(False, True),
        "unit",
        **LINEAR,
    ),
    of_matrices(
        TriangularSolve(True, True),
        (complex_regular(2, 2, 2), complexes(2, 2, 3)),
        by_inverse_of(True, True),
        "unit-complex-stack",
        **LINEAR,
    ),
    of_matrices(TriangularSolve(True), (regular(0, 0), reals(0, 2)), by_inverse, "empty", **LINEAR),
    of_matrices(Inv(), (regular(3, 3),), lambda a: np.linalg.solve(a, np.eye(3))),
    of_matrices(
        Inv(),
        (complex_regular(2, 3, 3),),
        lambda a: np.linalg.solve(a, np.eye(3)[None]),
        "complex-stack",
    ),
    of_matrices(Pinv(), (reals(4, 2), CUT), by_normal_equations),
    of_matrices(Pinv(), (complexes(2, 2, 3), CUT.repeat(2)), by_normal_equations, "complex-stack"),
    of_matrices(Pinv(True), (positive(3, 3), CUT), lambda a, _: np.linalg.inv(a), "hermitian"),
]
