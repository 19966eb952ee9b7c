"""Plain functions of a number that call SciPy as its users do."""

import math
from collections.abc import Callable

import numpy as np
from scipy import fft, integrate, linalg, ndimage, optimize, signal, special, stats
from scipy.integrate import odeint, quad, solve_ivp
from scipy.optimize import brentq, curve_fit, least_squares, minimize

CALLS: dict[str, Callable] = {}
TIGHT = {"rtol": 1e-9, "atol": 1e-9}
TO_THE_END = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}


def call(function):
    CALLS[function.__name__] = function
    return function


# Integrals


@call
def quad_of_an_exponential(x):
    return quad(lambda t: math.exp(-x * t * t), 0, 1)[0]


@call
def quad_with_break_points(x):
    return quad(lambda t: math.exp(-x * t) * abs(t - 0.3), 0, 1, points=[0.3], limit=80)[0]


@call
def quad_with_a_weight(x):
    return quad(lambda t, k: math.exp(-k * t), 0, 2, (x,), weight="cos", wvar=3.0)[0]


@call
def quad_with_all_its_output(x):
    value, error, _ = quad(lambda t: x * t, 0, 1, full_output=1)
    return value if error < 1e-6 else math.nan


@call
def quad_to_a_moving_end(x):
    return quad(lambda t, k: k * t * t, 0, x, x, 0, 1e-9)[0]


@call
def dblquad_over_a_moving_triangle(x):
    return integrate.dblquad(lambda y, z: math.exp(-x * y * z), 0, 1, lambda z: 0, lambda z: z * x)[
        0
    ]


@call
def tplquad_of_a_polynomial(x):
    f = integrate.tplquad
    return f(lambda a, b, c: a * b * x + c, 0, 1, 0, lambda c: c, 0, lambda c, b: b * x)[0]


@call
def nquad_with_options(x):
    ranges = [(0, 1), (0, x)]
    return integrate.nquad(lambda a, b, k: a * b**k, ranges, args=(x,), opts={"epsabs": 1e-9})[0]


@call
def quad_vec_of_two(x):
    f = lambda t: np.array([math.sin(x * t), t * x])
    return integrate.quad_vec(f, 0, 1, norm="max", points=[0.5])[0].sum()


@call
def sums_of_samples(x):
    total = integrate.simpson([x, x * x, 1.0], dx=0.5) + integrate.trapezoid([x, x * x], [0.0, x])
    running = integrate.cumulative_trapezoid(np.array([x, 2.0, 3.0]), initial=0)
    return total + running[-1] + integrate.romb(np.array([x, 2 * x, 1.0]), dx=0.5)


@call
def fixed_quad_of_a_sine(x):
    return integrate.fixed_quad(lambda t: np.sin(x * t), 0, 1, n=4)[0]


# Differential equations


def spring(t, y, k):
    return [y[1], -k * y[0]]


def falling(t, y):
    return [y[1], -9.81]


def ground(t, y):
    return y[0]


ground.terminal = True
ground.direction = -1


@call
def steps_of_its_own(x):
    found = solve_ivp(spring, (0, 1), [1.0, 0.0], args=(x,), **TIGHT)
    return found.y[0, -1] + found.t[-1]


@call
def given_times_and_dense_output(x):
    times = np.linspace(0, 1, 5)
    found = solve_ivp(
        *(spring, (0, 1), [1, 0]), t_eval=times, args=(x,), dense_output=True, max_step=0.1, **TIGHT
    )
    if not found.success:
        raise RuntimeError(found.message)
    return found.y[0].sum() + found.sol(x / 3)[1] + found.sol(np.array([0.4, 0.1]))[0, 1]


@call
def an_implicit_method(x):
    jac = lambda t, y, k: [[0, 1], [-k, 0]]
    found = solve_ivp(spring, (0, 1), [1, 0], "Radau", [1.0], args=(x,), jac=jac, **TIGHT)
    return found.y[0, -1] * (found.nfev > 0)


