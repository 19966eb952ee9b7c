"""`fungrad.scipy.integrate`: against closed forms under every transform, and SciPy."""

import numpy as np
import pytest
import scipy.integrate

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.programs.solvers.initial_value import METHODS
from fungrad.scipy import integrate
from fungrad.test_util import check_agreement
from tests.numpy.checker import check_function

TIGHT = {"rtol": 1e-11, "atol": 1e-11}
X = np.array([0.0, 0.3, 0.4, 1.0, 1.7, 1.9, 2.5])
Y = np.cos(np.arange(14.0)).reshape(2, 7)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        (name, args, kwargs)
        for name in ("trapezoid", "cumulative_trapezoid", "simpson", "cumulative_simpson")
        for n in (2, 3, 4, 7)
        for args, kwargs in [
            ((Y[:, :n],), {}),
            ((Y[:, :n].T.copy(),), {"dx": 0.5, "axis": 0}),
            ((Y[:, :n],), {"x": X[:n]}),
            ((Y[:, :n],), {"x": np.stack([X[:n], X[:n] ** 2])}),
            ((np.arange(n),), {"x": X[:n]}),
            ((np.arange(n),), {"x": np.arange(n) ** 2}),
        ]
        + ([((Y[:, :n],), {"x": X[:n], "initial": 0})] if "cumulative" in name else [])
        if (name, n) != ("simpson", 1)
    ],
)
def test_sampled_integrals(name, args, kwargs):
    static = ["x"] if name == "cumulative_simpson" else []  # must be increasing: no other x will do
    ours, theirs = getattr(integrate, name), getattr(scipy.integrate, name)
    check_function(ours, theirs, args, kwargs, static=static, rtol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_romb(n):
    check_function(integrate.romb, scipy.integrate.romb, (Y[:, :n],), {"dx": 0.5}, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda y: integrate.romb(y[:, :4]), "one plus a non-negative power of 2"),
        (lambda y: integrate.simpson(y, X[:3]), "length of x along axis must be the same as y"),
        (lambda y: integrate.cumulative_trapezoid(y, initial=1.0), "must be `None` or `0`"),
        (lambda y: integrate.romb(y[:, :3], show=True), "show=True prints values"),
        (lambda y: integrate.cumulative_simpson(y, x=-X), "x must be strictly increasing"),
    ],
)
def test_errors_of_sampled_integrals(call, match):
    with pytest.raises(ValueError, match=match):
        fg.jit(call)(Y)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_dtypes_of_sampled_integrals(n, dtype):
    y, x = np.arange(n).astype(dtype), np.arange(n, dtype=np.float32)
    functions = {
        "simpson": [{}, {"x": x}, {"dx": np.float32(0.5)}],
        "cumulative_simpson": [{}, {"x": x}],
        "romb": [{}] if n != 4 else [],
    }
    for name, variants in functions.items():
        for options in variants:
            expected = getattr(scipy.integrate, name)(y, **options)
            found = fg.jit(lambda y: getattr(integrate, name)(y, **options))(y)  # noqa: B023
            assert found.dtype == expected.dtype, (name, options)
            np.testing.assert_allclose(found, expected, 1e-5)


def test_odeint_of_a_linear_equation():
    t = np.array([0.1, 0.5, 1.2])

    def f(y0, t, k):  # depends on the time, too
        return integrate.odeint(lambda y, s, k: -k * s * y, y0, t, k, **TIGHT)

    def reference(y0, t, k):
        return y0 * fnp.exp(-k * ((t**2 - t[0] ** 2) / 2.0)[:, None])

    check_agreement(f, reference, (np.array([1.0, -0.5]), t, np.array([0.7, 1.3])), rtol=1e-6)


def test_odeint_backwards_of_a_nonlinear_equation_that_closes_over_its_parameter():
    t = np.array([1.0, 0.6, 0.6, 0.2])

    def f(y0, t, k):
        return integrate.odeint(lambda y, s: k * y * y, y0, t, **TIGHT)

    check_agreement(f, lambda y0, t, k: y0 / (1.0 - k * y0 * (t - t[0])), (0.8, t, 0.5), rtol=1e-6)


def test_odeint_of_a_complex_equation():
    t = np.array([0.0, 0.5, 1.0])

    def f(y0, w):
        return integrate.odeint(lambda y, s: 1j * w * y, y0, t, **TIGHT)

    check_agreement(
        f, lambda y0, w: y0 * fnp.exp(1j * w * t), (np.array(1.0 + 0.5j), 2.0), rtol=1e-6
    )


