"""`fungrad.lax.linalg` and `jax.lax.linalg`: values, derivatives and batches."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402
import fungrad.lax  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from tests.samples.linalg import complex_regular, positive, regular  # noqa: E402

A, C, P = regular(3, 3), complex_regular(3, 3), positive(3, 3)
B = A[:, :2] + 0.5
LOW = np.tril(A) + 2 * np.eye(3)
D = np.array([1.0, 2.0, 3.0])


def solve(**options):
    return lambda la, np_, a, b: la.triangular_solve(a, b, **options)


def projector(np_, v):
    """Return what does not depend on the signs of columns."""
    return (v * np_.arange(1.0, v.shape[-1] + 1)) @ np_.conj(v).T


PROGRAMS = {
    "cholesky": (lambda la, np_, x: la.cholesky(x), P),
    "values of eig": (
        lambda la, np_, x: la.eig(
            x, compute_left_eigenvectors=False, compute_right_eigenvectors=False
        )[0],
        C,
    ),
    "eigh": (lambda la, np_, x: (projector(np_, la.eigh(x)[0]), la.eigh(x)[1]), A),
    "lu": (lambda la, np_, x: la.lu(x), A),
    "lu of a tall matrix": (lambda la, np_, x: la.lu(x), B),
    "qr": (lambda la, np_, x: la.qr(x, full_matrices=False), B),
    "svd": (
        lambda la, np_, x: (
            projector(np_, la.svd(x, full_matrices=False)[0]),
            la.svd(x, compute_uv=False),
        ),
        B,
    ),
    "triangular_solve": (solve(), A, B.T),
    "triangular_solve, left": (solve(left_side=True, lower=True), LOW, B),
    "triangular_solve, unit": (solve(lower=True, unit_diagonal=True), A, B.T),
    "triangular_solve, transposed": (solve(left_side=True, transpose_a=True), A, B),
    "triangular_solve, adjoint": (solve(transpose_a=True, conjugate_a=True), C, C[:2]),
    "triangular_solve, vector": (solve(left_side=True), A, D),
    "tridiagonal_solve": (
        lambda la, np_, *args: la.tridiagonal_solve(*args),
        *(np.array([0.0, 1.0, -1.0]), D + 2, np.array([0.5, 1.0, 0.0]), B),
    ),
}
VALUES = {  # JAX has no derivative of these, or (the first) one that is not symmetric
    "cholesky of a triangle": (lambda la, np_, x: la.cholesky(x, symmetrize_input=False), P),
    "hessenberg": (lambda la, np_, x: la.hessenberg(x), A),
    "tridiagonal": (lambda la, np_, x: la.tridiagonal(x, lower=False), P),
    "tridiagonal, complex": (lambda la, np_, x: la.tridiagonal(x + np_.conj(x).T), C),
    "schur": (lambda la, np_, x: la.schur(x), A),
    "householder_product": (lambda la, np_, x, t: la.householder_product(x, t), B, D[:2] / 3),
    "ormqr": (
        lambda la, np_, x, t, c: la.ormqr(x, t, c, left=False, transpose=True),
        *(B, D[:2] / 3, A),
    ),
    "cholesky_update": (lambda la, np_, r, w: la.cholesky_update(r, w), LOW.T, D),
    "symmetric_product": (
        lambda la, np_, x: la.symmetric_product(x, P, alpha=2.0, beta=0.5, symmetrize_output=True),
        B,
    ),
    "qr with pivoting": (lambda la, np_, x: la.qr(x, pivoting=True), A),
}


def computed(lib, np_, program, args, derivatives):
    def f(*xs):
        return program(lib.lax.linalg, np_, *xs)

    def loss(*xs):
        parts = [y for y in jax.tree.leaves(f(*xs)) if y.dtype.kind in "fc"]
        return sum(np_.sum(np_.real(y) * np.cos(np.arange(y.size)).reshape(y.shape)) for y in parts)

    out = {"value": f(*args)}
    if derivatives:
        out["grad"] = lib.grad(loss, tuple(range(len(args))))(*args)
        out["vmap"] = lib.vmap(f)(*[np_.stack([x, 2 * x]) for x in args])
    return out


@pytest.mark.parametrize(("programs", "derivatives"), [(PROGRAMS, True), (VALUES, False)])
def test_programs(programs, derivatives):
    def results(lib, np_, arrays):
        return {
            name: computed(lib, np_, program, arrays[name], derivatives)
            for name, (program, *_) in programs.items()
        }

    arrays = {name: args for name, (_, *args) in programs.items()}
    theirs = jax.jit(lambda arrays: results(jax, jax.numpy, arrays))(arrays)
    for name, ours in results(fg, fnp, arrays).items():
        for what in ours:
            expected = jax.tree.leaves(theirs[name][what])
            for x, y in zip(fg.tree.leaves(ours[what]), expected, strict=True):
                assert (x.shape, x.dtype) == (y.shape, y.dtype), (name, what)
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11, err_msg=f"{name} {what}")
