"""Laplace's approximation: exact for normal densities, with derivatives by the data."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.scipy import optimize
from fungrad.test_util import assert_allclose, check_grads

MEAN = np.array([1.0, -2.0])
PRECISION = np.array([[2.0, 0.5], [0.5, 1.0]])
COUNTS = np.array([3.0, 5.0, 4.0])


def normal(x, mean=MEAN):
    return -(x - mean) @ PRECISION @ (x - mean) / 2


def poisson(rate, counts):
    return fnp.sum(counts * rate - fnp.exp(rate)) - rate**2 / 200


def test_normal_densities_are_their_own_approximation():
    found = fg.laplace(normal)(np.zeros(2))
    assert_allclose(found.mode, MEAN, rtol=1e-9)
    assert_allclose(found.covariance, np.linalg.inv(PRECISION), rtol=1e-9)
    assert_allclose(found.std, np.sqrt(np.diag(np.linalg.inv(PRECISION))), rtol=1e-9)
    evidence = np.log(2 * np.pi) - np.log(np.linalg.det(PRECISION)) / 2
    assert_allclose(found.log_evidence, evidence, rtol=1e-9)


def test_the_mode_is_a_root_of_the_slope():
    found = fg.laplace(poisson)(0.0, COUNTS)
    assert abs(fg.grad(poisson)(found.mode, COUNTS)) < 1e-10
    assert_allclose(
        found.covariance, np.array([[-1 / fg.grad(fg.grad(poisson))(found.mode, COUNTS)]])
    )


def test_trees_and_draws():
    density = lambda p: normal(fnp.stack([p["a"], p["b"][0]]))
    start = {"a": 0.0, "b": np.zeros(1)}
    found = fg.laplace(density)(start)
    assert_allclose(found.mode, {"a": MEAN[0], "b": MEAN[1:]}, rtol=1e-9)
    draws = found.sample(50_000, seed=1)
    assert draws["b"].shape == (50_000, 1)
    both = np.stack([draws["a"], draws["b"][:, 0]])
    np.testing.assert_allclose(np.cov(both), found.covariance, atol=0.02)


def test_derivatives_by_the_data():
    def of_data(counts):
        found = fg.laplace(poisson)(0.0, counts)
        return found.mode + 3 * found.std + found.log_evidence

    check_grads(of_data, (COUNTS,), order=1, modes=["rev"], rtol=1e-4)
    assert_allclose(fg.jit(of_data)(COUNTS), of_data(COUNTS), rtol=1e-7)
    moved = lambda mean: fg.laplace(normal)(np.zeros(2), mean).mode
    assert_allclose(fg.jacfwd(moved)(MEAN), np.eye(2), atol=1e-8)


def test_no_maximum_is_an_error():
    with pytest.raises(
        ValueError, match=r"(?s)test_laplace.*has ended where the density has no strict maximum"
    ):
        fg.laplace(lambda x: -(x[0] ** 2) + 0 * x[1])(np.ones(2))
    with pytest.raises(TypeError, match="parameters must be real floats, got int64"):
        fg.laplace(normal)(np.zeros(2, int))


def test_fits_have_derivatives_of_parameters_and_covariance():
    """`curve_fit` of traced data: both results, and the band that follows from them."""
    t = np.linspace(0, 1, 8)
    y = 2 * np.exp(-1.5 * t) + 0.01 * np.cos(7 * t)
    model = lambda t, a, k: a * fnp.exp(-k * t)

    def band(y):
        p, covariance = optimize.curve_fit(model, t, y, [1.0, 1.0])
        return fg.propagate(lambda p: model(t, p[0], p[1]))(p, covariance).std

    check_grads(lambda y: fnp.sum(band(y)), (y,), order=1, modes=["rev"], rtol=1e-4)
    p, covariance = optimize.curve_fit(model, t, y, [1.0, 1.0])
    jacobian = np.stack([np.exp(-p[1] * t), -p[0] * t * np.exp(-p[1] * t)], 1)
    assert_allclose(band(y), np.sqrt(np.diag(jacobian @ covariance @ jacobian.T)), rtol=1e-9)
