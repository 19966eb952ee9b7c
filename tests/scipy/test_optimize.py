"""`fungrad.scipy.optimize`: every method of SciPy's, and implicit derivatives against closed forms."""

import numpy as np
import pytest
import scipy.optimize

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from fungrad.scipy import optimize
from fungrad.test_util import check_agreement

METHODS = (
    None, "Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "COBYQA", "SLSQP",
    "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
)  # fmt: skip
START = np.array([0.9, 0.7])
TIGHT = {"gtol": 1e-12}


def rosenbrock(x, scale=10.0):
    return scale * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2


@pytest.mark.parametrize("method", METHODS)
def test_methods_find_the_minimum(method):
    result = optimize.minimize(rosenbrock, START, (5.0,), method, tol=1e-8)
    np.testing.assert_allclose(result.x, [1.0, 1.0], atol=1e-4)


@pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "trust-exact"])
def test_the_derivatives_are_those_one_would_write(method):
    written = {"jac": scipy.optimize.rosen_der}
    if method != "BFGS":
        written["hess"] = scipy.optimize.rosen_hess
    x0 = np.array([1.3, 0.7, 0.8])
    expected = scipy.optimize.minimize(scipy.optimize.rosen, x0, method=method, **written)

    def rosen(x):
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    found = optimize.minimize(rosen, x0, method=method)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-6)
    assert found.nit == expected.nit


def test_minimum_over_a_tree():
    target = {"a": np.float32(3.0), "b": np.arange(4.0).reshape(2, 2)}
    seen = []

    def f(p):
        assert p["a"].dtype == np.float32
        return ((p["a"] - target["a"]) ** 2).astype(float) + ((p["b"] - target["b"]) ** 2).sum()

    start = fg.tree.map(np.zeros_like, target)
    result = optimize.minimize(f, start, callback=lambda p: seen.append(p["b"].shape))
    assert result.x["a"].dtype == result.jac["a"].dtype == np.float32
    np.testing.assert_allclose(result.x["a"], 3.0, rtol=1e-6)
    np.testing.assert_allclose(result.x["b"], target["b"], atol=1e-6)
    assert set(seen) == {(2, 2)}

    def look(intermediate_result):
        seen.append(intermediate_result.x["a"].dtype)

    optimize.minimize(f, start, callback=look)
    assert seen[-1] == np.float32


def hess_of_rosen(x):
    return fg.hessian(lambda y: rosenbrock(y, 100.0))(x)


def product_of_rosen(x, p):
    return hess_of_rosen(x) @ p


def test_given_derivatives_are_used():
    calls = []

    def jac(x):
        calls.append("jac")
        return scipy.optimize.rosen_der(x)

    def hess(x):
        calls.append("hess")
        return scipy.optimize.rosen_hess(x)

    def opaque(x):  # cannot be traced
        return float(np.asarray(rosenbrock(x, 100.0)))

    for given in (
        {"jac": jac},
        {"jac": jac, "hess": hess, "method": "Newton-CG"},
        {"jac": "2-point"},
    ):
        result = optimize.minimize(opaque, START, **given)
        np.testing.assert_allclose(result.x, [1.0, 1.0], atol=1e-3)
    assert set(calls) == {"jac", "hess"}
    for given in (
        {"hess": fg.jit(hess_of_rosen)},
        {"hess": optimize.BFGS()},
        {"hessp": product_of_rosen},
    ):
        result = optimize.minimize(
            lambda x: rosenbrock(x, 100.0), START, method="trust-constr", **given
        )
        np.testing.assert_allclose(result.x, [1.0, 1.0], atol=1e-3)
    pair = optimize.minimize(lambda x: (opaque(x), jac(x)), START, jac=True)
    np.testing.assert_allclose(pair.x, [1.0, 1.0], atol=1e-4)


