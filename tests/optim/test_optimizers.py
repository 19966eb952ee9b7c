"""Optimizers: under transformations, on pytrees; what is refused. tests/peers/test_optax.py has their numbers."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import optim
from fungrad.optim.exclusions import EXCLUDED

PARAMS = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": (np.array([0.1, -0.3]), None)}
MAKERS = {
    name: getattr(optim, name)
    for name in [
        "adabelief",
        "adadelta",
        "adafactor",
        "adagrad",
        "adam",
        "adamax",
        "adamaxw",
        "adamw",
        "adan",
        "amsgrad",
        "lamb",
        "lars",
        "lion",
        "nadam",
        "nadamw",
        "novograd",
        "radam",
        "rmsprop",
        "sgd",
        "sm3",
        "yogi",
    ]
}


def test_all_names_are_found():
    assert [name for name in optim.__all__ if not hasattr(optim, name)] == []
    assert set(optim.__all__) & set(EXCLUDED) == set()


@pytest.mark.parametrize("name", EXCLUDED)
def test_a_name_left_out_says_why(name):
    with pytest.raises(AttributeError) as error:
        getattr(optim, name)
    assert str(error.value) == f"fungrad.optim has no {name!r}: {EXCLUDED[name]}"


def test_a_wrong_name_suggests_the_right_one():
    with pytest.raises(AttributeError, match="did you mean 'lbfgs'"):
        optim.lbgfs


def loss(params):
    return (params["w"] ** 2).sum() + ((params["b"][0] - 1.0) ** 4).sum()


def step(tx, params, state):
    updates, state = tx.update(fg.grad(loss)(params), state, params)
    return optim.apply_updates(params, updates), state


@pytest.mark.parametrize("name", MAKERS)
def test_jitted_mapped_and_plain_steps_agree(name):
    tx = MAKERS[name](0.05)
    plain, jitted = PARAMS, PARAMS
    states = [tx.init(PARAMS), tx.init(PARAMS)]
    stacked = fg.tree.map(lambda x: np.stack([x, x]), PARAMS)
    mapped, state = stacked, fg.vmap(tx.init)(stacked)
    jit_step = fg.jit(lambda p, s: step(tx, p, s))
    for _ in range(5):
        plain, states[0] = step(tx, plain, states[0])
        jitted, states[1] = jit_step(jitted, states[1])
        mapped, state = fg.vmap(lambda p, s: step(tx, p, s))(mapped, state)
    assert fg.tree.structure(jitted) == fg.tree.structure(PARAMS)
    for a, b, c in zip(*map(fg.tree.leaves, (plain, jitted, mapped)), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(c, np.stack([a, a]), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"adadelta", "lars", "sm3"}))
def test_steps_descend(name):
    tx = MAKERS[name](0.05)
    params, state = PARAMS, tx.init(PARAMS)
    for _ in range(10):
        params, state = step(tx, params, state)
    assert loss(params) < loss(PARAMS)


def test_a_step_is_differentiable_by_its_learning_rate():
    def after(rate):
        tx = optim.sgd(rate)
        return loss(step(tx, PARAMS, tx.init(PARAMS))[0])

    h = 1e-6
    slope = (after(0.01 + h) - after(0.01 - h)) / (2 * h)
    np.testing.assert_allclose(fg.grad(after)(0.01), slope, rtol=1e-7)


def test_collected_gradients_make_the_step_of_their_mean():
    tx = optim.MultiSteps(optim.adam(0.1), 3)
    grads = [np.array([1.0, 5.0]), np.array([-2.0, 4.0]), np.array([7.0, 0.0])]
    state = tx.init(np.zeros(2))
    found = []
    for g in grads:
        updates, state = fg.jit(tx.update)(g, state)
        found.append(updates)
    one = optim.adam(0.1)
    expected, _ = one.update(np.mean(grads, axis=0), one.init(np.zeros(2)))
    np.testing.assert_array_equal(found[:2], np.zeros((2, 2)))
    np.testing.assert_allclose(found[2], expected, rtol=1e-14)
    assert tx.has_updated(state)


def test_errors_say_what_to_do():
    tx = optim.adamw(0.1)
    with pytest.raises(ValueError, match=r"write tx\.update\(updates, state, params\)"):
        tx.update(np.ones(2), tx.init(np.zeros(2)))
    with pytest.raises(ValueError, match="no transformation for the labels 'c'"):
        optim.partition({"a": optim.sgd(0.1)}, {"w": "c"}).init({"w": np.ones(2)})
    with pytest.raises(ValueError, match="no parameters of it"):
        optim.inject_hyperparams(optim.adam, static_args="lr")
    with pytest.raises(ValueError, match="begin with the state that init returns"):
        tx.update(np.ones(2), (), np.ones(2))
