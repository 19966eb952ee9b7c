"""Solvers of SciPy that take sparse Jacobians and Hessians: the solutions they find without."""

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.sparse as sp

import fungrad as fg
from fungrad.scipy import optimize
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
