"""Optimizers: under transformations, on pytrees; what is refused. tests/peers/test_optax.py has their numbers."""

import re
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax, optim
from fungrad.optim.exclusions import EXCLUDED
from tests.compile.compiling import compare_routines, needs_compiler
from tests.optional import BFLOAT16, eps_of

PARAMS = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": (np.array([0.1, -0.3]), None)}
MAKERS = {
    name: lambda rate, name=name: getattr(optim, name)(rate)
    for name, module in optim._HOME.items()
    if module in ("optimizers", "rows")
}
MAKERS |= {
    "momentum": lambda rate: optim.sgd(rate, momentum=0.9, nesterov=True),
    "centred rmsprop": lambda rate: optim.rmsprop(
        rate, eps=0.5, centered=True, bias_correction=True
    ),
    "adafactor of rows": lambda rate: optim.adafactor(rate, min_dim_size_to_factor=2),
    "lbfgs": lambda rate: optim.lbfgs(rate, memory_size=3, linesearch=None),
    "clipped": lambda rate: optim.chain(optim.clip_by_global_norm(1.0), optim.adam(rate)),
    "scheduled": lambda rate: optim.adamw(optim.cosine_decay_schedule(rate, 20), weight_decay=0.1),
    "fromage of a schedule": lambda rate: optim.fromage(optim.linear_schedule(rate, 0.0, 20)),
}
REAL_ALONE = {"rprop", "sm3"}


def test_all_names_are_found():
    assert [name for name in optim.__all__ if not hasattr(optim, name)] == []
    assert set(optim.__all__) & set(EXCLUDED) == set()
    assert {*optim.__all__, "losses", "l2_loss", "schedules"} <= {*dir(optim)}
    assert [name for name in dir(optim) if not hasattr(optim, name)] == []


@pytest.mark.parametrize("name", EXCLUDED)
def test_a_name_left_out_says_why(name):
    with pytest.raises(AttributeError) as error:
        getattr(optim, name)
    assert str(error.value) == f"fungrad.optim has no {name!r}: {EXCLUDED[name]}"


def test_the_page_has_all_functions():
    page = (Path(__file__).parents[2] / "docs" / "optim.md").read_text("utf-8")
    named = set(re.findall(r"`(?:optim\.)?(\w+)`", page))
    functions = {name for name in optim.__all__ if name[0].islower()}
    assert functions - named == {"init_empty_state", "safe_int32_increment"}
    assert EXCLUDED.keys() - named == set()


def test_a_wrong_name_suggests_the_right_one():
    with pytest.raises(AttributeError, match="did you mean 'lbfgs'"):
        optim.lbgfs


def loss(params):
    return (params["w"] ** 2).sum() + ((params["b"][0] - 1.0) ** 4).sum()


def step(tx, params, state):
    value, grads = fg.value_and_grad(loss)(params)
    updates, state = tx.update(grads, state, params, value=value)
    return optim.apply_updates(params, updates), state


def scanned(tx, params, count):
    """Return parameters and state after so many steps of a scan, which lets no dtype change."""
    one = lambda carry, _: (step(tx, *carry), None)
    return lax.scan(one, (params, tx.init(params)), length=count)[0]


@pytest.mark.parametrize("name", MAKERS)
def test_jitted_mapped_scanned_and_plain_steps_agree(name):
    tx = MAKERS[name](0.05)
    plain, jitted = PARAMS, PARAMS
    states = [tx.init(PARAMS), tx.init(PARAMS)]
    stacked = fg.tree.map(lambda x: np.stack([x, x]), PARAMS)
    mapped, state = stacked, fg.vmap(tx.init, axis_size=2)(stacked)
    jit_step = fg.jit(lambda p, s: step(tx, p, s))
    for _ in range(5):
        plain, states[0] = step(tx, plain, states[0])
        jitted, states[1] = jit_step(jitted, states[1])
        mapped, state = fg.vmap(lambda p, s: step(tx, p, s))(mapped, state)
    in_scan, last = scanned(tx, PARAMS, 5)
    assert fg.tree.structure(last) == fg.tree.structure(states[0])
    assert fg.tree.structure(jitted) == fg.tree.structure(PARAMS)
    found = map(fg.tree.leaves, (plain, jitted, in_scan, mapped))
    for a, b, c, d in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(c, a, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(d, np.stack([a, a]), rtol=1e-13, atol=1e-15)


@needs_compiler
@pytest.mark.parametrize("name", MAKERS)
def test_steps_are_the_same_with_kernels(name):
    tx = MAKERS[name](0.05)
    params = {
        "w": np.linspace(-1.0, 2.0, 600).reshape(20, 30),
        "b": (np.linspace(1.0, 2.0, 50), None),
    }
    steps = lambda p: scanned(tx, p, 3)[0]
    compare_routines(steps, (params,), ulps=4)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32])