def test_objectives_with_python_control_flow_and_with_one_element():
    def f(x):
        return (x[:1] - 2.0) ** 2 if x[0] > 0 else 4.0 - x[:1]

    np.testing.assert_allclose(optimize.minimize(f, -1.0).x, [2.0], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")  # of SciPy, for constraints that are linear
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA"])
@pytest.mark.parametrize(
    "constraint",
    [
        {"type": "ineq", "fun": lambda p: p["x"] + p["y"] - 1.0},
        {"type": "ineq", "fun": lambda p, a: {"g": p["x"] + p["y"] - a}, "args": (1.0,)},
        {
            "type": "ineq",
            "fun": lambda p: p["x"] + p["y"] - 1.0,
            "jac": lambda p: np.array([[1.0, 1.0]]),
        },
        optimize.NonlinearConstraint(lambda p: p["x"] + p["y"], 1.0, np.inf),
    ],
    ids=["function", "tree and args", "jacobian", "nonlinear"],
)
def test_constraints_take_what_the_objective_takes(method, constraint):
    result = optimize.minimize(
        lambda p: p["x"] ** 2 + p["y"] ** 2,
        {"x": 1.0, "y": 2.0},
        method=method,
        constraints=constraint,
        bounds=[(-5, 5), (-5, 5)],
    )
    np.testing.assert_allclose([result.x["x"], result.x["y"]], [0.5, 0.5], atol=1e-3)


@pytest.mark.parametrize(
    ("fun", "error", "match"),
    [
        (lambda x: x, TypeError, "needs a function that returns a scalar"),
        (lambda x: x.sum() * 1j, TypeError, "returns a real number; got complex128"),
        (lambda x: "no", TypeError, "'no' of type str is not an array"),
        (lambda x: float(x[0] > 0), TypeError, None),
    ],
)
def test_errors_of_objectives(fun, error, match):
    if match is None:  # a number that depends on no unknown
        assert optimize.minimize(fun, START).nit == 0
        return
    with pytest.raises(error, match=match):
        optimize.minimize(fun, START)


@pytest.mark.parametrize("method", [None, "L-BFGS-B", "Newton-CG", "Nelder-Mead"])
def test_nan_at_the_start_is_a_failure(method):
    """Traced or not; a search from there may well find something."""

    def found(x):
        result = optimize.minimize(
            lambda x: fnp.sum(fnp.log(x) + 1 / x), x, method=method, options={"maxiter": 9}
        )
        return result.x, result.success, result.status

    start = np.array([-1.0, 2.0])
    with np.errstate(invalid="ignore"):
        for x, success, status in (found(start), fg.jit(found)(start)):
            np.testing.assert_array_equal(x, start)
            assert (bool(success), int(status)) == (False, 3)


def test_complex_unknowns_are_refused():
    for solve in (optimize.minimize, optimize.root, optimize.least_squares):
        with pytest.raises(TypeError, match="x0 must be real"):
            solve(lambda x: x, np.ones(2) * 1j)


@pytest.mark.parametrize("method", [None, "CG", "Newton-CG", "trust-ncg", "Nelder-Mead"])
def test_minimum_is_differentiable(method):
    options = {"xatol": 1e-9, "fatol": 1e-15} if method == "Nelder-Mead" else TIGHT
    if method == "Newton-CG":
        options = {"xtol": 1e-12}

    def f(a, b):
        return optimize.minimize(
            lambda x, c: ((x - a) ** 2).sum() + c * (x[0] + x[1]) ** 2,
            np.zeros(2),
            (b,),
            method,
            options=options,
        ).x

    def reference(a, b):  # x = a - b s / (1 + ...) with s = x[0] + x[1]
        return a - b * a.sum() / (1.0 + 2.0 * b)

    every = method is None
    check_agreement(f, reference, (np.array([1.0, 2.0]), 0.5), rtol=2e-5, jit=every, vmap=every)


def test_results_of_a_differentiable_minimum():
    def f(a):
        result = optimize.minimize(lambda p: (p["x"] - a) ** 2 + 3.0 * a, {"x": 0.0})
        return result.fun, (result.x["x"], result.success, result.status, result.nit, result.nfev)

    gradient, (x, success, status, nit, nfev) = fg.grad(f, has_aux=True)(2.0)
    np.testing.assert_allclose(gradient, 3.0, atol=1e-6)
    np.testing.assert_allclose(x, 2.0, rtol=1e-6)
    assert success
    assert status == 0
    assert 0 < nit <= nfev


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"constraints": {"type": "eq", "fun": lambda x: x[0]}}, "constraints cannot be used"),
        ({"callback": print}, "callback cannot be used"),
        ({"method": "dogleg"}, "use 'trust-ncg'"),
    ],
)
def test_errors_of_differentiable_minima(options, match):
    with pytest.raises(TypeError, match=match):
        fg.grad(lambda a: optimize.minimize(lambda x: ((x - a) ** 2).sum(), START, **options).x[0])(
            1.0
        )


