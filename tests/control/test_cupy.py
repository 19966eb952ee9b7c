"""Solvers on CuPy's arrays, shown with the strict stand-in."""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.programs.rules.checkpoint import checkpoint
from fungrad.programs.solvers.linear_solve import custom_linear_solve
from fungrad.programs.solvers.root import custom_root
from fungrad.scipy import integrate, optimize
from tests.backends.fake_cupy import make_module

TIMES = np.array([0.0, 0.5, 1.0])


def richardson(matvec, b):
    x = b
    while abs(matvec(x) - b).max() > 1e-13:
        x = x + 0.4 * (b - matvec(x))
    return x


def newton(f, x):
    for _ in range(50):
        x = x - f(x) / (3 * x * x)
    return x


PROGRAMS = {
    "linear solve": lambda x: custom_linear_solve(
        lambda v: x * v, fnp.ones(3), richardson, symmetric=True
    ),
    "root": lambda x: custom_root(
        lambda y: y**3 - x, fnp.ones(3), newton, lambda g, y: y / g(fnp.ones(3))
    ),
    "odeint": lambda x: integrate.odeint(lambda y, t: -x * y, fnp.ones(3), TIMES)[-1],
    "quad_vec": lambda x: integrate.quad_vec(lambda t: fnp.exp(-x * t), 0.0, 1.0)[0],
    "minimize": lambda x: optimize.minimize(lambda p: ((p - x) ** 2).sum(), np.ones(3)).x,
    "checkpoint": lambda x: checkpoint(lambda y: fnp.sin(fnp.cos(y)) * y)(x),
    "scipy's root": lambda x: optimize.root(lambda p: p**3 - x, np.ones(3)).x,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("jitted", [False, True])
def test_gradients(monkeypatch, name, jitted):
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    f = fg.grad(lambda x: (PROGRAMS[name](x) * np.array([1.0, 2.0, 3.0])).sum())
    x = np.array([1.1, 1.5, 0.9])
    expected = f(x)
    found = (fg.jit(f) if jitted else f)(cupy.asarray(x))
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(found.get(), expected, rtol=1e-9)