def test_odeint_of_a_tree_in_float32():
    y0 = {"x": np.float32(1.0), "v": np.zeros(2, "f4")}
    t = np.array([0.0, 1.0], "f4")

    def f(y0):
        found = integrate.odeint(lambda y, s: {"x": -y["x"], "v": y["x"] + 0 * y["v"]}, y0, t)
        return found["v"][-1]

    assert f(y0).dtype == np.float32
    np.testing.assert_allclose(f(y0), 1 - np.exp(-1), rtol=1e-5)
    gradient = fg.grad(lambda y: f(y).sum())(y0)
    assert gradient["x"].dtype == gradient["v"].dtype == np.float32
    np.testing.assert_allclose(gradient["x"], 2 * (1 - np.exp(-1)), rtol=1e-5)
    np.testing.assert_allclose(gradient["v"], [1.0, 1.0], rtol=1e-5)


def test_odeint_at_one_time_of_integers_and_of_nothing():
    np.testing.assert_array_equal(
        integrate.odeint(lambda y, s: -y, np.array([1, 2]), [3.0]), [[1.0, 2.0]]
    )
    assert integrate.odeint(lambda y, s: -y, np.zeros(0), [0.0, 1.0]).shape == (2, 0)


def test_odeint_ignores_what_has_no_derivative():
    def f(y0, n, places):
        return integrate.odeint(lambda y, s, n: -n * y[places], y0, [0.0, 1.0], n)[-1].sum()

    gradient = fg.grad(f)(np.ones(2), 1, np.array([0, 1]))
    np.testing.assert_allclose(gradient, np.exp(-1.0), rtol=1e-6)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(np.ones(2), 1, np.array([0, 1])), gradient)


def test_odeint_that_fails_warns():
    with pytest.warns(RuntimeWarning, match=r"stopped at t=1\.0"):
        y = integrate.odeint(lambda y, s: y * y, 1.0, [0.0, 0.5, 2.0])
    assert np.isfinite(y).tolist() == [True, True, False]
    for y0, k in ((np.nan, 1.0), (1.0, np.nan)):
        with pytest.warns(RuntimeWarning, match="not finite"):
            y = integrate.odeint(lambda y, s, k: -k * y, y0, [0.0, 1.0], k)
        assert np.isnan(y[1])
    with pytest.warns(RuntimeWarning, match="more than 3"):
        integrate.odeint(lambda y, s: -y, 1.0, [0.0, 10.0], mxstep=3)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: integrate.odeint(lambda y, s: y[:1], np.ones(2), [0.0, 1.0]),
            ValueError,
            "must return",
        ),
        (lambda: integrate.odeint(lambda y, s: (y, y), 1.0, [0.0, 1.0]), ValueError, "must return"),
        (lambda: integrate.odeint(lambda y, s: y, 1.0, [0.0, 1.0, 0.5]), ValueError, "monotonic"),
        (lambda: integrate.odeint(lambda y, s: y, 1.0, 1.0), ValueError, "times must be a vector"),
        (lambda: integrate.odeint(lambda y, s: y, 1.0, [0j, 1.0]), TypeError, "times must be real"),
        (
            lambda: integrate.odeint(lambda y, s: y if y > 0 else -y, 1.0, [0.0, 1.0]),
            fg.ConcretizationError,
            "odeint: func",
        ),
    ],
)
def test_errors_of_odeint(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("method", list(METHODS))
def test_solve_ivp(method):
    times = np.array([0.2, 1.0])

    def f(y0, k):
        found = integrate.solve_ivp(
            lambda t, y, k: [y[1], -k * y[0]],
            (0.0, 1.0),
            y0,
            method,
            times,
            args=(k,),
            rtol=1e-9,
            atol=1e-9,
        )
        return found.y

    def reference(y0, k):
        w = fnp.sqrt(k)
        c, s = fnp.cos(w * times), fnp.sin(w * times)
        return fnp.stack([y0[0] * c + y0[1] * s / w, y0[1] * c - y0[0] * s * w])

    args = np.array([1.0, 0.5]), 2.0
    slow = method in ("RK23", "Radau", "BDF")
    np.testing.assert_allclose(f(*args), reference(*args), rtol=1e-5)
    for transform in (lambda g: fg.jacrev(g, (0, 1)), lambda g: fg.jacfwd(g, (0, 1))):
        for x, y in zip(transform(f)(*args), transform(reference)(*args)):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    if not slow:
        np.testing.assert_allclose(
            fg.jit(fg.hessian(lambda k: f(args[0], k)[0, 1]))(2.0),
            fg.hessian(lambda k: reference(args[0], k)[0, 1])(2.0),
            rtol=1e-4,
        )


def test_solve_ivp_outside_of_traces_is_scipys():
    found = integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True)
    expected = scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True)
    np.testing.assert_array_equal(found.y, expected.y)
    np.testing.assert_array_equal(found.sol(0.5), expected.sol(0.5))

    def constant(x):  # nothing in the equation is traced
        return x * integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0]).y[0, -1]

    np.testing.assert_allclose(fg.grad(constant)(2.0), expected.y[0, -1])


