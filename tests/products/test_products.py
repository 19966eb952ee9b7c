"""Products with matrices of derivatives, and diagonals of them, against the matrices."""

import sys

import numpy as np
import pytest
import scipy.sparse.linalg

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.patterns.walk import DenseError
from fungrad.scipy.special import logsumexp
from fungrad.test_util import assert_allclose
from tests.backends.fake_cupy import make_module

X = np.linspace(0.3, 1.0, 6)
V = np.arange(6.0) - 2
WRAPPERS = pytest.mark.parametrize("wrapped", [lambda f: f, fg.jit], ids=["", "jit"])


def model(x):
    return fnp.sin(x[:3]) * x[3:]


def chain(x):
    return (x[1:] * x[:-1] ** 2).sum() + fnp.exp(x).sum()


# Diagonals


@WRAPPERS
@pytest.mark.parametrize("chunk_size", [None, 1, "auto"])
def test_diagonals_of_hessians(wrapped, chunk_size):
    for f in (chain, lambda x: fnp.sum(x) ** 3, lambda x: fnp.sum(x), lambda x: fnp.sum(x**4)):
        found = wrapped(fg.hessian_diagonal(f, chunk_size=chunk_size))(X)
        assert_allclose(found, np.diag(fg.hessian(f)(X)))


def test_a_diagonal_takes_as_few_products_as_neighbours_need():
    from fungrad.patterns.plans import plan_for

    def count(f):
        return plan_for(fg.linearize(fg.grad(f), X)[1], "auto", True).neighbour_colours.max() + 1

    assert (count(lambda x: fnp.sum(x**3)), count(chain), count(lambda x: fnp.sum(x) ** 2)) == (
        1,
        2,
        6,
    )


def test_diagonals_have_the_structure_of_the_argument():
    tree = {"a": np.float32(2.0), "b": X.reshape(2, 3)}
    f = lambda t, c: c * t["a"] ** 3 + fnp.sum(t["b"] ** 4) * t["a"]
    found, aux = fg.hessian_diagonal(lambda t, c: (f(t, c), c), has_aux=True)(tree, 2.0)
    assert aux == 2.0
    assert found["a"].dtype == np.float32
    assert_allclose(found, {"a": np.float32(24.0), "b": 24 * tree["b"] ** 2}, rtol=1e-5)
    assert fg.hessian_diagonal(fnp.sum)(np.zeros(0)).shape == (0,)


def test_a_diagonal_of_a_matrix_that_is_no_sparse_one(monkeypatch):
    import fungrad.patterns.diagonal as diagonal

    def refused(*_):
        raise DenseError

    monkeypatch.setattr(diagonal, "plan_for", refused)
    assert_allclose(fg.hessian_diagonal(chain, chunk_size=2)(X), np.diag(fg.hessian(chain)(X)))


def test_derivatives_of_diagonals():
    trace = lambda x: fg.hessian_diagonal(chain)(x).sum()
    assert_allclose(fg.grad(trace)(X), fg.grad(lambda x: fnp.trace(fg.hessian(chain)(x)))(X))
    batch = np.stack([X, 2 * X])
    expected = np.stack([np.diag(fg.hessian(chain)(x)) for x in batch])
    assert_allclose(fg.vmap(fg.hessian_diagonal(chain))(batch), expected)


# Gauss-Newton and Fisher


@WRAPPERS
def test_gauss_newton_products(wrapped):
    jacobian = fg.jacfwd(model)(X)
    assert_allclose(wrapped(fg.gnvp(model))(X, V), jacobian.T @ (jacobian @ V))
    loss = lambda z: fnp.sum(fnp.exp(z)) + z[0] * z[1]
    curvature = fg.hessian(loss)(model(X))
    found = wrapped(fg.gnvp(model, loss))(X, V)
    assert_allclose(found, jacobian.T @ (curvature @ (jacobian @ V)))


LIKELIHOODS = {
    "normal": lambda z: fnp.sum(z**2) / 2,
    "bernoulli": lambda z: fnp.sum(fnp.log1p(fnp.exp(z))),
    "categorical": lambda z: logsumexp(z),
    "poisson": lambda z: fnp.sum(fnp.exp(z)),
}


@WRAPPERS
@pytest.mark.parametrize("distribution", LIKELIHOODS)
def test_fisher_products(wrapped, distribution):
    jacobian, fisher = fg.jacfwd(model)(X), fg.hessian(LIKELIHOODS[distribution])(model(X))
    found = wrapped(fg.fvp(model, distribution))(X, V)
    assert_allclose(found, jacobian.T @ (fisher @ (jacobian @ V)))


