"""Solvers of SciPy that take sparse Jacobians and Hessians: the solutions they find without."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse as sp

import fungrad as fg
from fungrad.scipy import integrate, optimize
from fungrad.scipy.optimize.jacobians import Jacobian, takes_few_products
from fungrad.test_util import assert_allclose

N = 60
PLACES = np.linspace(0, 1, N)


def diffusion(u):
    return N**2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) / 50 + u * (1 - u)


def test_implicit_methods_for_differential_equations():
    start = np.exp(-40 * (PLACES - 0.5) ** 2)
    jacobian = fg.jit(fg.sparse_jacobian(diffusion, format="csc"))
    calls = []
    right = lambda t, u: calls.append(u) or diffusion(u)
    for method in ("BDF", "Radau"):
        options = {"method": method, "rtol": 1e-6, "atol": 1e-8}
        calls.clear()
        exact = scipy.integrate.solve_ivp(
            right, (0, 1), start, jac=lambda t, u: jacobian(u), **options
        )
        with_jacobian = len(calls)
        calls.clear()
        plain = scipy.integrate.solve_ivp(right, (0, 1), start, **options)
        np.testing.assert_allclose(exact.y[:, -1], plain.y[:, -1], atol=1e-5)
        assert len(calls) >= with_jacobian + N  # differences take a call for each unknown


def test_patterns_for_differences():
    pattern = fg.sparsity(diffusion)(PLACES)
    residuals = lambda u: diffusion(u) - 1
    found = scipy.optimize.least_squares(residuals, PLACES, jac_sparsity=pattern, tr_solver="lsmr")
    assert found.success


def test_least_squares():
    target = np.cos(5 * PLACES)
    residuals = lambda u: np.concatenate([u - target, 3 * np.diff(u) ** 2])
    jacobian = fg.jit(fg.sparse_jacobian(residuals))
    sparse = optimize.least_squares(residuals, np.zeros(N), jac=jacobian, xtol=1e-12, ftol=1e-14)
    dense = optimize.least_squares(residuals, np.zeros(N), xtol=1e-12, ftol=1e-14)
    assert sp.issparse(sparse.jac)
    assert_allclose(sparse.x, dense.x, atol=1e-6)


def test_minimization_with_a_sparse_hessian():
    def chained(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    hessian = fg.jit(fg.sparse_hessian(chained))
    start = np.full(10, 0.8)
    found = optimize.minimize(
        chained, start, method="trust-constr", hess=hessian, options={"gtol": 1e-9}
    )
    assert_allclose(found.x, np.ones(10), atol=1e-6)


LARGE = np.linspace(0, 1, 240)


def reaction(u, rate=1.0):
    return (np.roll(u, 1) - 2 * u + np.roll(u, -1)) * 40 + rate * u * (1 - u)


def test_patterns_are_looked_for_where_that_pays():
    assert takes_few_products(reaction, LARGE)
    assert not takes_few_products(reaction, LARGE[:60])
    assert not takes_few_products(lambda u: u - u.mean(), LARGE)
    dense = fg.jacfwd(reaction)(LARGE, 2.0)
    for as_sparse in (False, True):
        jacobian = Jacobian(reaction, as_sparse)
        for u in (LARGE, LARGE**2):
            found = jacobian(u, 2.0)
            assert sp.issparse(found) is as_sparse
            expected = fg.jacfwd(reaction)(u, 2.0) if u is not LARGE else dense
            assert_allclose(found.toarray() if as_sparse else found, expected, rtol=1e-12)


def test_roots_and_least_squares_by_themselves():
    for method in ("hybr", "lm"):
        found = optimize.root(lambda u: reaction(u) - LARGE + u**3, LARGE, method=method)
        assert found.success
        assert_allclose(reaction(found.x) + found.x**3, LARGE, atol=1e-6)
    residuals = lambda u: np.concatenate([u - np.cos(5 * LARGE), 3 * np.diff(u) ** 2])
    fitted = optimize.least_squares(residuals, LARGE)
    dense = scipy.optimize.least_squares(residuals, LARGE, jac=fg.jit(fg.jacfwd(residuals)))
    assert isinstance(fitted.jac, np.ndarray)
    assert_allclose(fitted.x, dense.x, atol=1e-8)
    fitted = optimize.least_squares(residuals, LARGE, tr_solver="lsmr", xtol=1e-12, ftol=1e-14)
    assert sp.issparse(fitted.jac)
    assert_allclose(fitted.x, dense.x, atol=1e-5)


def test_implicit_methods_find_the_pattern_by_themselves():
    start, calls = np.exp(-40 * (LARGE - 0.5) ** 2), []
    right = lambda t, u, rate: calls.append(1) or reaction(u, rate)
    for method in ("BDF", "Radau", scipy.integrate.BDF):
        calls.clear()
        ours = integrate.solve_ivp(right, (0, 1), start, method, args=(2.0,), rtol=1e-6, atol=1e-8)
        few = len(calls)
        calls.clear()
        theirs = scipy.integrate.solve_ivp(
            right, (0, 1), start, method, args=(2.0,), rtol=1e-6, atol=1e-8
        )
        assert_allclose(ours.y[:, -1], theirs.y[:, -1], atol=1e-5)
        assert few < len(calls) - 200


@pytest.mark.parametrize("kind", ["dict", "object"])
def test_trust_constr_gets_sparse_matrices_by_itself(kind, monkeypatch):
    given, original = {}, scipy.optimize.minimize
    spy = lambda fun, x0, **options: given.update(options) or original(fun, x0, **options)
    monkeypatch.setattr(scipy.optimize, "minimize", spy)
    objective = lambda x: np.sum((x - 2) ** 2) + np.sum(np.diff(x) ** 4)
    bound = lambda x: 1 - x[::40] * x[1::40]
    constraint = {"type": "ineq", "fun": bound}
    if kind == "object":
        constraint = scipy.optimize.NonlinearConstraint(bound, 0, np.inf)
    options = {"maxiter": 200}
    found = optimize.minimize(
        objective, LARGE, method="trust-constr", constraints=constraint, options=options
    )
    assert sp.issparse(given["hess"](LARGE))
    assert given.get("hessp") is None
    assert all(map(sp.issparse, found.jac))
    assert_allclose(bound(found.x), np.zeros(6), atol=1e-4)
    assert found.optimality < 1e-3
    optimize.minimize(lambda x: np.sum(x) ** 2, LARGE, method="trust-constr", options=options)
    assert given["hess"] is None
    assert callable(given["hessp"])


def test_functions_that_cannot_be_traced_are_scipys():
    def right(t, u):
        if type(u) is not np.ndarray:
            raise TypeError("arrays alone")
        return -u

    found = integrate.solve_ivp(right, (0, 1), LARGE, "BDF")
    assert_allclose(found.y, scipy.integrate.solve_ivp(right, (0, 1), LARGE, "BDF").y, rtol=1e-12)