def test_solve_ivp_tells_whether_it_failed():
    def f(y0):
        found = integrate.solve_ivp(lambda t, y: y * y, (0.0, 2.0), y0, t_eval=np.array([0.5, 2.0]))
        return found.y, found.success, found.status

    with pytest.warns(RuntimeWarning, match="the solution is NaN"):
        y, success, status = fg.jit(f)(np.ones(1))
    assert not success
    assert status == -1
    assert np.isfinite(y).tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"step": 0.1}, TypeError, "no options of SciPy's methods"),
        ({"t_eval": np.array([0.5, 0.2])}, ValueError, "not properly sorted"),
        ({"t_eval": np.array([0.5]), "method": "Euler"}, ValueError, "`method` must be one of"),
        ({"t_eval": np.array([1.5])}, ValueError, "not within `t_span`"),
    ],
)
def test_errors_of_solve_ivp(options, error, match):
    with pytest.raises(error, match=match):
        fg.jit(lambda y0: integrate.solve_ivp(lambda t, y: -y, (0, 1), y0, **options).y)(np.ones(1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dense_output": True},
        {"vectorized": True},
        {"method": "Radau", "jac": lambda t, y: [[-1.0]]},
    ],
)
def test_solve_ivp_at_the_times_of_its_own_steps(options):
    def f(y0):
        return integrate.solve_ivp(lambda t, y: -y, (0, 1), y0, rtol=1e-8, atol=1e-8, **options)

    expected = f(np.ones(1))
    found = fg.vjp(lambda y0: f(y0).y, np.ones(1))[0]
    np.testing.assert_allclose(found, expected.y, rtol=1e-9)
    np.testing.assert_allclose(fg.jit(lambda y0: f(y0).t)(np.ones(1)), expected.t)
    slope = fg.grad(lambda y0: f(y0).y[0, -1])(np.ones(1))
    np.testing.assert_allclose(slope, np.exp(-1), rtol=1e-6)


def test_the_time_of_an_event_has_a_derivative_though_its_steps_have_none():
    def hit(t, y):
        return y[0]

    hit.terminal = True

    def f(height):
        motion = integrate.solve_ivp(
            lambda t, y: [y[1], -10.0], (0, 9), [height, 0.0], events=hit, rtol=1e-9, atol=1e-9
        )
        return motion.t[-1], motion.y[1, -1], motion.t[1]

    np.testing.assert_allclose(
        fg.jacfwd(f)(5.0), [0.1, -1.0, 0.0], rtol=1e-6, atol=1e-9
    )  # of sqrt(h / 5), -sqrt(20 h), and a constant


def test_quad():
    def f(a, b, k):
        return integrate.quad(lambda x, c: fnp.exp(c * x), a, b, (k,))[0]

    def reference(a, b, k):
        return (fnp.exp(k * b) - fnp.exp(k * a)) / k

    check_agreement(f, reference, (0.2, 1.5, 0.7), rtol=1e-8)


def test_quad_over_the_line_of_a_complex_function():
    def f(k):
        return integrate.quad(lambda x: fnp.exp((1j - k) * x), 0.0, np.inf, complex_func=True)[0]

    check_agreement(f, lambda k: 1.0 / (k - 1j), (2.0,), rtol=1e-7)


def test_quad_vec():
    def f(b, p):
        return integrate.quad_vec(lambda x: x**p, 0.0, b)[0]

    check_agreement(f, lambda b, p: b ** (p + 1) / (p + 1), (1.5, np.array([1.0, 3.0])), rtol=1e-6)


def test_quad_outside_of_traces_is_scipys():
    assert integrate.quad(lambda x: x, 0, 1, weight="cos", wvar=2.0) == scipy.integrate.quad(
        lambda x: x, 0, 1, weight="cos", wvar=2.0
    )
    split = fg.grad(lambda k: integrate.quad(lambda x: k * x, 0, 1, points=[0.5])[0])(1.0)
    np.testing.assert_allclose(split, 0.5)
    with pytest.raises(TypeError, match="limits must be real numbers"):
        fg.grad(lambda k: integrate.quad(lambda x: k * x, 0, np.ones(2))[0])(1.0)


def test_fixed_quad():
    def f(a, b, k):
        return integrate.fixed_quad(lambda x, c: c * x**3, a, b, (k,), n=3)[0]

    check_agreement(f, lambda a, b, k: k * (b**4 - a**4) / 4.0, (0.2, 1.5, 0.7))
    with pytest.raises(ValueError, match="finite limits"):
        integrate.fixed_quad(lambda x: x, 0.0, np.inf)


def test_simpson_is_exact_of_parabolas_whatever_the_number_of_samples():
    for n in (3, 4, 5, 6):
        x = np.arange(float(n))
        area = fg.jit(integrate.simpson)(3 * x**2)
        np.testing.assert_allclose(area, (n - 1) ** 3, rtol=1e-14)
