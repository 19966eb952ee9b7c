"""Loops and branches on CuPy's arrays, shown with the strict stand-in."""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from tests.backends.fake_cupy import make_module

XS = np.cos(np.arange(60.0)).reshape(20, 3)


def scanned(x):
    def step(c, row):
        state, total, count = c
        state = fnp.tanh(state * row + x)
        return (state, total + (state * row).sum(), count + 1), (state[0], row * count)

    (state, total, _), (firsts, rows) = lax.scan(step, (x, 0.0, 0), XS, reverse=True)
    return state + total + firsts.sum() + rows.sum(0)


def filled(x):
    def step(i, c):
        part = lax.dynamic_slice(c, (i % 3,), (1,))
        return lax.dynamic_update_slice(c, fnp.sin(part) + x[:1], ((i + 1) % 3,))

    return lax.fori_loop(0, 5, step, x)


def chosen(x):
    def step(c, row):
        c = lax.cond(row[0] > 0, lambda c: fnp.sin(c), lambda c: c * row, c)
        return lax.switch(fnp.argmax(row), [lambda c: c, lambda c: c * x, fnp.cos], c), None

    return lax.scan(step, x, XS[:6])[0]


PROGRAMS = {
    "scan": scanned,
    "fori_loop": filled,
    "cond and switch": chosen,
    "map": lambda x: lax.map(lambda row: (row * x).sum(), XS[:3], batch_size=2),
    "no steps": lambda x: lax.scan(lambda c, row: (c * row, c), x, XS[:0])[0] * 2,
    "nested": lambda x: lax.fori_loop(0, 2, lambda i, c: scanned(c) * 0.01 * i + x, x),
}


@pytest.fixture
def cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def weighted(f):
    return lambda x: (f(x) * np.array([1.0, 2.0, 3.0])).sum()


TRANSFORMS = {
    "jit": fg.jit,
    "grad": lambda f: fg.grad(weighted(f)),
    "jit of grad": lambda f: fg.jit(fg.grad(weighted(f))),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (x,))[1],
    "vmap": lambda f: lambda x: fg.vmap(f)(fnp.stack([x, -x])),
    "grad of grad": lambda f: fg.grad(lambda x: (fg.grad(weighted(f))(x) * x).sum()),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_loops(cupy, name, transform):
    f = TRANSFORMS[transform](PROGRAMS[name])
    x = np.array([1.1, 0.5, 0.9])
    expected = f(x)
    for _ in range(2):  # evaluated, compiled
        found = f(cupy.asarray(x))
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_allclose(found.get(), expected, rtol=1e-12)


def test_while_loop(cupy):
    def newton(a):
        return lax.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)

    two = cupy.asarray(2.0)
    for f in (newton, fg.jit(newton)):
        np.testing.assert_allclose(f(two).get(), 2**0.5, rtol=1e-12)
    _, tangent = fg.jvp(fg.jit(newton), (two,), (cupy.asarray(1.0),))
    np.testing.assert_allclose(tangent.get(), 0.5 / 2**0.5, rtol=1e-12)
    found = fg.vmap(newton)(cupy.asarray([1.0, 2.0, 9.0]))
    np.testing.assert_allclose(found.get(), np.sqrt([1, 2, 9]), rtol=1e-12)
