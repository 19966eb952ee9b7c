"""Linear algebra by the names of `jax.lax.linalg`."""

import numpy as np
import pytest
import scipy.linalg

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.lax import linalg
from tests.numpy.checker import cases_of, check_function
from tests.samples.linalg import complex_regular, positive, regular
from tests.samples.row import complexes, reals

A, STACK, C = regular(3, 3), regular(2, 3, 3), complex_regular(3, 3)
TALL = reals(4, 2, seed=3) + np.eye(4, 2)
H = A + A.T
LOW = np.tril(A) + 2 * np.eye(3)
D = reals(3, seed=1), reals(3, seed=2) + 3, reals(3, seed=4)


def tridiagonal_matrix(dl, d, du):
    return np.diag(dl[1:], -1) + np.diag(d) + np.diag(du[:-1], 1)


def reflected(a, taus):
    """The product of reflections, one after the other."""
    m = len(a)
    q = np.eye(m, dtype=a.dtype)
    for k, tau in enumerate(taus):
        v = np.where(np.arange(m) < k, 0, a[:, k])
        v[k] = 1
        q = q @ (np.eye(m) - tau * np.outer(v, v.conj()))
    return q


def hermitian_part(x):
    return (x + x.conj().swapaxes(-1, -2)) / 2


# The function, the oracle and the arguments.
TABLE = {
    "cholesky": (
        linalg.cholesky,
        lambda x: np.linalg.cholesky(hermitian_part(x)),
        [
            (positive(3, 3),),
            (positive(2, 3, 3),),
            (C @ C.conj().T,),
        ],
    ),
    "cholesky_update": (
        lambda r, w: linalg.cholesky_update(r, w),
        lambda r, w: np.linalg.cholesky(np.triu(r).T @ np.triu(r) + np.outer(w, w)).T,
        [(LOW.T, reals(3))],
    ),
    "values of eigh": (
        lambda x: linalg.eigh(x)[1],
        lambda x: np.linalg.eigvalsh(hermitian_part(x)),
        [(A,), (STACK,), (C,)],
    ),
    "householder_product": (
        linalg.householder_product,
        lambda a, t: reflected(a, t)[:, : a.shape[1]],
        [(TALL, reals(2)), (TALL, reals(1)), (complexes(3, 2), complexes(2)), (TALL, 0 * reals(2))],
    ),
    "ormqr": (
        linalg.ormqr,
        lambda a, t, c: reflected(a, t) @ c,
        [(TALL, reals(2), reals(4, 3)), (complexes(3, 2), complexes(2), complexes(3, 1))],
    ),
    "ormqr of the adjoint from the right": (
        lambda a, t, c: linalg.ormqr(a, t, c, left=False, transpose=True),
        lambda a, t, c: c @ reflected(a, t).conj().T,
        [(TALL, reals(2), reals(3, 4)), (complexes(3, 2), complexes(2), complexes(1, 3))],
    ),
    "lu": (
        lambda x: linalg.lu(x)[:2],
        lambda x: tuple(scipy.linalg.lu_factor(x)),
        [(A,), (C,), (TALL,)],
    ),
    "symmetric_product": (
        lambda a, c: linalg.symmetric_product(a, c, alpha=2.0, beta=3.0),
        lambda a, c: 2 * a @ a.T + 3 * c,
        [(TALL, np.ones((4, 4))), (A[:, :1], H)],
    ),
    "symmetric_product of triangles": (
        lambda a, c: linalg.symmetric_product(a, c, beta=1.0, symmetrize_output=True),
        lambda a, c: a @ a.T + np.tril(c) + np.tril(c, -1).T,
        [(A, LOW)],
    ),
    "singular values": (
        lambda x: linalg.svd(x, compute_uv=False),
        lambda x: np.linalg.svd(x, compute_uv=False),
        [(A,), (TALL,), (STACK,)],
    ),
    "triangular_solve": (
        lambda a, b: linalg.triangular_solve(a, b, left_side=True, lower=True),
        lambda a, b: np.linalg.solve(np.tril(a), b),
        [(LOW, A), (C, C[:, :1])],
    ),
    "triangular_solve from the right": (
        lambda a, b: linalg.triangular_solve(a, b),
        lambda a, b: np.linalg.solve(np.triu(a).T, b.T).T,
        [(LOW.T, A[:2])],
    ),
    "triangular_solve of the adjoint": (
        lambda a, b: linalg.triangular_solve(
            a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True
        ),
        lambda a, b: np.linalg.solve((np.tril(a, -1) + np.eye(3)).conj().T, b),
        [(C, C[:, :2])],
    ),
    "triangular_solve for a vector": (
        lambda a, b: linalg.triangular_solve(a, b, left_side=True, lower=True),
        lambda a, b: np.linalg.solve(np.tril(a), b),
        [(LOW, A[0])],
    ),
    "tridiagonal_solve": (
        linalg.tridiagonal_solve,
        lambda dl, d, du, b: np.linalg.solve(tridiagonal_matrix(dl, d, du), b),
        [(*D, A), (*D, A[:, :0])],
    ),
}


