"""Uncertainty that goes through functions, against closed forms and the moments of draws."""

import sys

import numpy as np
import pytest

import fungrad as fg
from fungrad.test_util import assert_allclose, check_grads
from tests.backends.fake_cupy import make_module

MEAN = np.array([2.0, 3.0, -1.0])
FACTOR = np.array([[0.3, 0.0, 0.0], [0.1, 0.2, 0.0], [-0.05, 0.1, 0.15]])
COVARIANCE = FACTOR @ FACTOR.T
MATRIX = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
WRAPPERS = pytest.mark.parametrize("wrapped", [lambda f: f, fg.jit], ids=["", "jit"])
METHODS = pytest.mark.parametrize("method", ["linear", "quadratic", "sampling"])


@WRAPPERS
@pytest.mark.parametrize("method", ["linear", "quadratic"])
def test_linear_functions_are_exact(wrapped, method):
    found = wrapped(fg.propagate(lambda x: MATRIX @ x + 1, method))(MEAN, COVARIANCE)
    assert_allclose(found.value, MATRIX @ MEAN + 1)
    assert_allclose(found.covariance, MATRIX @ COVARIANCE @ MATRIX.T)
    assert_allclose(found.std, np.sqrt(np.diag(MATRIX @ COVARIANCE @ MATRIX.T)))


def test_sampling_of_linear_functions_is_that_of_the_draws():
    draws = np.random.default_rng(3).standard_normal((500, 3))
    found = fg.propagate(lambda x: MATRIX @ x, "sampling", samples=500, seed=3)(MEAN, COVARIANCE)
    results = (MEAN + draws @ np.linalg.cholesky(COVARIANCE).T) @ MATRIX.T
    assert_allclose(found.value, results.mean(0))
    assert_allclose(found.covariance, np.cov(results.T))


def test_moments_of_quadratic_functions_are_exact_to_second_order():
    """For x normal, the variance of ``x @ A @ x / 2`` is ``m @ A @ C @ A @ m`` and half the trace of ``A @ C @ A @ C``."""
    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 0.5]])
    found = fg.propagate(lambda x: x @ a @ x / 2, "quadratic")(MEAN, COVARIANCE)
    assert_allclose(found.value, MEAN @ a @ MEAN / 2 + np.trace(a @ COVARIANCE) / 2)
    ac = a @ COVARIANCE
    assert_allclose(found.covariance, np.array([[MEAN @ ac @ a @ MEAN + np.trace(ac @ ac) / 2]]))


def test_second_order_comes_nearer_to_the_mean_of_many_draws():
    f = lambda x: np.exp(x[0]) * np.sin(x[1]) + x[2] ** 3
    first, second, many = [
        fg.propagate(f, m, samples=400_000, chunk_size=50_000)(MEAN, COVARIANCE)
        for m in ("linear", "quadratic", "sampling")
    ]
    assert abs(second.value - many.value) < 0.2 * abs(first.value - many.value)


@METHODS
def test_variances_are_those_of_a_diagonal_matrix(method):
    f = lambda x: np.stack([x[0] * x[1], np.sin(x[2]), x.sum()])
    variances = np.array([0.1, 0.2, 0.3])
    of_vector = fg.propagate(f, method)(MEAN, variances)
    assert_allclose(of_vector, fg.propagate(f, method)(MEAN, np.diag(variances)))


@METHODS
def test_trees(method):
    f = lambda p, t: {"sum": p["a"] + p["b"] @ t, "each": p["b"] * p["a"]}
    p, t = {"a": np.float64(2.0), "b": np.array([3.0, -1.0])}, np.array([0.5, 1.5])
    found = fg.propagate(f, method)(p, t, COVARIANCE)
    flat = fg.propagate(lambda x: np.stack([x[1] * x[0], x[2] * x[0], x[0] + x[1:] @ t]), method)(
        MEAN, COVARIANCE
    )
    assert found.covariance.shape == (3, 3)
    assert_allclose(found.covariance, flat.covariance)
    assert_allclose(found.value, {"sum": flat.value[2], "each": flat.value[:2]})
    assert_allclose(found.std, {"sum": flat.std[2], "each": flat.std[:2]})
    variances = {"a": 0.1, "b": np.array([0.2, 0.3])}
    assert_allclose(
        fg.propagate(f, method)(p, t, variances),
        fg.propagate(f, method)(p, t, np.diag([0.1, 0.2, 0.3])),
    )


