"""Programs that call SciPy: solvers, integrals, special functions, filters."""

import numpy as np
from scipy import integrate, linalg, optimize, special
from scipy.integrate import odeint, quad, solve_ivp
from scipy.interpolate import CubicSpline, interp1d
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import brentq, minimize
from scipy.stats import norm

from tests.reading.programs.program import Program


def van_der_pol(mu):
    """An oscillator by solve_ivp, which takes its own steps."""

    def rhs(t, y):
        return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]

    sol = solve_ivp(rhs, (0.0, 1.5), [1.0, 0.5], rtol=1e-9, atol=1e-9)
    return sol.y[0, -1] + 0.5 * sol.y[1, -1] ** 2


def damped_odeint(x):
    """A damped oscillator by odeint, its peak times smooth in the damping."""
    k, c = x
    t = np.linspace(0, 3, 8)

    def rhs(y, t):
        pos, vel = y
        return [vel, -k * pos - c * vel]

    y = odeint(rhs, [1.0, 0.0], t, rtol=1e-11, atol=1e-11)
    return np.sum(y[:, 0] ** 2)


def period_quad(amplitude):
    """Period of a pendulum by quad."""
    k = np.sin(amplitude / 2)
    value, _ = quad(lambda phi: 1 / np.sqrt(1 - k**2 * np.sin(phi) ** 2), 0, np.pi / 2)
    return 4 * value


def simpson_energy(x):
    """Energy of a sampled signal by Simpson's rule."""
    t = np.linspace(0, 2, 21)
    y = x[0] * np.exp(-x[1] * t) * np.cos(5 * t)
    return integrate.simpson(y**2, x=t)


def terminal_brentq(x):
    """Height at which a column of air balances a load, by brentq."""
    load, scale = x

    def balance(h):
        return load - (1 - np.exp(-h / scale)) - 0.01 * h

    return brentq(balance, 0.0, 1000.0, xtol=1e-13)


def newton_root(a):
    """A root by scipy.optimize.newton with its derivative."""
    root = optimize.newton(
        lambda z: z**3 + a * z - 2, 1.0, fprime=lambda z: 3 * z**2 + a, tol=1e-13
    )
    return root**2 + a


def fitted_minimum(x):
    """The least value of a function of two variables, by minimize."""

    def energy(p):
        return (p[0] - x[0]) ** 2 + 2 * (p[1] - x[1]) ** 2 + 0.3 * p[0] * p[1]

    found = minimize(energy, np.zeros(2), method="BFGS", tol=1e-9)
    return found.fun


def propagator(x):
    """A density after a time, by expm of a matrix filled in place."""
    a, b = x
    H = np.zeros((3, 3))
    H[0, 1] = a
    H[1, 0] = -a
    H[1, 2] = b
    H[2, 1] = -b
    u = linalg.expm(0.7 * H) @ np.array([1.0, 0.0, 0.0])
    return u[2] ** 2 + u[0]


def ridge(penalty):
    """Ridge regression by Cholesky's factor; error on what was left out."""
    X = np.vander(np.linspace(-1, 1, 7), 4)
    y = np.sin(3 * np.linspace(-1, 1, 7))
    A = X.T @ X + penalty * np.eye(4)
    w = linalg.cho_solve(linalg.cho_factor(A), X.T @ y)
    Xt = np.vander([0.3, -0.55], 4)
    return np.sum((Xt @ w - np.sin([0.9, -1.65])) ** 2)


def banded_beam(x):
    """Temperature of a rod by solve_banded."""
    n = 6
    ab = np.zeros((3, n))
    ab[0, 1:] = -x[0]
    ab[1, :] = 1 + 2 * x[0]
    ab[2, :-1] = -x[0]
    rhs = np.linspace(0, x[1], n)
    u = linalg.solve_banded((1, 1), ab, rhs)
    return u @ u


def spring_network(k):
    """Displacements of a chain by scipy.linalg.solve."""
    n = len(k)
    K = np.zeros((n, n))
    for i in range(n):
        K[i, i] += k[i]
        if i + 1 < n:
            K[i, i] += k[i + 1]
            K[i, i + 1] -= k[i + 1]
            K[i + 1, i] -= k[i + 1]
    u = linalg.solve(K, np.ones(n), assume_a="pos")
    return u[-1] + np.sum(u**2)


