"""`fungrad.scipy.sparse.linalg`: against closed forms under every transform, and SciPy."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.scipy.sparse import linalg
from fungrad.test_util import check_agreement

A = np.array([[2.0, 0.3], [0.5, 1.5]])
B = np.array([1.0, -2.0])
SETTINGS = {"rtol": 1e-13}


def cramer(a, b):
    determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    return (
        fnp.stack([a[1, 1] * b[0] - a[0, 1] * b[1], a[0, 0] * b[1] - a[1, 0] * b[0]]) / determinant
    )


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("solver", [linalg.gmres, linalg.bicgstab])
def test_unsymmetric_systems(solver, dtype):
    a = A + (0.1j * A.T if dtype is complex else 0.0)
    check_agreement(lambda a, b: solver(a, b, **SETTINGS)[0], cramer, (a, B.astype(dtype)))


def hermitian(p, phase):
    """A positive definite matrix of two parameters."""
    return fnp.stack([fnp.stack([2.0 + p, phase]), fnp.stack([fnp.conj(phase), 1.5 - p])])


@pytest.mark.parametrize("phase", [0.3, 0.3 + 0.2j])
def test_conjugate_gradients(phase):
    b = B.astype(type(phase))
    check_agreement(
        lambda p, z, b: linalg.cg(hermitian(p, z), b, **SETTINGS)[0],
        lambda p, z, b: cramer(hermitian(p, z), b),
        (0.2, np.array(phase), b),
    )


def test_matrix_as_function_of_a_tree_with_guess_and_preconditioner():
    def f(d, b, guess, m):
        x, info = linalg.cg(
            lambda v: {"x": d * v["x"], "y": 4.0 * v["y"]},
            {"x": b, "y": b[0]},
            {"x": guess, "y": guess[0]},
            M=lambda v: {"x": v["x"] * m, "y": v["y"]},
            **SETTINGS,
        )
        return fnp.concatenate([x["x"], x["y"][None] + 0.0 * info])

    def reference(d, b, guess, m):
        return fnp.concatenate([b / d, b[:1] / 4.0]) + 0.0 * guess[0] + 0.0 * m[0]

    args = (np.array([1.5, 0.7]), B, np.ones(2), np.array([0.9, 1.2]))
    check_agreement(f, reference, args)


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_sparse_matrices_are_constants(make):
    check_agreement(
        lambda b: linalg.gmres(make(A), b, M=make(np.diag([0.5, 0.6])), **SETTINGS)[0],
        lambda b: cramer(A, b),
        (B,),
    )


def test_linear_operators_are_constants():
    operator = scipy.sparse.linalg.aslinearoperator(A)
    check_agreement(
        lambda b: linalg.gmres(operator, b, **SETTINGS)[0], lambda b: cramer(A, b), (B,)
    )


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("columns", [False, True])
def test_spsolve(columns, dtype):
    a = A + (0.1j * A.T if dtype is complex else 0.0)
    matrix = scipy.sparse.csr_array(a)
    b = np.stack([B, 2 * B, B**2], axis=1) if columns else B
    check_agreement(lambda b: linalg.spsolve(matrix, b), lambda b: cramer(a, b), (b.astype(dtype),))
    np.testing.assert_allclose(linalg.spsolve(scipy.sparse.csc_array(a), b), cramer(a, b))


@pytest.mark.parametrize("name", ["cg", "gmres", "bicgstab"])
def test_results_are_scipys(name):
    a = A @ A.T
    ours, info = getattr(linalg, name)(a, B, rtol=1e-3)
    theirs, _ = getattr(scipy.sparse.linalg, name)(a, B, rtol=1e-3)
    np.testing.assert_array_equal(ours, theirs)
    assert info == 0
    limits = {"maxiter": 1, "restart": 1} if name == "gmres" else {"maxiter": 1}
    _, failed = getattr(linalg, name)(a, B, rtol=1e-15, **limits)
    assert failed > 0


def test_dtypes_and_forms_of_the_right_hand_side():
    half = np.eye(2, dtype="f4") / 2
    assert linalg.cg(half, np.ones(2, "f4"))[0].dtype == np.float32
    assert linalg.cg(half, np.ones(2))[0].dtype == np.float64
    assert linalg.cg(np.eye(2), np.ones(2, "f4"))[0].dtype == np.float64
    np.testing.assert_allclose(linalg.cg(half, [1, 2])[0], [2.0, 4.0])
    assert linalg.cg(lambda x: 2 * x, np.ones((2, 3)))[0].shape == (2, 3)
    assert linalg.cg(lambda x: 2 * x, np.ones((0, 3)))[0].shape == (0, 3)
    assert linalg.cg(lambda x: 2 * x, 3.0)[0] == 1.5


def test_tol_is_another_name_of_rtol_and_callbacks_are_called():
    seen = []
    x, _ = linalg.cg(A @ A.T, B, tol=1e-10, callback=seen.append)
    np.testing.assert_allclose(A @ A.T @ x, B, rtol=1e-9)
    assert len(seen) == 2
    norms = []
    linalg.gmres(A, B, callback=norms.append)
    assert norms == sorted(norms, reverse=True)


def test_derivatives_that_do_not_converge_warn():
    n = 20
    a = np.diag(np.arange(1.0, n + 1))

    def f(b):
        return linalg.cg(a, b, rtol=1e-13, maxiter=2)[0].sum()

    with pytest.warns(RuntimeWarning, match="did not converge"):
        fg.grad(f)(np.ones(n))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: linalg.cg(np.ones((2, 3)), B), ValueError, "expected square matrix"),
        (
            lambda: linalg.cg(lambda x: x[:1], B),
            TypeError,
            "cg: A must return an array of the type",
        ),
        (lambda: linalg.cg(A, B, M=lambda x: x[:1]), TypeError, "cg: M must return an array"),
        (
            lambda: linalg.cg(A, B, x0=np.ones(3)),
            ValueError,
            "x0 must have the structure and shapes",
        ),
        (lambda: linalg.cg(lambda x: x, (B, B * 1j)), TypeError, "real or complex throughout"),
        (lambda: fg.grad(lambda b: linalg.spsolve(A, b)[0])(B), TypeError, "takes a sparse matrix"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_tolerance_that_is_traced():
    a, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])

    def solution(a, b, tol):
        return linalg.cg(lambda x: a @ x, b, x0=np.zeros(2), tol=tol, M=lambda x: x / 2)[0]

    np.testing.assert_allclose(fg.jit(solution)(a, b, 1e-12), np.linalg.solve(a, b))
    np.testing.assert_array_equal(fg.jit(solution)(a, b, 1e3), 0)
    by_b, by_tol = fg.jit(fg.grad(lambda *x: solution(*x)[0], (1, 2)))(a, b, 1e-12)
    np.testing.assert_allclose(by_b, np.linalg.inv(a)[0])
    assert by_tol == 0
    found = fg.vmap(solution, (None, None, 0))(a, b, np.array([1e-12, 1e3]))
    np.testing.assert_allclose(found, [np.linalg.solve(a, b), [0, 0]])


def test_absolute_tolerance_that_is_traced():
    a, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    f = fg.jit(lambda rtol, atol: linalg.cg(a, b, rtol=rtol, atol=atol)[0])
    np.testing.assert_allclose(f(0.0, 1e-12), np.linalg.solve(a, b))
    np.testing.assert_array_equal(f(0.0, 1e3), 0)
    np.testing.assert_array_equal(f(1e3, 0.0), 0)


@pytest.mark.parametrize("dtype", [float, complex, np.float32])
@pytest.mark.parametrize("columns", [(), (2,)])
@pytest.mark.parametrize("trans", ["N", "T", "H"])
def test_factors_made_outside(trans, columns, dtype):
    a = (
        np.eye(5) * 3 + np.diag(np.arange(1.0, 5), 1) * (1 + 1j if dtype is complex else 1.0)
    ).astype(dtype)
    factors = scipy.sparse.linalg.splu(scipy.sparse.csc_array(a))
    b = np.cos(np.arange(5.0 * np.prod(columns, dtype=int))).reshape(5, *columns).astype(dtype)
    f = lambda b: factors.solve(b, trans)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    expected = factors.solve(b, trans)
    assert fg.jit(f)(b).dtype == expected.dtype
    np.testing.assert_allclose(fg.jit(f)(b), expected, rtol=tolerance)
    matrix = {"N": a, "T": a.T, "H": a.conj().T}[trans]
    _, pullback = fg.vjp(f, b)
    np.testing.assert_allclose(pullback(b)[0], np.linalg.solve(matrix.T, b), rtol=10 * tolerance)
    np.testing.assert_allclose(fg.jvp(f, (b,), (b,))[1], expected, rtol=tolerance)
    for axis in range(b.ndim + 1):
        batch = np.stack([b, 2 * b], axis)
        found = fg.vmap(f, axis, axis)(batch)
        np.testing.assert_allclose(found, np.stack([expected, 2 * expected], axis), rtol=tolerance)
    if dtype is float:
        z = b * (1 + 2j)
        np.testing.assert_allclose(fg.jit(f)(z), expected * (1 + 2j), rtol=tolerance)


def test_factorized_and_incomplete_factors():
    a = scipy.sparse.csc_array(np.eye(4) * 3 + np.diag(np.ones(3), 1))
    b = np.arange(4.0)
    solve, rough = scipy.sparse.linalg.factorized(a), scipy.sparse.linalg.spilu(a)
    for f in (lambda b: solve(b), lambda b: rough.solve(b)):
        np.testing.assert_allclose(fg.jacobian(f)(b), np.linalg.inv(a.toarray()), rtol=1e-12)
    with pytest.raises(
        ValueError, match="the factors are of a matrix of 4 rows, the right-hand side is"
    ):
        fg.grad(lambda b: rough.solve(b).sum())(np.ones(3))


@pytest.mark.parametrize("trans", ["N", "T", "H"])
def test_factors_of_traced_data(trans):
    given = scipy.sparse.csc_array(A)

    def f(data, b):
        matrix = scipy.sparse.csc_array((data, given.indices, given.indptr), given.shape)
        return scipy.sparse.linalg.splu(matrix).solve(b, trans)

    def dense(data, b):
        rows, columns = given.tocoo().coords
        a = fnp.zeros(given.shape).at[rows, columns].set(data)
        return fnp.linalg.solve(a if trans == "N" else a.T, b)

    args = given.data, np.asarray(B, float)
    np.testing.assert_allclose(fg.jit(f)(*args), f(*args))
    for f_, dense_ in ((f, dense), (fg.jit(f), dense)):
        for i in range(2):
            np.testing.assert_allclose(fg.jacrev(f_, i)(*args), fg.jacrev(dense_, i)(*args))


def test_factorized():
    given = scipy.sparse.csc_array(A)
    solve = lambda a, b: linalg.factorized(a * given)(b)
    slope = fg.grad(lambda a: solve(a, B).sum())(2.0)
    np.testing.assert_allclose(slope, -linalg.spsolve(given, B).sum() / 4)
    with pytest.raises(ValueError, match='must be "N", "T" or "H"'):
        fg.grad(lambda a: linalg.splu(a * given).solve(B, "C").sum())(2.0)
    with pytest.raises(ValueError, match="splu: matrix must be square"):
        fg.grad(lambda a: linalg.splu(a * given[:1]).solve(B).sum())(2.0)
    with pytest.raises(TypeError, match="splu takes a sparse matrix"):
        fg.grad(lambda a: linalg.splu(a * A).solve(B).sum())(2.0)