@pytest.mark.parametrize("name", sorted({*MAKERS} - {"noisy_sgd"}))  # other numbers in each dtype
def test_short_numbers(name, dtype):
    tx = MAKERS[name](0.05)
    params = fg.tree.map(lambda x: x.astype(dtype), PARAMS)
    updates, _ = tx.update(params, tx.init(params), params, value=np.asarray(1.0, dtype))
    assert {x.dtype for x in fg.tree.leaves(updates)} == {np.dtype(dtype)}
    found, _ = fg.jit(lambda p: scanned(tx, p, 3))(params)
    expected, _ = scanned(tx, fg.tree.map(lambda x: x.astype(float), params), 3)
    eps = eps_of(dtype)
    for x, y in zip(*map(fg.tree.leaves, (found, expected)), strict=True):
        assert x.dtype == dtype
        np.testing.assert_allclose(x.astype(float), y, rtol=8 * eps, atol=8 * eps)


@pytest.mark.parametrize("name", sorted({*MAKERS} - REAL_ALONE - {"noisy_sgd"}))
def test_complex_numbers_on_the_real_line_are_real_ones(name):
    tx = MAKERS[name](0.05)
    found, _ = scanned(tx, PARAMS, 5)
    state, params = tx.init(as_complex(PARAMS)), as_complex(PARAMS)
    for _ in range(5):
        value, grads = fg.value_and_grad(loss)(fg.tree.map(np.real, params))
        updates, state = tx.update(as_complex(grads), state, params, value=value)
        params = optim.apply_updates(params, updates)
    for x, y in zip(*map(fg.tree.leaves, (params, found)), strict=True):
        assert x.dtype == complex
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def as_complex(params):
    return fg.tree.map(lambda x: x.astype(complex), params)


@pytest.mark.parametrize("name", sorted(REAL_ALONE))
def test_complex_numbers_that_have_no_order(name):
    with pytest.raises(ValueError, match="complex numbers have no order"):
        MAKERS[name](0.05).init(as_complex(PARAMS))
    with pytest.raises(ValueError, match="clip: complex numbers have no order"):
        optim.clip(1.0).update(as_complex(PARAMS), optim.EmptyState())


@pytest.mark.parametrize("name", MAKERS)
def test_no_parameters(name):
    tx = MAKERS[name](0.05)
    for empty in ({}, {"w": None, "b": []}, {"w": np.zeros((0, 3))}):
        updates, state = fg.jit(tx.update)(empty, tx.init(empty), empty, value=1.0)
        assert fg.tree.structure(updates) == fg.tree.structure(empty)
        assert fg.tree.structure(state) == fg.tree.structure(tx.init(empty))


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"adadelta", "lars", "sm3"}))
def test_steps_descend(name):
    params, _ = scanned(MAKERS[name](0.05), PARAMS, 10)
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


def test_complex_gradients_are_scaled_by_their_absolute_values():
    g = np.array([3 + 4j, -2j])
    tx = optim.scale_by_adam(eps=0.0)
    updates, _ = tx.update(g, tx.init(g))
    np.testing.assert_allclose(updates, [0.6 + 0.8j, -1j], rtol=1e-14)


NUMBERS = {
    "adaptive_grad_clip": optim.adaptive_grad_clip(0.1),
    "apply_if_finite": optim.apply_if_finite(optim.freeze(False), 2),
    "clip_by_global_norm": optim.clip_by_global_norm(0.1),
    "freeze": optim.freeze(True),
    "keep_params_nonnegative": optim.keep_params_nonnegative(),
    "radam": optim.radam(0.1),
    "rprop": optim.rprop(0.1),
    "sgd": optim.sgd(0.1),
    "zero_nans": optim.zero_nans(),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_updates_of_numbers_are_no_arrays(name):
    optimizer = NUMBERS[name]
    for g in (-2.0, np.float32(-2.0)):
        updates, state = optimizer.update(g, optimizer.init(np.float64(1.0)), np.float64(1.0))
        assert isinstance(updates, float | np.floating)
        compiled, _ = fg.jit(optimizer.update)(g, state, np.float64(1.0))
        assert isinstance(compiled, np.floating)