@call
def the_ground_is_hit(x):
    found = solve_ivp(falling, (0, 10), [x, 1.0], events=ground, **TIGHT)
    assert found.status == 1
    return found.t[-1] + found.y[1, -1] + found.t_events[0][0] + found.y_events[0][0, 1]


@call
def a_level_is_passed(x):
    level = lambda t, y: y[0] - 0.5
    found = solve_ivp(lambda t, y: [-x * y[0]], [0, 2], [1.0], events=level, **TIGHT)
    return found.t_events[0][0] + found.y[0, -1]


@call
def an_end_that_moves(x):
    return solve_ivp(spring, (0, x), [1.0, 0.0], args=(2.0,), **TIGHT).y[0, -1]


@call
def backwards_in_time(x):
    found = solve_ivp(spring, (1, 0), [x, 0.0], "LSODA", dense_output=True, args=(2.0,), **TIGHT)
    return found.y[0, -1] + found.sol(0.3)[0]


@call
def a_right_hand_side_that_branches(x):
    def rhs(t, y):
        if y[0] > 0.9:  # the tangent of the parabola
            return [-x * (1.8 * y[0] - 0.81)]
        return [-x * y[0] * y[0]]

    return solve_ivp(rhs, (0, 1), [1.0], **TIGHT).y[0, -1]


@call
def odeint_with_its_own_options(x):
    times = np.linspace(0, 1, 4)
    options = {"rtol": 1e-10, "atol": 1e-10, "mxstep": 5000, "h0": 0.01, "hmax": 0.5}
    y, _ = odeint(spring, [1, 0], times, (x,), tfirst=True, full_output=True, **options)
    return y[-1].sum()


# Roots


@call
def brentq_with_a_report(x):
    root, report = brentq(lambda t: t**3 - x, 0, 3, (), 1e-13, full_output=True)
    return root + report.root if report.converged and report.flag == "converged" else math.nan


@call
def two_more_brackets(x):
    one = optimize.toms748(lambda t, k: t**3 - k, 0, 3, args=(x,), k=2)
    return one + optimize.ridder(lambda t: t**3 - x, 0, 3, xtol=1e-13, rtol=1e-13, disp=False)


@call
def newton_with_a_report(x):
    root, report = optimize.newton(lambda t: t * t - x, 1.0, full_output=True, tol=1e-13)
    return root if report.converged else math.nan


@call
def secants(x):
    return optimize.newton(lambda t: t * t - x, 1.0, x1=1.5, tol=1e-13)


@call
def newton_of_several(x):
    roots, converged, _ = optimize.newton(
        lambda t: t * t - x * np.array([1.0, 2.0]), np.ones(2), full_output=True
    )
    return roots.sum() if converged.all() else math.nan


@call
def root_scalar_by_name(x):
    found = optimize.root_scalar(lambda t: t**3 - x, bracket=[0, 3], method="brentq")
    return found.root if found.converged else math.nan


@call
def root_of_two_equations(x):
    found = optimize.root(lambda v: [v[0] ** 2 - x, v[1] - v[0] * x], [1, 1])
    return found.x.sum() if found.success else math.nan


@call
def fsolve_with_all_its_output(x):
    equations = lambda v: [v[0] ** 2 - x, v[1] - v[0] * x]
    found, about, status, _ = optimize.fsolve(equations, [1, 1], full_output=True)
    return found.sum() + about["fvec"].sum() if status == 1 else math.nan


@call
def fixed_point_of_a_cosine(x):
    return optimize.fixed_point(lambda t: math.cos(x * t), 0.5, xtol=1e-12)


# Minima and fits


@call
def minimum_within_bounds(x):
    f = lambda v: (v[0] - x) ** 2 + v[0] * v[1] + v[1] ** 2
    bounds, options = [(None, 1.0), (-0.2, None)], {"ftol": 1e-15, "gtol": 1e-10}
    found = minimize(f, [0.0, 0.0], method="L-BFGS-B", bounds=bounds, options=options)
    if not found.success:
        raise RuntimeError(found.message)
    return found.x.sum() + found.fun


