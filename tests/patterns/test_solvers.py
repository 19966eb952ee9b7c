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


def spied_constraint(monkeypatch):
    """Return the list of constraints that SciPy is given."""
    given, original = [], scipy.optimize.minimize

    def spy(fun, x0, **options):
        given.append(options["constraints"])
        return original(fun, x0, **options)

    monkeypatch.setattr(scipy.optimize, "minimize", spy)
    return given


@pytest.mark.parametrize("kind", ["dict", "object", "with a Hessian of its own"])
def test_trust_constr_gets_sparse_hessians_of_constraints(kind, monkeypatch):
    given = spied_constraint(monkeypatch)
    slopes = lambda x: np.diff(x) + 0.02 * np.sin(x[1:]) - 0.01
    constraint = {"type": "eq", "fun": slopes}
    if kind != "dict":
        hess = scipy.optimize.SR1() if kind == "with a Hessian of its own" else None
        constraint = scipy.optimize.NonlinearConstraint(slopes, 0, 0, hess=hess)
    found = optimize.minimize(
        lambda x: np.sum((x - 0.3) ** 2), LARGE, method="trust-constr", constraints=constraint
    )
    (made,) = given
    assert_allclose(slopes(found.x), np.zeros(239), atol=1e-8)
    if kind == "with a Hessian of its own":
        assert made.hess is hess
        return
    assert sp.issparse(made.hess(LARGE, np.ones(239)))
    weights = np.linspace(-1, 1, 239)
    expected = fg.hessian(lambda x: weights @ slopes(x))(LARGE)
    assert_allclose(made.hess(LARGE, weights).toarray(), expected, rtol=1e-12)
    assert found.nit < 15


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")  # SciPy's BFGS at multipliers of 0
def test_an_own_jacobian_leaves_constraints_untraced(monkeypatch):
    given = spied_constraint(monkeypatch)

    def slopes(x):
        assert type(x) is np.ndarray
        return np.diff(x) + 0.02 * x[1:] ** 2 - 0.01

    def jacobian(x):
        return sp.diags_array([-np.ones(239), 1 + 0.04 * x[1:]], offsets=[0, 1], shape=(239, 240))

    for constraint in (
        {"type": "eq", "fun": slopes, "jac": jacobian},
        scipy.optimize.NonlinearConstraint(slopes, 0, 0, jacobian),
    ):
        found = optimize.minimize(
            lambda x: np.sum(x**2), LARGE, method="trust-constr", constraints=constraint
        )
        assert_allclose(slopes(found.x), np.zeros(239), atol=1e-8)
    assert isinstance(given[0], dict)
    assert isinstance(given[1].hess, scipy.optimize.BFGS)


def test_constraints_that_are_linear_have_empty_hessians(monkeypatch):
    given = spied_constraint(monkeypatch)
    constraint = {"type": "eq", "fun": lambda x: np.diff(x) - 0.01}
    found = optimize.minimize(
        lambda x: np.sum(x**2), LARGE, method="trust-constr", constraints=constraint
    )
    assert_allclose(np.diff(found.x), np.full(239, 0.01), atol=1e-10)
    assert given[0].hess(LARGE, np.ones(239)).nnz == 0


def test_least_squares_of_many_unknowns_have_sparse_jacobians():
    many, calls = np.linspace(0, 1, 1000), []

    def residuals(x):
        calls.append(1)
        return np.concatenate([x - np.cos(5 * many), 3 * np.diff(x) ** 2])

    found = optimize.least_squares(residuals, many, xtol=1e-12, ftol=1e-12, gtol=1e-10)
    assert sp.issparse(found.jac)
    assert len(calls) < 10  # traced, and evaluated by compiled programs
    assert np.max(np.abs(fg.grad(lambda x: np.sum(residuals(x) ** 2))(found.x))) < 1e-8
    few = optimize.least_squares(lambda x: residuals(x)[:1000], many, tr_solver="exact", max_nfev=1)
    assert isinstance(few.jac, np.ndarray)


def test_loops_and_branches_in_stiff_equations():
    """The pattern is found through Python's loops and branches; SciPy would call once for each unknown."""
    calls = []

    def right(t, u):
        calls.append(1)
        rate = np.zeros_like(u)
        for k in range(2):
            shifted = np.roll(u, 1 - 2 * k)
            if k == 0:
                rate += 40 * (shifted - u)
            else:
                rate = rate + np.where(shifted > 0.5, 20.0, 10.0) * (shifted - u)
        return rate - u**3

    start = np.exp(-40 * (LARGE - 0.5) ** 2)
    ours = integrate.solve_ivp(right, (0, 0.5), start, "BDF", rtol=1e-6, atol=1e-8)
    few = len(calls)
    calls.clear()
    theirs = scipy.integrate.solve_ivp(right, (0, 0.5), start, "BDF", rtol=1e-6, atol=1e-8)
    assert_allclose(ours.y[:, -1], theirs.y[:, -1], atol=1e-5)
    assert few < len(calls) - 200
    assert fg.sparsity(lambda u: right(0.0, u))(start).nnz == 3 * 240