def test_a_fisher_matrix_is_the_covariance_of_the_score():
    x, counts = np.log([2.0, 5.0]), np.random.default_rng(0).poisson([2.0, 5.0], (100_000, 2))
    likelihood = lambda x, k: fnp.sum(k * x - fnp.exp(x))
    scores = fg.vmap(fg.grad(likelihood), (None, 0))(x, counts)
    columns = [fg.fvp(lambda x: x, "poisson")(x, e) for e in np.eye(2)]
    np.testing.assert_allclose(np.cov(scores.T), columns, atol=0.1)


def test_products_of_trees_and_extra_arguments():
    f = lambda p, t: p["a"] * t + p["b"]
    p, t = {"a": np.float64(2.0), "b": np.ones(3)}, np.arange(3.0)
    found = fg.gnvp(f)(p, t, {"a": np.float64(1.0), "b": np.zeros(3)})
    assert_allclose(found, {"a": np.float64(5.0), "b": t})


# Operators


def test_operators_are_jacobians():
    operator, jacobian = fg.linear_operator(model, X), fg.jacfwd(model)(X)
    assert isinstance(operator, scipy.sparse.linalg.LinearOperator)
    assert (operator.shape, operator.dtype) == ((3, 6), np.float64)
    assert_allclose(operator @ V, jacobian @ V)
    assert_allclose(operator.T @ V[:3], jacobian.T @ V[:3])
    assert_allclose(operator @ np.eye(6), jacobian)
    assert_allclose(operator.H @ np.eye(3), jacobian.T)
    assert_allclose((operator.T @ operator) @ V, jacobian.T @ (jacobian @ V))


def test_operators_of_complex_functions():
    z, f = X + 1j, lambda z: z[1:] * z[:-1]
    operator, jacobian = fg.linear_operator(f, z), fg.jacfwd(f, holomorphic=True)(z)
    w = np.arange(5) + 2j
    assert_allclose(operator @ z, jacobian @ z)
    assert_allclose(operator.H @ w, jacobian.conj().T @ w)
    assert_allclose(operator.T @ w, jacobian.T @ w)
    assert_allclose(operator.H @ np.eye(5), jacobian.conj().T)


def test_operators_of_trees():
    f = lambda t, c: [t["u"] * c, fnp.sum(t["v"] ** 2)]
    tree = {"u": np.ones((2, 2)), "v": X}
    operator = fg.linear_operator(f, tree, c=3.0)
    assert operator.shape == (5, 10)
    assert_allclose(operator @ np.ones(10), np.array([3, 3, 3, 3, 2 * X.sum()]))
    assert_allclose(operator.T @ np.ones(5), np.r_[np.full(4, 3.0), 2 * X])
    assert fg.linear_operator(lambda x, y: x * y, X, X, argnums=(0, 1)).shape == (6, 12)


def test_solvers_of_scipy_take_them():
    f = lambda x: x**3 + 0.1 * fnp.roll(x, 1)
    b = np.ones(6)
    step, info = scipy.sparse.linalg.gmres(fg.linear_operator(f, X), b, rtol=1e-12)
    assert info == 0
    assert_allclose(fg.jacfwd(f)(X) @ step, b, rtol=1e-8)
    largest = scipy.sparse.linalg.eigsh(fg.linear_operator(fg.grad(chain), X), k=1)[0]
    assert_allclose(largest, np.linalg.eigvalsh(fg.hessian(chain)(X))[-1:], rtol=1e-8)


def test_operators_of_arrays_of_cupy_are_refused(monkeypatch):
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(TypeError, match="the arguments are CuPy's"):
        fg.linear_operator(model, cupy.asarray(X))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fg.gnvp(model)(X), "gnvp.model. is called with the arguments of the function and a vector"),
        (lambda: fg.gnvp(model, 3), "gnvp: loss takes a function"),
        (lambda: fg.fvp(model, "gamma"), r"distribution is one of .*, got 'gamma'. For another pass gnvp"),
        (lambda: fg.hessian_diagonal(model)(X), "scalar"),
        (lambda: fg.hessian_diagonal(chain, chunk_size=0), "hessian_diagonal: chunk_size must be positive"),
        (lambda: fg.linear_operator(model, np.arange(6)), "int64"),
        (lambda: fg.linear_operator(lambda x: x > 0, X), "needs real floats as arguments and results, got bool"),
        (lambda: fg.linear_operator(lambda x: x * 1j, X), "needs real floats"),
        (lambda: fg.jit(lambda x: fg.linear_operator(model, x).shape)(X), r"(?s)test_products.*the arguments are traced.*fungrad.linearize"),
    ],
)  # fmt: skip
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
