"""Solvers under fungrad and under JAX: values, derivatives, batches."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

from jax.experimental import ode as jax_ode  # noqa: E402
from jax.scipy import integrate as jax_integrate  # noqa: E402
from jax.scipy import optimize as jax_optimize  # noqa: E402
from jax.scipy.sparse import linalg as jax_linalg  # noqa: E402

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad.programs.solvers.linear_solve import custom_linear_solve  # noqa: E402
from fungrad.programs.solvers.root import custom_root  # noqa: E402
from fungrad.scipy import integrate, optimize  # noqa: E402
from fungrad.scipy.sparse import linalg  # noqa: E402

A = np.array([[2.0, 0.3, 0.1], [0.5, 1.5, -0.2], [0.0, 0.4, 1.8]])
S = A @ A.T
B = np.array([1.0, -2.0, 0.5])


class Ours:
    lib, np, custom_linear_solve, custom_root = fg, fnp, custom_linear_solve, custom_root
    linalg, odeint, minimize = linalg, integrate.odeint, optimize.minimize
    trapezoid = integrate.trapezoid


class Theirs:
    lib, np = jax, jnp
    custom_linear_solve, custom_root = jax.lax.custom_linear_solve, jax.lax.custom_root
    linalg, odeint = jax_linalg, jax_ode.odeint
    minimize, trapezoid = jax_optimize.minimize, jax_integrate.trapezoid


def krylov(name):
    def f(m, a, b):
        return getattr(m.linalg, name)(lambda v: {"x": a @ v["x"]}, {"x": b}, tol=1e-12)[0]["x"]

    return f


def custom_linear(m, a, b):
    def solve(matvec, b):  # Richardson's iteration
        x = 0.0 * b
        for _ in range(80):
            x = x + 0.3 * (b - matvec(x))
        return x

    return m.custom_linear_solve(lambda x: a @ x, b, solve, solve)


def custom_root_of_cubes(m, a, b):
    def solve(f, x):
        for _ in range(40):
            x = x - f(x) / (1.0 + 3.0 * x * x)
        return x

    def tangent_solve(g, y):  # the Jacobian is diagonal
        return y / g(m.np.ones(3))

    return m.custom_root(lambda x: x**3 + x - b - a[0], m.np.ones(3), solve, tangent_solve)


def ode(m, a, b):
    def pendulums(y, t, a):
        return {"x": y["v"], "v": -m.np.sin(a @ y["x"]) - 0.1 * t * y["v"]}

    t = np.array([0.0, 0.4, 1.0])
    return m.odeint(pendulums, {"x": b, "v": 0.5 * b}, t, a, rtol=1e-11, atol=1e-11)["x"]


def ode_times(m, a, b):
    return m.odeint(
        lambda y, t: -(a @ y) * t, B, 1.0 + m.np.abs(b).cumsum(), rtol=1e-11, atol=1e-11
    )


def trapezoid(m, a, b):
    return m.trapezoid(a, b)


CASES = {
    "cg": (krylov("cg"), S, 1e-8),
    "gmres": (krylov("gmres"), A, 1e-8),
    "bicgstab": (krylov("bicgstab"), A, 1e-8),
    "custom_linear_solve": (custom_linear, A, 1e-8),
    "custom_root": (custom_root_of_cubes, A, 1e-8),
    "odeint": (ode, A, 1e-6),
    "odeint by times": (ode_times, A, 1e-6),
    "trapezoid": (trapezoid, A, 1e-12),
}


@pytest.mark.parametrize("name", CASES)
def test_solvers_agree_with_jax(name):
    program, a, rtol = CASES[name]
    db, da = np.cos(B), np.sin(a)
    if name == "cg":
        da = da + da.T

    def run(m):
        lib = m.lib

        def f(a, b):
            return program(m, a, b)

        def loss(a, b):
            y = f(a, b)
            weights = np.cos(np.arange(y.size)).reshape(y.shape)
            return (y * weights).sum()

        results = {
            "value": f(a, B),
            "grad": lib.grad(loss, (0, 1))(a, B),
            "vmap": lib.vmap(f, (None, 0))(a, np.stack([B, 2 * B])),
        }
        if not name.startswith("odeint"):  # JAX's has no forward mode, and takes long to compile
            results["vmap grad"] = lib.vmap(lib.grad(loss), (None, 0))(a, np.stack([B, 2 * B]))
            results["jit"] = lib.jit(lib.grad(loss))(a, B)
            results["jvp"] = lib.jvp(f, (a, B), (da, db))
            results["hvp"] = lib.jvp(lib.grad(loss, (0, 1)), (a, B), (da, db))[1]
        return results

    ours, theirs = run(Ours), run(Theirs)
    for what in ours:
        x, y = fg.tree.leaves(ours[what]), jax.tree.leaves(theirs[what])
        assert len(x) == len(y), what
        for u, v in zip(x, y):
            scale = max(1.0, float(np.abs(v).max()))
            np.testing.assert_allclose(
                u, v, rtol=rtol, atol=rtol * scale, err_msg=f"{name}: {what}"
            )


def test_minimize_agrees_with_jax():
    def f(m):
        def objective(x):
            return 0.1 * ((m.np.asarray(S) @ x - B) ** 2).sum() + 0.1 * (x**4).sum()

        return m.minimize(objective, np.ones(3), method="BFGS", tol=1e-9)

    ours, theirs = f(Ours), f(Theirs)
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-6)
    np.testing.assert_allclose(ours.fun, theirs.fun, rtol=1e-10)
