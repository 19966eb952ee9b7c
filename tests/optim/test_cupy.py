"""Optimizers on CuPy's arrays, shown with a strict stand-in: their steps are those on NumPy's arrays."""

import sys

import numpy as np
import pytest

import fungrad as fg
from fungrad.example_libraries import optimizers
from tests.backends.fake_cupy import make_module
from tests.optim import test_line_searches as searches
from tests.optim.test_optimizers import MAKERS, loss, step

PARAMS = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": (np.array([0.1, -0.3]), None)}
TRANSFORMS = pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["plain", "jit"])


@pytest.fixture
def cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def assert_same(cupy, f, params):
    for x, y in zip(
        *map(fg.tree.leaves, (f(fg.tree.map(cupy.asarray, params)), f(params))), strict=True
    ):
        assert isinstance(x, cupy.ndarray)
        np.testing.assert_allclose(cupy.asnumpy(x), y, rtol=1e-12, atol=1e-13)


@TRANSFORMS
@pytest.mark.parametrize("name", sorted({*MAKERS} - {"noisy_sgd"}))
def test_steps_are_those_of_numpy(cupy, name, transform):
    tx = MAKERS[name](0.05)

    def run(params):
        state = tx.init(params)
        for _ in range(3):
            params, state = transform(lambda p, s: step(tx, p, s))(params, state)
        return params

    assert_same(cupy, run, PARAMS)


@TRANSFORMS
@pytest.mark.parametrize("name", searches.SEARCHES)
def test_searches_are_those_of_numpy(cupy, name, transform):
    tx = searches.SEARCHES[name]()
    bowl = lambda p: ((p["w"] - 1) ** 2).sum() + ((p["b"][0] + 2) ** 4).sum()

    def run(params):
        state = tx.init(params)
        for _ in range(3):
            params, state = transform(lambda p, s: searches.step(tx, p, s, bowl))(params, state)
        return params

    assert_same(cupy, run, PARAMS)


@TRANSFORMS
@pytest.mark.parametrize("name", ["adagrad", "adam", "adamax", "rmsprop", "sgd", "sm3"])
def test_triples(cupy, name, transform):
    init, update, get_params = getattr(optimizers, name)(0.05)

    def run(params):
        state = init(params)
        for i in range(3):
            grads = fg.grad(loss)(get_params(state))
            state = transform(update)(i, grads, state)
        return get_params(state)

    assert_same(cupy, run, PARAMS)