@pytest.mark.parametrize(("f", "oracle", "args"), cases_of(TABLE))
def test_function(f, oracle, args):
    for x, y in zip(fg.tree.leaves(f(*args)), fg.tree.leaves(oracle(*args)), strict=True):
        assert type(x) is np.ndarray
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)
    # A batch would be of matrices with their elements in another order, which may have no factors.
    check_function(f, oracle, args, rtol=1e-11, checks=("known", "jit", "jvp", "vjp"))


@pytest.mark.parametrize("x", [A, C, STACK])
def test_eigenvectors(x):
    w, left, right = linalg.eig(x)
    np.testing.assert_allclose(x @ right, right * w[..., None, :], atol=1e-12)
    back = np.conj(np.swapaxes(left, -1, -2))
    np.testing.assert_allclose(back @ x, w[..., None] * back, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(left, axis=-2), 1)
    assert [len(linalg.eig(x, compute_left_eigenvectors=b)) for b in (True, False)] == [3, 2]
    v, values = linalg.eigh(x, lower=False, symmetrize_input=False)
    matrix = np.triu(x) + np.conj(np.swapaxes(np.triu(x, 1), -1, -2))
    if np.iscomplexobj(x):
        matrix = matrix - 1j * (np.eye(3) * matrix.imag)
    np.testing.assert_allclose(matrix @ v, v * values[..., None, :], atol=1e-12)


@pytest.mark.parametrize("x", [A, C, TALL, STACK])
def test_factors(x):
    q, r, order = linalg.qr(x, pivoting=True)
    np.testing.assert_allclose(q @ r, np.take_along_axis(x, order[..., None, :], -1), atol=1e-12)
    np.testing.assert_allclose(fnp.matmul(*linalg.qr(x, full_matrices=False)), x, atol=1e-12)
    u, s, vh = linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, x, atol=1e-12)
    packed, pivots, order = linalg.lu(x)
    assert pivots.dtype == order.dtype == np.int32
    m, n = x.shape[-2:]
    k = min(m, n)
    lower = np.tril(packed[..., :k], -1) + np.eye(m, k)
    moved = np.take_along_axis(x, order[..., None].astype(int), -2)
    np.testing.assert_allclose(lower @ np.triu(packed[..., :k, :]), moved, atol=1e-12)


@pytest.mark.parametrize("x", [A, C, regular(1, 1), regular(2, 4, 4)])
def test_reductions_to_simpler_forms(x):
    n = x.shape[-1]
    adjoint = np.conj(np.swapaxes(x, -1, -2))
    packed, factors = linalg.hessenberg(x)
    form, q = np.triu(packed, -1), whole(packed, factors)
    np.testing.assert_allclose(q @ form @ np.conj(np.swapaxes(q, -1, -2)), x, atol=1e-12)
    packed, middle, beside, factors = linalg.tridiagonal(x + adjoint)
    q, i = whole(packed, factors), np.arange(n)
    form = np.zeros(x.shape, x.dtype)
    form[..., i, i] = middle
    form[..., i[1:], i[:-1]] = form[..., i[:-1], i[1:]] = beside
    np.testing.assert_allclose(q @ form @ np.conj(np.swapaxes(q, -1, -2)), x + adjoint, atol=1e-12)
    t, z = linalg.schur(x)
    np.testing.assert_allclose(z @ t @ np.conj(np.swapaxes(z, -1, -2)), x, atol=1e-12)
    assert len(linalg.schur(x, compute_schur_vectors=False)) == 1
    found = fg.vmap(linalg.hessenberg)(np.stack([x, 2 * x]))[0]
    np.testing.assert_allclose(found, np.stack([linalg.hessenberg(y)[0] for y in (x, 2 * x)]))


