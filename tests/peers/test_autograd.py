"""The same programs under fungrad and under autograd: gradients, Jacobians, Hessian products."""

import functools

import numpy as np
import pytest

autograd = pytest.importorskip("autograd")
anp = pytest.importorskip("autograd.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from tests.peers.programs import PROGRAMS  # noqa: E402

NAMES = [name for name, program in PROGRAMS.items() if program.autograd]


def loss(np_, f):
    def of(*args):
        return np_.sum(np_.sin(f(np_, *args)))

    return of


@pytest.mark.parametrize("name", NAMES)
def test_program(name, rng):
    program = PROGRAMS[name]
    args = program.arguments(rng)
    for i, x in enumerate(args):
        ours = fg.value_and_grad(loss(fnp, program.f), i)(*args)
        theirs = autograd.value_and_grad(loss(anp, program.f), i)(*args)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9, atol=1e-11)
        v = rng.normal(size=x.shape)
        ours = fg.hvp(loss(fnp, program.f), i)(*args, v)
        theirs = autograd.hessian_vector_product(loss(anp, program.f), i)(*args, v)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)
    ours = fg.jacobian(functools.partial(program.f, fnp))(*args)
    theirs = autograd.jacobian(functools.partial(program.f, anp))(*args)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


def test_control_flow_on_values():
    def f(np_):
        def of(x):
            y = x
            while np_.sum(y * y) < 50:
                y = y * 2 if y[0] > 0 else y * 3 + x
            return np_.sum(np_.sin(y))

        return of

    for x in (np.array([0.3, 0.4]), np.array([-0.3, 0.4])):
        np.testing.assert_allclose(fg.grad(f(fnp))(x), autograd.grad(f(anp))(x), rtol=1e-12)
        np.testing.assert_allclose(
            fg.hessian(f(fnp))(x), autograd.hessian(f(anp))(x), rtol=1e-12, atol=1e-13
        )


def test_trees():
    f = lambda np_: lambda p: np_.sum(np_.tanh(p["w"] @ p["x"][0]) * p["x"][1])
    p = {"w": np.arange(6.0).reshape(2, 3) / 6, "x": [np.ones(3) / 2, 2.0]}
    ours, theirs = fg.grad(f(fnp))(p), autograd.grad(f(anp))(p)
    np.testing.assert_allclose(ours["w"], theirs["w"], rtol=1e-12)
    np.testing.assert_allclose(ours["x"][0], theirs["x"][0], rtol=1e-12)
    np.testing.assert_allclose(ours["x"][1], theirs["x"][1], rtol=1e-12)
