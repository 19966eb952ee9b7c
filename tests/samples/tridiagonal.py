"""Rows of `fungrad.primitives.tridiagonal`."""

import numpy as np

from fungrad.primitives.tridiagonal import (
    PackedHessenberg,
    PackedQr,
    PackedTridiagonal,
    TridiagonalSolve,
)
from tests.samples.linalg import of_matrices, regular
from tests.samples.row import Sample, complexes, reals

NO_JVP = {"gaps": frozenset({"jvp"})}


def by_matrices(
    lower: np.ndarray, middle: np.ndarray, upper: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Solve with the whole matrices."""
    out = np.zeros(b.shape, b.dtype)
    for i in np.ndindex(b.shape[:-2]):
        t = np.diag(lower[i][1:], -1) + np.diag(middle[i]) + np.diag(upper[i][:-1], 1)
        out[i] = np.linalg.solve(t, b[i])
    return out


def by_reflections(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce columns one after the other, as LAPACK does, with reflections as whole matrices."""
    form, n = a.copy(), len(a)
    factors = np.zeros(max(n - 1, 0), a.dtype)
    vectors = np.zeros_like(a)
    for k in range(n - 2):
        v = form[k + 1 :, k].copy()
        norm = -np.copysign(np.linalg.norm(v), v[0].real)
        factors[k] = (norm - v[0]) / norm
        v = v / (v[0] - norm)
        v[0] = 1
        reflection = np.eye(n, dtype=a.dtype)
        reflection[k + 1 :, k + 1 :] -= factors[k] * np.outer(v, v.conj())
        form = reflection.conj().T @ form @ reflection
        vectors[k + 2 :, k] = v[1:]
    return np.triu(form, -1) + vectors, factors


def packed_qr(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce columns one after the other, as LAPACK does, with reflections as whole matrices."""
    r, (m, n) = a.copy(), a.shape
    vectors, factors = np.zeros_like(a), np.zeros(min(m, n), a.dtype)
    for k in range(min(m - 1, n)):
        v = r[k:, k].copy()
        norm = -np.copysign(np.linalg.norm(v), v[0].real)
        factors[k] = (norm - v[0]) / norm
        v = v / (v[0] - norm)
        v[0] = 1
        r[k:] -= factors[k] * np.outer(v, v.conj() @ r[k:])
        vectors[k + 1 :, k] = v[1:]
    return (np.triu(r) + vectors).T, factors


def symmetric(x: np.ndarray) -> np.ndarray:
    return x + x.conj().swapaxes(-1, -2)


def packed_tridiagonal(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """Reduce a symmetric matrix as `by_reflections` does; the upper triangle stays as it was."""
    form, factors = by_reflections(a)
    packed = np.tril(form) + np.triu(a, 1)
    return packed, np.diag(form), np.diag(form, -1), factors


def system(name: str, *shape: int, make=reals) -> Sample:  # type: ignore[no-untyped-def]
    """Return a row of a system with a dominant diagonal."""
    vectors = shape[:-1]
    operands = (
        make(*vectors, seed=1),
        make(*vectors, seed=2) + 3,
        make(*vectors, seed=3),
        make(*shape, seed=4),
    )
    return Sample(
        TridiagonalSolve(), operands, by_matrices, name=name, linear=((3,),), matrices=True
    )


ROWS = [
    system("one", 4, 2),
    system("stack", 2, 3, 2),
    system("of-one-row", 1, 2),
    system("complex", 3, 1, make=complexes),
    system("empty", 0, 2),
    of_matrices(PackedHessenberg(), (regular(4, 4),), by_reflections, **NO_JVP),
    of_matrices(PackedHessenberg(), (regular(1, 1),), by_reflections, "of-one-row", **NO_JVP),
    of_matrices(PackedQr(), (reals(4, 3),), packed_qr, **NO_JVP),
    of_matrices(PackedQr(), (reals(2, 3),), packed_qr, "wide", **NO_JVP),
    of_matrices(PackedTridiagonal(True), (symmetric(regular(4, 4)),), packed_tridiagonal, **NO_JVP),
    of_matrices(
        PackedTridiagonal(True),
        (symmetric(regular(1, 1)),),
        packed_tridiagonal,
        "of-one-row",
        **NO_JVP,
    ),
]