def whole(packed, factors):
    """Return the unitary matrix of reflections that leave the first element alone."""
    q = np.zeros(packed.shape, packed.dtype)
    q[...] = np.eye(packed.shape[-1])
    q[..., 1:, 1:] = linalg.householder_product(packed[..., 1:, :-1], factors)
    return q


def test_dtypes():
    for dtype in (np.float32, np.complex64):
        x = positive(3, 3).astype(dtype)
        results = [
            linalg.cholesky(x),
            linalg.qr(x)[0],
            linalg.hessenberg(x)[1],
            linalg.tridiagonal(x)[3],
            linalg.lu(x)[0],
            linalg.schur(x)[1],
            linalg.householder_product(x, x[0]),
            linalg.triangular_solve(x, x),
            linalg.tridiagonal_solve(0 * x[0], x[0], 0 * x[0], x),
            linalg.cholesky_update(x, x[0]),
        ]
        assert {r.dtype for r in results} == {np.dtype(dtype)}
    assert linalg.cholesky(np.eye(2, dtype=int)).dtype == np.float64


def test_permutations():
    order = linalg.lu_pivots_to_permutation(np.array([[1, 1, 2], [2, 1, 2]], np.int32), 4)
    assert order.dtype == np.int32
    assert order.tolist() == [[1, 0, 2, 3], [2, 1, 0, 3]]


def test_matrices_without_a_decomposition():
    for f in (linalg.cholesky, fg.jit(linalg.cholesky)):
        with pytest.raises(np.linalg.LinAlgError):
            f(-np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        linalg.tridiagonal_solve(np.zeros(2), np.zeros(2), np.zeros(2), np.ones((2, 1)))


ERRORS = [
    (
        lambda: linalg.cholesky(TALL),
        ValueError,
        r"takes an array of shape \(..., n, n\), got float64",
    ),
    (lambda: linalg.lu([[1.0]]), TypeError, "x is a list"),
    (
        lambda: linalg.qr(A.astype(np.float16)),
        TypeError,
        r"or double precision, got float16\[3,3\]",
    ),
    (lambda: linalg.qr(A[0]), ValueError, r"an array of shape \(..., m, n\), got float64\[3\]"),
    (lambda: linalg.eigh(A, subset_by_index=(0, 1)), NotImplementedError, "a slice of the results"),
    (lambda: linalg.svd(A, algorithm=1), TypeError, r"lax.linalg.svd: \['algorithm'\]"),
    (lambda: linalg.schur(A, sort_eig_vals=True), TypeError, "sort_eig_vals"),
    (
        lambda: linalg.triangular_solve(A, TALL),
        ValueError,
        r"got float64\[3,3\] and float64\[4,2\]",
    ),
    (lambda: linalg.tridiagonal_solve(*D, A[0]), ValueError, r"diagonals of shape \(..., n\)"),
    (lambda: linalg.householder_product(A[:2], A[0]), ValueError, "with k <= n <= m"),
    (lambda: linalg.ormqr(TALL, A[0, :2], A), ValueError, "as many rows"),
    (lambda: linalg.cholesky_update(A, A), ValueError, r"\(..., n, n\) and \(..., n\)"),
    (lambda: linalg.symmetric_product(A, TALL), ValueError, r"\(..., n, k\) and \(..., n, n\)"),
    (lambda: linalg.lu_pivots_to_permutation(A[0], 3), TypeError, "takes integers"),
    (lambda: linalg.qdwh, AttributeError, "use fungrad.scipy.linalg.polar"),
    (lambda: linalg.SvdAlgorithm, AttributeError, "leave `algorithm` out"),
    (lambda: linalg.lu_p, AttributeError, "a primitive of JAX's own: call lu"),
    (lambda: linalg.choleski, AttributeError, "cholesky"),
    (lambda: fg.grad(lambda x: linalg.schur(x)[0].sum())(A), fg.MissingRuleError, "schur"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_module_is_found():
    assert lax.linalg is linalg


def test_a_triangular_system_of_the_adjoint():
    a, b = np.array([[2.0, 0.0], [1j, 1.0]]), np.array([[1.0], [2.0]])
    x = lax.linalg.triangular_solve(
        a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True
    )
    np.testing.assert_allclose(a.conj().T @ x, b, atol=1e-14)
