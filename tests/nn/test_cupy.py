"""fungrad.nn and stax on CuPy's arrays, shown with a strict stand-in: what they give is what NumPy's arrays give."""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import nn, random
from fungrad.example_libraries import stax
from tests.backends.fake_cupy import make_module
from tests.nn import test_losses


@pytest.fixture
def cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


RNG = np.random.default_rng(0)
X, SCALE, KEY = RNG.normal(size=(3, 4, 6)), RNG.normal(size=6), random.PRNGKey(0)
LSTM = tuple(RNG.normal(size=s) for s in ((6, 20), (5, 20), (20,)))
GRU = tuple(RNG.normal(size=s) for s in ((6, 15), (5, 15), (15,), (5,)))
STATE = np.zeros(6), np.ones(6)
ELEMENTWISE = (
    "celu elu gelu hard_sigmoid hard_silu hard_tanh identity leaky_relu log_sigmoid mish relu relu6 selu sigmoid silu "
    "soft_sign softplus sparse_plus sparse_sigmoid squareplus tanh softmax log_softmax logsumexp logmeanexp standardize"
)
CASES = {name: (getattr(nn, name), X) for name in ELEMENTWISE.split()} | {
    "log1mexp": (nn.log1mexp, abs(X)),
    "attention": (nn.dot_product_attention, X, X, X),
    "layer_norm": (nn.layer_norm, X, SCALE, SCALE),
    "rms_norm": (nn.rms_norm, X, SCALE),
    "group_norm": (lambda x, s: nn.group_norm(x, 2, s, s), X, SCALE),
    "instance_norm": (nn.instance_norm, X, SCALE),
    "batch_norm": (lambda x, *r: nn.batch_norm(x, r, training=True), X, *STATE),
    "batch_norm in use": (lambda x, *r: nn.batch_norm(x, r, training=False), X, *STATE),
    "dropout": (lambda x, key: nn.dropout(key, x, 0.3), X, KEY),
    "embedding": (lambda table, rows: nn.embedding(rows, table), X, np.array([2, 0])),
    "one_hot": (lambda x: nn.one_hot(x, 3), np.array([2, 0])),
    "lstm": (lambda xs, *p: nn.lstm(p, xs), X, *LSTM),
    "gru": (lambda xs, *p: nn.gru(p, xs), X, *GRU),
    "stax": (
        lambda x, W, b: stax.serial(
            stax.MaxPool((2,)), stax.AvgPool((3,), padding="SAME"), stax.Flatten, stax.Dense(2)
        )[1]([(), (), (), (W, b)], x),
        X, RNG.normal(size=(18, 2)), np.zeros(2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(cupy, name, transform):
    f, *args = CASES[name]
    given = [cupy.asarray(a) for a in args]
    functions = [f]
    if args[0].dtype == float:
        functions.append(fg.grad(lambda *a: sum(fnp.sum(x * x) for x in fg.tree.leaves(f(*a)))))
    for function in functions:
        expected, found = function(*args), transform(function)(*given)
        for x, y in zip(*map(fg.tree.leaves, (found, expected)), strict=True):
            assert isinstance(x, cupy.ndarray)
            np.testing.assert_allclose(cupy.asnumpy(x), y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", test_losses.LOSSES | test_losses.OF_ALL)
def test_losses_are_those_of_numpy(cupy, name):
    f, given = getattr(nn, name), (test_losses.LOSSES | test_losses.OF_ALL)[name]
    given = [np.asarray(x, float) if np.ndim(x) == 0 else x for x in given]
    gradient = fg.grad(lambda *x: fnp.sum(f(*x)))
    for function in (f, gradient, fg.jit(gradient)):
        found = function(*map(cupy.asarray, given))
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_allclose(cupy.asnumpy(found), function(*given), rtol=1e-12, atol=1e-13)