def weibull_loglik(x):
    """Log likelihood of failures and survivors, with the mean by the gamma function."""
    shape, scale = x
    failed, running = [0.5, 1.2, 1.9], [2.5, 3.0]
    ll = 0.0
    for t in failed:
        ll += np.log(shape / scale) + (shape - 1) * np.log(t / scale) - (t / scale) ** shape
    for t in running:
        ll -= (t / scale) ** shape
    return ll + 0.1 * scale * special.gamma(1 + 1 / shape)


def probit(beta):
    """Log likelihood of answers by the normal distribution, and erf for a check."""
    dose = [0.1, 0.4, 0.8, 1.5, 2.2]
    answer = [0, 0, 1, 0, 1]
    ll = 0.0
    for d, a in zip(dose, answer):
        p = norm.cdf(beta[0] + beta[1] * d)
        ll += np.log(p) if a else np.log(1 - p)
    return ll + 0.1 * special.erf(beta[1]) + norm.pdf(beta[0])


def spline_path(y):
    """Bending of a path through points by CubicSpline."""
    cs = CubicSpline([0.0, 1.0, 2.0, 3.5], y)
    t = np.linspace(0, 3.5, 9)
    return np.sum(cs(t, 2) ** 2) + cs(1.3)


def table_interp1d(x):
    """Consumption between the points of a table by interp1d."""
    speeds = [0.0, 30.0, 60.0, 90.0, 130.0]
    litres = [0.8, 4.5, 4.9, 6.0, 9.1]
    consumption = interp1d(speeds, litres)
    total = 0.0
    for v, km in zip(x, (5.0, 20.0, 80.0)):
        total += float(consumption(v)) * km / 100 + km / v
    return total


def blurred_edge(x):
    """Sharpness of an edge after gaussian_filter1d."""
    grid = np.arange(15.0)
    edge = x[1] / (1 + np.exp(-(grid - x[0])))
    return np.max(np.diff(gaussian_filter1d(edge, 1.5))) + edge.mean()


def trapezoid_work(x):
    """Work of a gas over a cycle, by cumulative sums of trapezoids."""
    volume = np.linspace(1.0, 2.0, 9)
    pressure = x[0] / volume ** x[1]
    work = integrate.cumulative_trapezoid(pressure, volume, initial=0)
    half = work[-1] / 2
    k = np.searchsorted(work, half)
    return work[-1] + work[k - 1]


PROGRAMS = (
    Program(van_der_pol, 0.8, (0.2, 1.5, 2.0)),
    Program(damped_odeint, [4.0, 0.5], ([1.0, 0.1], [9.0, 2.0], [2.0, 4.0])),
    Program(period_quad, 0.8, (0.1, 1.7, 2.5)),
    Program(simpson_energy, [1.0, 0.5], ([2.0, 0.1], [0.5, 2.0], [-1.0, 1.0])),
    Program(terminal_brentq, [0.6, 8.0], ([0.9, 5.0], [1.5, 10.0], [0.1, 2.0])),
    Program(newton_root, 1.5, (0.5, 3.0, 8.0)),
    Program(fitted_minimum, [1.0, -0.5], ([0.2, 0.4], [-2.0, 1.0], [3.0, 2.0])),
    Program(propagator, [0.8, 0.5], ([2.0, 1.0], [-0.3, 0.4], [0.1, 3.0])),
    Program(ridge, 0.3, (0.01, 1.0, 10.0)),
    Program(banded_beam, [0.7, 2.0], ([0.1, 5.0], [3.0, 1.0], [0.4, -1.0])),
    Program(spring_network, [1.0, 2.0, 0.5, 1.5], ([1, 1, 1, 1], [4, 3, 2, 1], [0.3, 0.5, 0.9, 2])),
    Program(weibull_loglik, [1.5, 2.0], ([0.7, 1.0], [3.0, 2.5], [1.1, 4.0])),
    Program(probit, [-0.5, 0.8], ([0.1, 0.3], [-1.0, 1.5], [0.6, -0.2])),
    Program(spline_path, [1.0, 0.5, 2.0, 1.2], ([0, 1, 0, 1], [1, 2, 3, 5], [-1, 4, 0.3, 2])),
    Program(table_interp1d, [20.0, 50.0, 110.0], ([45, 75, 100.0], [10, 85, 61.0], [5, 35, 125.0])),
    Program(blurred_edge, [7.2, 1.0], ([5.1, 2.0], [9.6, 0.5], [6.8, 3.0])),
    Program(trapezoid_work, [2.0, 1.4], ([1.0, 1.1], [3.0, 0.8], [0.5, 1.67])),
)
