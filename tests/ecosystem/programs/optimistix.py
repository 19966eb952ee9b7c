"""Optimistix: roots, fixed points, least squares and minima, with derivatives through them."""

import jax
import jax.numpy as jnp
import optax
import optimistix as optx


def _tol(x):
    """A tolerance, or what can be reached in single precision."""
    return max(x, 50 * float(jnp.finfo(jnp.result_type(float)).eps))


def roots():
    def f(y, a):
        u, v = y
        return u**2 + v - a, u - jnp.tanh(v) - 0.5

    def solve(a, solver):
        return optx.root_find(f, solver, (jnp.asarray(1.0), jnp.asarray(0.5)), a).value

    solvers = [
        optx.Newton(_tol(1e-10), _tol(1e-10)),
        optx.Chord(_tol(1e-8), _tol(1e-8)),
        optx.Dogleg(_tol(1e-9), _tol(1e-9)),
    ]
    newton = lambda a: solve(a, solvers[0])
    return (
        [solve(2.0, s) for s in solvers],
        jax.jacrev(newton)(2.0),
        jax.jvp(newton, (2.0,), (1.0,)),
    )


def bisection():
    solver = optx.Bisection(_tol(1e-9), _tol(1e-9))
    f = lambda a: (
        optx.root_find(
            lambda x, a: x**3 - a, solver, 1.0, a, options={"lower": 0.0, "upper": 3.0}
        ).value
    )
    return f(2.0), jax.grad(f)(2.0), jax.vmap(f)(jnp.array([1.0, 5.0, 8.0]))


def fixed_points():
    f = lambda a: (
        optx.fixed_point(
            lambda x, a: jnp.cos(a * x), optx.FixedPointIteration(_tol(1e-10), _tol(1e-10)), 0.5, a
        ).value
    )
    return f(0.8), jax.grad(f)(0.8), jax.jit(f)(0.9)


def least_squares():
    t = jnp.linspace(0.0, 2.0, 20)
    data = 2.0 * jnp.exp(-1.3 * t) + 0.5

    def residuals(p, data):
        return p["a"] * jnp.exp(-p["b"] * t) + p["c"] - data

    start = {"a": jnp.asarray(1.0), "b": jnp.asarray(1.0), "c": jnp.asarray(0.0)}
    solvers = [
        optx.LevenbergMarquardt(_tol(1e-9), _tol(1e-9)), optx.GaussNewton(_tol(1e-9), _tol(1e-9)), optx.Dogleg(_tol(1e-9), _tol(1e-9)),
        optx.IndirectLevenbergMarquardt(_tol(1e-9), _tol(1e-9)),
    ]  # fmt: skip
    solve = lambda data, solver: optx.least_squares(residuals, solver, start, data).value
    gradient = jax.grad(lambda d: solve(d, solvers[0])["b"])(data)
    return [solve(data, s) for s in solvers], gradient


def minima():
    rosenbrock = lambda y, a: (1 - y[0]) ** 2 + a * (y[1] - y[0] ** 2) ** 2
    solvers = {
        "bfgs": optx.BFGS(_tol(1e-8), _tol(1e-8)), "dfp": optx.DFP(_tol(1e-8), _tol(1e-8)),
        "cg": optx.NonlinearCG(_tol(1e-8), _tol(1e-8)), "nelder": optx.NelderMead(1e-6, 1e-6),
        "adam": optx.OptaxMinimiser(optax.adam(0.05), 1e-6, 1e-6),
    }  # fmt: skip
    found = {
        name: optx.minimise(rosenbrock, s, jnp.array([-0.5, 0.7]), 10.0, max_steps=5000).value
        for name, s in solvers.items()
    }
    steps = optx.minimise(rosenbrock, solvers["bfgs"], jnp.array([-0.5, 0.7]), 10.0).stats[
        "num_steps"
    ]
    golden = optx.minimise(
        lambda x, _: (x - 0.3) ** 2,
        optx.GoldenSearch(1e-6, 1e-6),
        0.5,
        options={"lower": 0.0, "upper": 1.0},
    ).value
    return found, steps, golden


def minimum_with_limited_memory():
    rosenbrock = lambda y, a: (1 - y[0]) ** 2 + a * (y[1] - y[0] ** 2) ** 2
    solver = optx.LBFGS(_tol(1e-8), _tol(1e-8))
    return optx.minimise(rosenbrock, solver, jnp.array([-0.5, 0.7]), 10.0, max_steps=5000).value


def derivative_of_a_minimum():
    def minimum(a):
        f = lambda y, a: jnp.sum((y - a) ** 4) + jnp.sum(y**2)
        return optx.minimise(
            f, optx.BFGS(_tol(1e-10), _tol(1e-10)), jnp.zeros(2), a, max_steps=500
        ).value

    a = jnp.array([1.0, 2.0])
    unrolled = lambda a: (
        optx.minimise(
            lambda y, a: jnp.sum((y - a) ** 2),
            optx.GradientDescent(0.2, 1e-6, 1e-6),
            jnp.zeros(2),
            a,
            adjoint=optx.RecursiveCheckpointAdjoint(),
            max_steps=100,
        ).value
    )
    return minimum(a), jax.jacobian(minimum)(a), jax.jacrev(unrolled)(a)


def failures():
    stuck = optx.root_find(
        lambda x, _: x**2 + 1, optx.Newton(1e-6, 1e-6), 1.0, max_steps=5, throw=False
    )
    try:
        optx.root_find(lambda x, _: x**2 + 1, optx.Newton(1e-6, 1e-6), 1.0, max_steps=5)
    except Exception as error:
        return bool(stuck.result == optx.RESULTS.successful), "steps" in str(error)
    return bool(stuck.result == optx.RESULTS.successful), False
