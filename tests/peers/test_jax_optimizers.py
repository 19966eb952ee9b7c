"""fungrad.example_libraries.optimizers against JAX's: names, and the numbers of twenty steps."""

import inspect
import types

import numpy as np
import pytest

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.example_libraries.optimizers")

import fungrad as fg  # noqa: E402
from fungrad.example_libraries import optimizers as ours  # noqa: E402

IMPORTED = {
    *("Any", "Callable", "NamedTuple", "annotations", "map", "namedtuple", "partial"),
    *("safe_map", "safe_zip", "unzip2", "zip"),
}
NAMES = [
    name
    for name, value in vars(theirs).items()
    if name[0] != "_" and not isinstance(value, types.ModuleType) and name not in IMPORTED
]


def test_names_are_jaxs():
    assert sorted(ours.__all__) == sorted(NAMES)
    assert [name for name in NAMES if not hasattr(ours, name)] == []


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_jaxs(name):
    if inspect.isfunction(getattr(theirs, name)):
        expected = [*inspect.signature(getattr(theirs, name)).parameters]
        assert [*inspect.signature(getattr(ours, name)).parameters] == expected


CASES = {
    "sgd": lambda o: o.sgd(0.1),
    "momentum": lambda o: o.momentum(0.1, 0.9),
    "nesterov": lambda o: o.nesterov(0.1, 0.9),
    "adagrad": lambda o: o.adagrad(0.1),
    "rmsprop": lambda o: o.rmsprop(0.1),
    "rmsprop_momentum": lambda o: o.rmsprop_momentum(0.1),
    "adam": lambda o: o.adam(0.1),
    "adamax": lambda o: o.adamax(0.1),
    "sm3": lambda o: o.sm3(0.1),
    "constant": lambda o: o.sgd(o.constant(0.1)),
    "exponential": lambda o: o.sgd(o.exponential_decay(0.1, 5, 0.5)),
    "inverse": lambda o: o.momentum(o.inverse_time_decay(0.1, 5, 0.5), 0.5),
    "staircase": lambda o: o.sgd(o.inverse_time_decay(0.1, 5, 0.5, staircase=True)),
    "polynomial": lambda o: o.adam(o.polynomial_decay(0.1, 10, 0.01, 2.0)),
}
ROUNDINGS = {"adam": 500}
"""How many there may be, other than 8: JAX multiplies b2**i out, and 1 / (1 - b2**i) is up to 1,000."""


def steps(triple, params, grads):
    init, update, get_params = triple
    state = init(params)
    for i, g in enumerate(grads):
        state = update(i, g, state)
    return get_params(state)


def problem(rng, dtype):
    shapes = {"w": (3, 4), "b": (4,), "s": ()}
    make = lambda: {k: np.asarray(rng.normal(size=n), dtype) for k, n in shapes.items()}
    return make(), [make() for _ in range(20)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_twenty_steps(name, dtype, rng):
    data = problem(rng, dtype)
    found = steps(CASES[name](ours), *data)
    expected = steps(CASES[name](theirs), *jax.tree.map(jax.numpy.asarray, data))
    tol = ROUNDINGS.get(name, 8) * np.finfo(dtype).eps
    for k, x in expected.items():
        assert found[k].dtype == x.dtype
        np.testing.assert_allclose(found[k], x, rtol=tol, atol=tol)


def test_piecewise_constant():
    args = ([2, 5], [0.3, 0.2, 0.1])
    expected = [float(theirs.piecewise_constant(*args)(i)) for i in range(8)]
    assert [float(ours.piecewise_constant(*args)(i)) for i in range(8)] == expected


def test_norms(rng):
    _, grads = problem(rng, "float64")
    for bound in (0.5, 100.0):
        found, expected = ours.clip_grads(grads[0], bound), theirs.clip_grads(grads[0], bound)
        for k, x in expected.items():
            np.testing.assert_allclose(found[k], x, rtol=1e-15)
    np.testing.assert_allclose(ours.l2_norm(grads), theirs.l2_norm(grads), rtol=1e-15)


def test_an_unpacked_state_is_jaxs(rng):
    params, (grads, *_) = problem(rng, "float64")
    triple, other = ours.adam(0.1), theirs.adam(0.1)
    state = triple.update_fn(0, grads, triple.init_fn(params))
    marked = ours.unpack_optimizer_state(state)
    expected = theirs.unpack_optimizer_state(other.update_fn(0, grads, other.init_fn(params)))
    for k, x in expected.items():
        for a, b in zip(marked[k].subtree, x.subtree, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
    again = ours.pack_optimizer_state(marked)
    assert fg.tree.structure(again) == fg.tree.structure(state)