@call
def minimum_of_a_quartic(x):
    found = minimize(lambda v: (v[0] - x) ** 2 + v[0] ** 4, [0.5], tol=1e-10)
    return found.x[0] + found.fun + found.jac[0] * (found.nit > 0)


@call
def bounded_minimum_of_a_number(x):
    f = lambda t: (t - x) ** 2 + t**4
    options = {"xatol": 1e-10}
    return optimize.minimize_scalar(f, bounds=(0, 3), method="bounded", options=options).x


@call
def least_squares_with_bounds(x):
    f = lambda p: [p[0] - x, p[1] - 2 * x, p[0] * p[1] - 1]
    found = least_squares(f, [1, 1], "2-point", ([0, 0], [10, 10]), "trf", **TO_THE_END)
    return found.x.sum() + found.cost


@call
def leastsq_of_three(x):
    f = lambda p, k: [p[0] - k, p[1] - 2 * k, p[0] * p[1] - 1]
    return optimize.leastsq(f, [1, 1], (x,), ftol=1e-14, xtol=1e-14)[0].sum()


@call
def curve_fit_of_made_data(x):
    t = np.linspace(0, 1, 6)
    y = np.exp(-x * t) + 0.1 * np.sin(5 * t)
    p, covariance = curve_fit(lambda t, a, k: a * np.exp(-k * t), t, y, [1, 1], **TO_THE_END)
    return p[1] + covariance[0, 1]


# Linear algebra, transforms, filters


@call
def linear_systems(x):
    a = np.array([[2.0 + x, 1.0], [1.0, 3.0]])
    one = linalg.solve(a, [1.0, x], assume_a="pos", check_finite=False, overwrite_b=True)
    factor = linalg.cho_factor(a, lower=True, overwrite_a=False, check_finite=True)
    return one[0] + linalg.cho_solve(factor, np.array([x, 1.0]))[1]


@call
def matrix_functions(x):
    a = np.array([[0.0, x], [-x, 0.1]])
    return linalg.expm(a)[0, 1] + linalg.det(a, check_finite=False) + linalg.norm(a, ord="fro")


@call
def eigenvalues(x):
    a = np.array([[2.0, x], [x, 5.0]])
    return linalg.eigh(a, eigvals_only=True, driver="ev")[0] + linalg.svdvals(a)[0]


@call
def triangular_systems(x):
    a = np.array([[2.0, 0.0], [x, 5.0]])
    return linalg.solve_triangular(a, [1.0, x], lower=True, overwrite_b=True)[1]


@call
def spectra(x):
    y = x * np.cos(np.arange(8.0))
    return np.abs(fft.rfft(y, n=8, norm="ortho", workers=1, overwrite_x=True)).sum()


@call
def filters(x):
    y = np.sin(x * np.arange(12.0))
    smooth = signal.savgol_filter(y, 5, 2, mode="interp") + signal.lfilter([1.0], [1.0, -0.5], y)
    return smooth.sum() + ndimage.gaussian_filter1d(y, 1.5, mode="nearest")[3]


@call
def convolutions(x):
    y = np.array([x, 1.0, 2.0, x * x])
    return signal.convolve(y, [1.0, x], mode="same", method="direct").sum()


@call
def special_functions(x):
    return special.gammaln(x) + special.erf(x) + special.logsumexp([x, 2.0]) + special.expit(x)


@call
def distributions(x):
    return stats.norm.cdf(x) + stats.t.logpdf(x, 3) + stats.norm(x, 2).pdf(1.0)


@call
def distributions_by_name(x):
    return stats.gamma.logpdf(x=1.3, a=x, scale=2.0) + stats.norm.ppf(q=0.3, loc=x, scale=x)