def test_several_arguments_and_keywords():
    f = lambda a, scale, b, *, shift: scale * a * b + shift
    found = fg.propagate(f, argnums=(0, 2))(
        2.0, 10.0, 3.0, np.array([[0.1, 0.02], [0.02, 0.2]]), shift=1.0
    )
    assert found.value == 61.0
    assert_allclose(found.covariance, np.array([[100 * (9 * 0.1 + 2 * 6 * 0.02 + 4 * 0.2)]]))


def test_a_singular_covariance_is_drawn_from():
    found = fg.propagate(lambda x: x[0] - x[1], "sampling")(np.zeros(2), np.ones((2, 2)))
    assert_allclose(found.covariance, np.zeros((1, 1)), atol=1e-12)
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"(?s)test_propagation.*its least eigenvalue is -1"):
        fg.propagate(lambda x: x[0] - x[1], "sampling")(np.zeros(2), indefinite)


@METHODS
def test_derivatives(method):
    f = lambda x: np.stack([np.exp(x[0]) * x[1], x[2] ** 2])

    def total(mean, factor):
        found = fg.propagate(f, method, samples=50)(mean, factor @ factor.T)
        return found.value.sum() + (found.covariance * MATRIX[:, :2]).sum()

    check_grads(total, (MEAN, FACTOR + 0.3 * np.eye(3)), order=1)
    expected = fg.grad(total)(MEAN, FACTOR + 0.3 * np.eye(3))
    assert_allclose(fg.jit(fg.grad(total))(MEAN, FACTOR + 0.3 * np.eye(3)), expected)


@METHODS
def test_batches(method):
    f = lambda x: x[:2] ** 2 * x[2]
    means = np.stack([MEAN, MEAN + 1])
    found = fg.vmap(fg.propagate(f, method), (0, None))(means, COVARIANCE)
    each = [fg.propagate(f, method)(m, COVARIANCE) for m in means]
    assert_allclose(found.covariance, np.stack([x.covariance for x in each]), rtol=1e-8)


@METHODS
def test_arrays_of_cupy(method, monkeypatch):
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    f = lambda x: x[:2] ** 2 * x[2]
    found = fg.propagate(f, method, samples=40)(cupy.asarray(MEAN), cupy.asarray(COVARIANCE))
    expected = fg.propagate(f, method, samples=40)(MEAN, COVARIANCE)
    assert type(found.covariance) is type(cupy.asarray(MEAN))
    assert_allclose(cupy.asnumpy(found.covariance), expected.covariance)


@pytest.mark.parametrize("chunk_size", [1, 7, "auto"])
@METHODS
def test_chunks(method, chunk_size):
    f = lambda x: x[:2] ** 2 * x[2]
    whole = fg.propagate(f, method, samples=40)(MEAN, COVARIANCE)
    assert_allclose(
        fg.propagate(f, method, samples=40, chunk_size=chunk_size)(MEAN, COVARIANCE), whole
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fg.propagate(np.sin, "exact"), r"method is one of \['linear', 'quadratic', 'sampling'\], got 'exact'"),
        (lambda: fg.propagate(np.sin, "sampling", samples=1), "samples must be 2 at least, got 1"),
        (lambda: fg.propagate(np.sin)(MEAN), "is called with the arguments of the function and a covariance"),
        (lambda: fg.propagate(np.sin)(MEAN, np.eye(2)), r"(?s)test_propagation.*matrix of shape \(3, 3\), .* got \(2, 2\)"),
        (lambda: fg.propagate(np.sin)(MEAN, {"a": 1.0}), "got a tree"),
        (lambda: fg.propagate(np.sin)(MEAN, -COVARIANCE), "variances must not be negative, and the least of these is -0"),
        (lambda: fg.propagate(np.sin)(MEAN, np.eye(3) + np.eye(3, 3, 1)), "the covariance is not symmetric"),
        (lambda: fg.propagate(np.sin)(np.arange(3), np.eye(3)), "int64"),
        (lambda: fg.propagate(lambda x: x > 0)(MEAN, COVARIANCE), "results must be real floats, got bool"),
        (lambda: fg.propagate(lambda x: x * 1j)(MEAN, COVARIANCE), "results must be real floats, got complex128"),
        (lambda: fg.propagate(np.sin)(MEAN, COVARIANCE * 1j), "a covariance is real, got complex128"),
    ],
)  # fmt: skip
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
