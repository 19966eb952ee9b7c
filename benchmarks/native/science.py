"""Simulation and inference: filters, forces, equations in time and space."""

from __future__ import annotations

from typing import Any

import numpy

from benchmarks.native import Row, gradient, normal, value_and_gradient

BODIES, POINTS, STEPS, CENTRES = 100, 200, 1000, 10


def kalman(np: Any, lax: Any, noise: Any, observed: Any) -> Any:
    """Log likelihood of positions in the plane under constant velocity. Kalman, 1960."""
    move = np.asarray(numpy.eye(4, dtype=numpy.float32) + 0.1 * numpy.eye(4, k=2, dtype="f4"))
    see = np.asarray(numpy.eye(2, 4, dtype=numpy.float32))
    q = np.exp(noise[0]) * np.asarray(numpy.eye(4, dtype=numpy.float32))
    r = np.exp(noise[1]) * np.asarray(numpy.eye(2, dtype=numpy.float32))

    def step(carry: Any, y: Any) -> Any:
        mean, cov, total = carry
        mean, cov = move @ mean, move @ cov @ move.T + q
        spread = see @ cov @ see.T + r
        gain = np.linalg.solve(spread, see @ cov).T
        error = y - see @ mean
        fit = error @ np.linalg.solve(spread, error[:, None])[:, 0]
        total = total - 0.5 * (fit + np.linalg.slogdet(spread)[1])
        return (mean + gain @ error, cov - gain @ spread @ gain.T, total), mean

    start = (q[0] * 0.0, q * 0.0 + np.asarray(numpy.eye(4, dtype=numpy.float32)), noise[0] * 0.0)
    (_, _, total), means = lax.scan(step, start, observed)
    return total / len(observed) + 1e-3 * np.mean(means * means)


def accelerations(np: Any, x: Any, masses: Any) -> Any:
    apart = x - x[:, None]
    squares = np.sum(apart * apart, axis=-1) + 1e-2
    return np.sum(apart * (masses / (squares * np.sqrt(squares)))[..., None], axis=1)


def bodies(np: Any, lax: Any, x: Any, v: Any, masses: Any) -> Any:
    """How far a leapfrog step takes bodies that attract each other."""
    v = v + 0.5e-2 * accelerations(np, x, masses)
    x = x + 1e-2 * v
    v = v + 0.5e-2 * accelerations(np, x, masses)
    return np.mean(x * x) + np.mean(v * v)


def gaussian_process(np: Any, lax: Any, params: Any, x: Any, y: Any) -> Any:
    """Marginal likelihood, Rasmussen and Williams 2006, algorithm 2.1, per point."""
    squares = (x[:, None] - x) ** 2
    kernel = np.exp(params[0] - 0.5 * squares * np.exp(-2 * params[1]))
    kernel = kernel + np.exp(params[2]) * np.asarray(numpy.eye(POINTS, dtype=numpy.float32))
    lower = np.linalg.cholesky(kernel)
    fit = 0.5 * np.dot(y, np.linalg.solve(kernel, y))
    return (fit + np.sum(np.log(np.diag(lower)))) / POINTS


def heat(np: Any, lax: Any, u: Any) -> Any:
    """100 steps of the heat equation; what is outside of the square is cold."""

    def step(i: Any, u: Any) -> Any:
        middle = u[1:-1, 1:-1]
        flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * middle
        return np.pad(middle + 0.2 * flow, 1)

    return lax.fori_loop(0, 100, step, u)


def k_means(np: Any, lax: Any, centres: Any, x: Any) -> Any:
    squares = np.sum((x[:, None] - centres) ** 2, axis=-1)
    nearest = np.argmin(squares, axis=1)[:, None] == np.arange(CENTRES)
    members = nearest.astype(np.float32)
    return members.T @ x / np.maximum(np.sum(members, axis=0), 1.0)[:, None]


def lorenz(np: Any, u: Any) -> Any:
    x, y, z = u[0], u[1], u[2]
    return np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - (8 / 3) * z])


def runge_kutta(np: Any, lax: Any, u: Any, steps: Any) -> Any:
    """The classical method of order 4 on Lorenz' equations, 1963."""

    def step(u: Any, h: Any) -> Any:
        k1 = lorenz(np, u)
        k2 = lorenz(np, u + 0.5 * h * k1)
        k3 = lorenz(np, u + 0.5 * h * k2)
        k4 = lorenz(np, u + h * k3)
        u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return u, u

    return lax.scan(step, u, steps)[1]


def way(np: Any, lax: Any, u: Any, steps: Any) -> Any:
    return np.mean(runge_kutta(np, lax, u, steps)[-1])


def tracked() -> tuple[Any, ...]:
    return numpy.array([-3.0, -2.0], "f4"), numpy.cumsum(normal(200, 2, scale=0.1), axis=0)


def system() -> tuple[Any, ...]:
    return normal(BODIES, 3), normal(BODIES, 3, seed=1), normal(BODIES, seed=2) ** 2


def curve() -> tuple[Any, ...]:
    x = numpy.linspace(-3, 3, POINTS, dtype=numpy.float32)
    return numpy.array([0.0, -0.5, -2.0], "f4"), x, numpy.sin(3 * x) + normal(POINTS, scale=0.3)


def clusters() -> tuple[Any, ...]:
    x = normal(5000, 8)
    return x[:CENTRES], x


def attractor() -> tuple[Any, ...]:
    return numpy.array([1.0, 1.0, 1.0], "f4"), numpy.full(STEPS, 1e-3, numpy.float32)


ROWS = [
    Row("kalman", "log likelihood of 200 positions by scan", kalman, tracked, rtol=1e-3),
    Row("kalman_gradient", "its gradient", kalman, tracked, gradient, rtol=1e-3),
    Row(
        "bodies_gradient",
        f"gradient of a step of {BODIES} bodies",
        bodies,
        system,
        gradient,
        autograd=False,
    ),
    Row(
        "gaussian_process",
        f"marginal likelihood of {POINTS} points and its gradient",
        gaussian_process,
        curve,
        value_and_gradient,
        rtol=1e-3,
    ),
    Row("heat", "100 steps of a fori_loop on 256 x 256", heat, lambda: (normal(256, 256),)),
    Row("k_means", f"a step on 5000 points in 8 dimensions, {CENTRES} centres", k_means, clusters),
    Row("runge_kutta", f"{STEPS} steps by scan on 3 numbers", runge_kutta, attractor, rtol=1e-3),
    Row("runge_kutta_gradient", "its gradient", way, attractor, gradient, rtol=1e-3),
]