def test_python_control_flow_in_a_differentiable_minimum_is_read_or_refused():
    def f(a):
        return optimize.minimize(lambda x: ((x - a) ** 2).sum() if x[0] < 9 else x[0], START).x[0]

    np.testing.assert_allclose(fg.grad(f)(1.0), 1.0, rtol=1e-6)
    with (
        setting(reading=False),
        pytest.raises(fg.LostDerivativeError, match="Write it as for jit"),
    ):
        fg.grad(f)(1.0)


def test_minimum_of_constants_inside_of_a_trace():
    def f(a):
        return a * optimize.minimize(rosenbrock, START, bounds=[(0, 0.5), (0, 2)]).x[0]

    np.testing.assert_allclose(fg.grad(f)(1.0), 0.5)


@pytest.mark.parametrize("bracket", [None, (0.5, 1.5)])
def test_minimize_scalar(bracket):
    def f(a):
        return optimize.minimize_scalar(
            lambda x, c: (x * x - c) ** 2 + 0.0 * x, bracket or (0.5, 1.5), args=(a,), tol=1e-12
        ).x

    check_agreement(f, fnp.sqrt, (1.3,), rtol=1e-5)


def test_a_bound_that_holds_an_unknown_has_the_derivative():
    def f(a, bound):
        found = optimize.minimize(
            lambda x: ((x - a) ** 2).sum() + x[0] * x[1], START, bounds=[(None, None), (bound, 9)]
        )
        return found.x

    def reference(a, bound):  # x[1] at its bound: 2 (x[0] - a) + bound = 0
        return fnp.stack([a - bound / 2, bound])

    check_agreement(f, reference, (1.0, 2.0), rtol=1e-5)

    def scalar(a, bound):
        return optimize.minimize_scalar(lambda x: (x - a) ** 2, bounds=(0, bound)).x

    np.testing.assert_allclose(fg.grad(scalar, (0, 1))(1.0, 3.0), (1.0, 0.0), atol=1e-6)
    np.testing.assert_allclose(fg.grad(scalar, (0, 1))(4.0, 3.0), (0.0, 1.0), atol=1e-6)

    def squares(a, bound):
        return optimize.least_squares(
            lambda p: fnp.stack([p[0] - a, p[1] - 2 * p[0], p[1] - a]),
            [0.5, 0.5],
            bounds=(0, bound),
        ).x

    # p[1] at its bound: p[0] = (a + 2 bound) / 5
    check_agreement(squares, lambda a, b: fnp.stack([(a + 2 * b) / 5, b]), (4.0, 2.0), rtol=1e-5)


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_losses_of_differentiable_least_squares(loss):
    data = np.array([0.0, 0.3, 5.0, -0.2, 0.9])

    def f(shift):
        found = optimize.least_squares(
            lambda p: p[0] - data * shift, [0.1], loss=loss, f_scale=0.7, xtol=1e-14, ftol=1e-14
        )
        return found.x[0] + found.cost

    step = 1e-3  # of SciPy's solutions, which are not converged to the last digit
    expected = (f(1.2 + step) - f(1.2 - step)) / (2 * step)
    np.testing.assert_allclose(fg.grad(f)(1.2), expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "df-sane", "krylov"])
def test_methods_find_the_root(method):
    result = optimize.root(
        lambda x: [x[0] + x[1] - 2.0, x[0] - x[1] ** 3], [1.2, 1.1], method=method
    )
    np.testing.assert_allclose(result.x, [1.0, 1.0], atol=1e-4)


