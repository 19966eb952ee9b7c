"""The triples of `fungrad.example_libraries.optimizers` under transformations; what is refused."""

import copy

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from fungrad.example_libraries import optimizers
from tests.optional import BFLOAT16

PARAMS = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": [np.array([0.1, -0.3]), np.array(2.0)]}
RULES = {
    name: getattr(optimizers, name)(0.05)
    for name in ("adagrad", "adam", "adamax", "rmsprop", "rmsprop_momentum", "sgd", "sm3")
}
RULES |= {name: getattr(optimizers, name)(0.05, 0.5) for name in ("momentum", "nesterov")}


def loss(params):
    return sum(((x - 1) ** 2).sum() for x in fg.tree.leaves(params))


@pytest.mark.parametrize("name", RULES)
def test_jitted_mapped_and_scanned_steps_are_the_plain_ones(name):
    init, update, get_params = RULES[name]

    def step(i, state):
        return update(i, fg.grad(loss)(get_params(state)), state)

    plain = init(PARAMS)
    jitted, stacked = plain, fg.tree.map(lambda x: np.stack([x, x]), PARAMS)
    mapped = fg.vmap(init)(stacked)
    for i in range(6):
        plain, jitted = step(i, plain), fg.jit(step)(i, jitted)
        mapped = fg.vmap(step, in_axes=(None, 0))(i, mapped)
    scanned, _ = lax.scan(lambda s, i: (step(i, s), None), init(PARAMS), np.arange(6))
    assert loss(get_params(plain)) < loss(PARAMS)
    for a, b, c, d in zip(*map(fg.tree.leaves, (plain, jitted, scanned, mapped)), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(c, a, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(d, np.stack([a, a]), rtol=1e-13, atol=1e-15)


REAL = [(name, dtype) for name in RULES for dtype in (np.float16, np.float32)]
SHORT = [
    pytest.param(name, *BFLOAT16.values, marks=BFLOAT16.marks, id=f"{name}-bfloat16")
    for name in RULES
]
COMPLEX = [(name, np.complex64) for name in sorted({*RULES} - {"adagrad", "sm3"})]


@pytest.mark.parametrize(("name", "dtype"), REAL + SHORT + COMPLEX)
def test_dtypes_are_kept(name, dtype):
    """Also under a schedule of float64, as counters of NumPy make it."""
    triple = getattr(optimizers, name)
    args = () if name not in ("momentum", "nesterov") else (0.5,)
    init, update, _ = triple(optimizers.polynomial_decay(0.1, 5, 0.0), *args)
    grads = {"w": np.array([1, -2], dtype)}
    step = lambda s, i: (update(i, grads, s), None)
    state, _ = fg.jit(lambda s: lax.scan(step, s, np.arange(3)))(init(grads))
    assert {x.dtype for x in fg.tree.leaves(state)} == {np.dtype(dtype)}


def test_no_parameters():
    init, update, get_params = optimizers.adam(0.1)
    assert get_params(update(0, {}, init({}))) == {}


def test_a_state_can_be_copied():
    state = copy.deepcopy(optimizers.sm3(0.1).init_fn(PARAMS))
    assert fg.tree.structure(state) == fg.tree.structure(optimizers.sm3(0.1).init_fn(PARAMS))


def test_what_is_refused():
    init, update, _ = optimizers.sgd(0.1)
    with pytest.raises(TypeError, match=r"the gradients are a tree .* and the parameters were"):
        update(0, [np.ones(2)], init(np.ones(2)))
    with pytest.raises(TypeError, match=r"must be a number or a function .* of shape \(2,\)"):
        optimizers.sgd(np.ones(2))
    with pytest.raises(ValueError, match=r"one boundary less, got shapes \(1,\) and \(3,\)"):
        optimizers.piecewise_constant([1], [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="must be JoinPoints, got float"):
        optimizers.pack_optimizer_state({"w": 1.0})
    odd = optimizers.optimizer(lambda: ((lambda x: x), (lambda i, g, x: (x, g)), (lambda x: x)))()
    with pytest.raises(TypeError, match="changes the structure of the state"):
        odd.update_fn(0, np.ones(2), odd.init_fn(np.ones(2)))
