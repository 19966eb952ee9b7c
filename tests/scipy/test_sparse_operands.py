"""Matrices of scipy.sparse beside traced arrays: as constants, and as arguments."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import fungrad as fg
from fungrad.scipy.sparse import SparseArray
from fungrad.scipy.sparse import linalg as sparse_linalg

DENSE = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 0.0, 5.0]])
X = np.array([2.0, 1.0, 3.0])
FORMATS = ["coo", "csr", "csc", "dia", "bsr", "lil", "dok"]

OPERATIONS = {
    "A @ x": lambda a, x: a @ x,
    "x @ A": lambda a, x: x @ a,
    "A.T @ x": lambda a, x: a.T @ x,
    "A.dot(x)": lambda a, x: a.tocsr().dot(x),
    "A @ X": lambda a, x: a @ (x[:, None] * np.ones((1, 2))),
    "X @ A": lambda a, x: (x * np.ones((2, 1))) @ a,
    "A * x": lambda a, x: a * x,
    "x * A": lambda a, x: x * a,
    "A * number": lambda a, x: a * x[0],
    "number * A": lambda a, x: x[0] * a,
    "A / number": lambda a, x: a / x[0],
    "A + X": lambda a, x: a + x[:, None] * np.ones(3),
    "X + A": lambda a, x: x[:, None] * np.ones(3) + a,
    "A - X": lambda a, x: a - x[:, None] * np.ones(3),
    "X - A": lambda a, x: x[:, None] * np.ones(3) - a,
    "A @ (number * A)": lambda a, x: a @ (x[0] * a),
    "(number * A) @ A": lambda a, x: (x[0] * a) @ a,
    "-A @ x": lambda a, x: -a @ x,
    "A[[0, 1]] @ x": lambda a, x: a.tocsr()[[0, 1]] @ x,
    "x += A @ x": lambda a, x: x + a @ x,
}


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) or isinstance(x, SparseArray) else x


MATRICES = [
    pytest.param(getattr(scipy.sparse, f"{name}_{kind}")(DENSE), id=f"{name}_{kind}")
    for kind in ("array", "matrix")
    for name in FORMATS
]


@pytest.mark.parametrize("a", MATRICES)
@pytest.mark.parametrize("operate", OPERATIONS.values(), ids=OPERATIONS)
def test_operators(operate, a):
    expected = np.asarray(dense(operate(a, X)))
    as_constant = fg.jit(lambda x: dense(operate(a, x)))(X)
    np.testing.assert_allclose(as_constant, expected)
    np.testing.assert_allclose(dense(fg.jit(operate)(a, X)), expected)
    weights = np.arange(1.0, expected.size + 1).reshape(expected.shape)

    def weighed(x):
        return np.sum(weights * np.asarray(dense(operate(a, x))))

    slope = fg.grad(lambda x: np.sum(weights * dense(operate(a, x))))(X)
    differences = [(weighed(X + h) - weighed(X - h)) / 2e-4 for h in 1e-4 * np.eye(3)]
    np.testing.assert_allclose(slope, differences, rtol=1e-7)


@pytest.mark.parametrize("a", MATRICES)
def test_derivatives_by_entries(a):
    """They are those of a matrix that is zero where the argument is; of the same class."""

    def f(a):
        return np.sum((a @ X) ** 2)

    slope = fg.grad(f)(a)
    assert type(slope) is type(a)
    np.testing.assert_allclose(slope.toarray(), np.where(DENSE, fg.grad(f)(DENSE), 0))
    np.testing.assert_allclose(fg.jit(fg.grad(f))(a).toarray(), slope.toarray())


def test_results_are_matrices_of_scipys_classes():
    a = scipy.sparse.csr_array(DENSE)
    found = fg.jit(lambda a: {"twice": 2 * a, "turned": a.T})(a)
    assert {name: type(x).__name__ for name, x in found.items()} == {
        "twice": "csr_array",
        "turned": "csc_array",
    }
    np.testing.assert_array_equal(found["twice"].toarray(), 2 * DENSE)
    np.testing.assert_array_equal(found["turned"].toarray(), DENSE.T)


def test_batches_of_vectors():
    a = scipy.sparse.csr_array(DENSE)
    batch = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(fg.vmap(lambda x: a @ x)(batch), batch @ DENSE.T)
    found = fg.vmap(lambda a, x: a @ x, in_axes=(None, 0))(a, batch)
    np.testing.assert_allclose(found, batch @ DENSE.T)


def test_a_matrix_of_another_structure_is_traced_anew():
    f = fg.jit(lambda a, x: a @ x)
    for a in (np.eye(3), DENSE, DENSE.T):
        np.testing.assert_allclose(f(scipy.sparse.csr_array(a), X), a @ X)


@pytest.mark.parametrize(
    ("f", "advice"),
    [
        (lambda a, x: a.tocoo().dot(x), "write A @ x"),
        (lambda a, x: a.multiply(x), r"write scipy\.sparse\.csr_array\(A\) \* x"),
        (scipy.sparse.linalg.spsolve, r"call fungrad\.scipy\.sparse\.linalg\.spsolve"),
    ],
)
def test_what_is_refused_says_what_to_write(f, advice, as_written):
    a = scipy.sparse.csc_array(DENSE)
    with pytest.raises(fg.LostDerivativeError, match=advice):
        fg.grad(lambda x: f(a, x).sum())(X)
    np.testing.assert_allclose(
        fg.grad(lambda x: sparse_linalg.spsolve(a, x).sum())(X), np.linalg.inv(DENSE).sum(0)
    )
    product = lambda x: (scipy.sparse.csr_array(a) * x).sum()
    np.testing.assert_allclose(fg.grad(product)(X), DENSE.sum(0))


def test_products_and_solutions_by_scipys_own_functions():
    a = scipy.sparse.csc_array(DENSE)
    np.testing.assert_allclose(fg.grad(lambda x: a.multiply(x).sum())(X), DENSE.sum(0))
    np.testing.assert_allclose(
        fg.grad(lambda x: scipy.sparse.linalg.spsolve(a, x).sum())(X), np.linalg.inv(DENSE).sum(0)
    )


def test_traced_matrices_are_refused_by_scipys_functions():
    a = scipy.sparse.csc_array(DENSE)
    with pytest.raises(fg.LostDerivativeError, match="is traced, and no array"):
        fg.jit(scipy.sparse.linalg.spsolve)(a, X)


def test_vectors_are_refused():
    with pytest.raises(NotImplementedError, match="sparse vectors"):
        fg.jit(lambda a: a.sum())(scipy.sparse.coo_array(X))


@pytest.mark.parametrize("name", ["bicgstab", "cg", "gmres"])
def test_operators_of_functions_that_hold_what_is_traced(name):
    solve = getattr(scipy.sparse.linalg, name)
    a = np.array([[3.0, 0.3], [0.3, 1.5]])
    b = np.array([1.0, -2.0])

    def f(a, b):
        operator = scipy.sparse.linalg.LinearOperator((2, 2), lambda x: a @ x, dtype=float)
        inverse = scipy.sparse.linalg.LinearOperator((2, 2), lambda x: x / a[0, 0], dtype=float)
        return solve(operator, b, rtol=1e-12, M=inverse)[0].sum()

    expected = fg.grad(lambda a, b: np.linalg.solve(a, b).sum(), (0, 1))(a, b)
    for found, e in zip(fg.jit(fg.grad(f, (0, 1)))(a, b), expected, strict=True):
        np.testing.assert_allclose(found, e, atol=1e-10)
    np.testing.assert_allclose(fg.grad(lambda a: f(a, b))(a), expected[0], atol=1e-10)