def test_root_with_given_jacobians():
    def fun(x):
        return np.asarray(x) ** 2 - 2.0

    def jac(x):
        return np.diag(2.0 * x)

    for found in (
        optimize.root(fun, np.ones(2), jac=jac),
        optimize.root(lambda x: (fun(x), jac(x)), np.ones(2), jac=True),
        optimize.root(fun, np.ones(2), jac=False),
    ):
        np.testing.assert_allclose(found.x, np.sqrt(2.0))


@pytest.mark.parametrize("method", ["hybr", "krylov"])
def test_root_is_differentiable(method):
    tol = 1e-11 if method == "krylov" else 1e-14

    def f(a, b):
        start = {"u": 1.0, "v": fnp.stack([b, b])}
        found = optimize.root(
            lambda x, c: {"u": x["u"] ** 3 - a, "v": x["v"] - x["u"] * c},
            start,
            (b,),
            method,
            tol=tol,
        )
        return found.x["v"]

    check_agreement(f, lambda a, b: fnp.cbrt(a) * fnp.stack([b, b]), (1.4, 1.1), rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"x0": 1.2},
        {"x0": 1.2, "method": "newton"},
        {"x0": 1.2, "method": "halley"},
        {"x0": 1.2, "x1": 1.3},
        {"bracket": (1.0, 2.0)},
        {"bracket": (1.0, 2.0), "method": "ridder"},
        {"x0": 1.2, "fprime": lambda x, a: 2.0 * x, "method": "newton"},
        {
            "x0": 1.2,
            "fprime": lambda x, a: 2.0 * x,
            "fprime2": lambda x, a: 2.0,
            "method": "halley",
        },
    ],
    ids=lambda options: "-".join(options),
)
def test_root_scalar(options):
    def f(a):
        return optimize.root_scalar(lambda x, c: x * x - c, (a,), **options).root

    np.testing.assert_allclose(f(1.9), np.sqrt(1.9))
    every = "bracket" in options
    check_agreement(f, fnp.sqrt, (1.9,), vmap=every, jit=every)


def test_root_scalar_of_a_function_that_returns_its_derivative():
    def f(a):
        return optimize.root_scalar(lambda x: (x * x - a, 2.0 * x), x0=1.2, fprime=True).root

    np.testing.assert_allclose([f(4.0), fg.grad(f)(4.0)], [2.0, 0.25])


def test_results_of_root_scalar():
    def f(a):
        result = optimize.root_scalar(lambda x: x * x - a, bracket=(a * 0.0, a))
        return result.root, (result.converged, result.iterations, result.function_calls)

    gradient, (converged, iterations, calls) = fg.grad(f, has_aux=True)(4.0)
    np.testing.assert_allclose(gradient, 0.25)
    assert converged
    assert 0 < iterations <= calls


@pytest.mark.parametrize("name", ["bisect", "brenth", "brentq", "ridder", "toms748"])
def test_bracketing_methods(name):
    solve = getattr(optimize, name)
    check_agreement(
        lambda a, b: solve(lambda x, c: x * x - c, 0.0 * b, b, (a,), xtol=1e-13),
        lambda a, b: fnp.sqrt(a) + 0.0 * b,
        (1.9, 3.0),
    )
    _, report = solve(lambda x: x - 1.0, 0.0, 3.0, full_output=True)
    assert report.converged

    def with_report(a):
        root, report = solve(lambda x: x * x - a, 0.0, 3.0, full_output=True)
        assert report.converged
        assert report.flag == "converged"
        return root + report.root

    np.testing.assert_allclose(fg.grad(with_report)(4.0), 0.5, rtol=1e-7)


@pytest.mark.parametrize("options", [{}, {"fprime2": lambda x, a: 2.0 + 0.0 * x}])
def test_newton(options):
    def f(a):
        return optimize.newton(lambda x, c: x * x - c, fnp.ones(a.shape), args=(a,), **options)

    check_agreement(f, fnp.sqrt, (np.array([1.9, 1.2]),))
    assert optimize.newton(lambda x: x * x - 4.0, 1.0) == 2.0
    np.testing.assert_allclose(optimize.newton(lambda x: x * x - 4.0, 1.0, x1=1.1), 2.0)
    np.testing.assert_allclose(
        optimize.newton(lambda x, a: x * x - a, 1.0, lambda x, a: 2 * x, (4.0,)), 2.0
    )
    with pytest.raises(RuntimeError, match="Failed to converge"):
        optimize.newton(lambda x: x * x + 1.0, 1.0)


def test_fixed_point():
    check_agreement(
        lambda a: optimize.fixed_point(lambda x: (x + a / x) / 2.0, fnp.ones(a.shape)),
        fnp.sqrt,
        (np.array([1.9, 1.2]),),
    )


TIMES = np.linspace(0.0, 1.0, 6)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method):
    def residuals(p, y, scale=1.0):
        return (p["a"] + p["k"] * TIMES - y) * scale

    def f(y):
        start = {"a": 0.0, "k": 1.0}
        found = optimize.least_squares(
            residuals, start, None, args=(y,), kwargs={"scale": 2.0}, method=method
        )
        return fnp.stack([found.x["a"], found.x["k"]])

    design = np.stack([np.ones(6), TIMES], axis=1)
    solution = np.linalg.pinv(design)
    y = np.cos(TIMES)
    check_agreement(f, lambda y: fnp.dot(solution, y), (y,), rtol=1e-6)


def test_least_squares_that_is_not_linear_uses_the_exact_jacobian():
    y = 3.0 * np.exp(-2.0 * TIMES)

    def residuals(p):
        return p[0] * fnp.exp(-p[1] * TIMES) - y

    found = optimize.least_squares(residuals, [1.0, 1.0])
    np.testing.assert_allclose(found.x, [3.0, 2.0])
    assert found.nfev == scipy.optimize.least_squares(residuals, [1.0, 1.0], jac="3-point").nfev
    given = optimize.least_squares(
        residuals,
        [1.0, 1.0],
        lambda p: np.stack([residuals([1.0, p[1]]) + y, p[0] * -TIMES * np.exp(-p[1] * TIMES)], 1),
    )
    np.testing.assert_allclose(given.x, [3.0, 2.0])


@pytest.mark.parametrize("options", [{"loss": "hubert"}, {"callback": print}])
def test_errors_of_differentiable_least_squares(options):
    with pytest.raises(TypeError, match="where something is traced"):
        fg.grad(lambda a: optimize.least_squares(lambda p: p - a, np.zeros(1), **options).x[0])(1.0)


def test_curve_fit():
    def model(t, a, k):
        return a * fnp.exp(-k * t)

    y = model(TIMES, 3.0, 2.0) + 0.01 * np.cos(9 * TIMES)
    options = {"p0": [1.0, 1.0], "sigma": np.full(6, 0.1), "absolute_sigma": True}
    found = optimize.curve_fit(model, TIMES, y, **options)
    expected = scipy.optimize.curve_fit(model, TIMES, y, **options)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sigma": np.linspace(0.1, 0.2, 6), "absolute_sigma": True},
        {"sigma": 0.01 * (np.eye(6) + 0.2)},
        {"bounds": ([0.0, 0.0], [9.0, 1.7])},
        {"method": "dogbox", "p0": [1.0, 1.0]},
    ],
)
def test_curve_fit_is_differentiated_by_the_data(options):
    def model(t, a, k):
        return a * fnp.exp(-k * t)

    y = model(TIMES, 3.0, 2.0) + 0.01 * np.cos(9 * TIMES)
    tight = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}

    def fitted(y):
        p, covariance = optimize.curve_fit(model, TIMES, y, **options, **tight)
        return fnp.concatenate([p, 1e3 * covariance.reshape(-1)])

    expected = fitted(y)
    jacobian = fg.jacfwd(fitted)(y)
    step = 1e-3  # of SciPy's solutions, which are not converged to the last digit
    for i, unit in enumerate(np.eye(6) * step):
        slope = (fitted(y + unit) - fitted(y - unit)) / (2 * step)
        np.testing.assert_allclose(jacobian[:2, i], slope[:2], rtol=1e-4, atol=1e-6)
        if "bounds" not in options:  # SciPy leaves out what the bounds hold in no covariance either
            np.testing.assert_allclose(jacobian[2:, i], slope[2:], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(fg.jit(fitted)(y), expected, rtol=1e-5)


def test_everything_else_is_scipys():
    assert optimize.linprog is scipy.optimize.linprog
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        optimize.nothing
