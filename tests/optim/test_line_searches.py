"""Line searches and L-BFGS: under transformations, in all precisions, where searches fail. The numbers are compared with
optax's in tests/peers/test_optax.py."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, optim
from tests.compile.compiling import compare, needs_compiler

SEARCHES = {
    "zoom": lambda: optim.chain(optim.sgd(1.0), optim.scale_by_zoom_linesearch(20)),
    "backtracking": lambda: optim.chain(
        optim.sgd(1.0), optim.scale_by_backtracking_linesearch(40, store_grad=True)
    ),
    "lbfgs": optim.lbfgs,
    "lbfgs, backtracking": lambda: optim.lbfgs(
        memory_size=4, linesearch=optim.scale_by_backtracking_linesearch(30)
    ),
}
START = {"x": np.array([-1.2, 1.0]), "y": (np.array(0.5), None)}


def rosenbrock(p):
    x = fnp.append(p["x"], p["y"][0])
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def step(tx, params, state, loss=rosenbrock, **kwargs):
    value, grad = fg.value_and_grad(loss)(params, **kwargs)
    updates, state = tx.update(grad, state, params, value=value, grad=grad, value_fn=loss, **kwargs)
    return optim.apply_updates(params, updates), state


def scanned(tx, params, count, loss=rosenbrock):
    one = lambda carry, _: (step(tx, *carry, loss), None)
    return lax.scan(one, (params, tx.init(params)), length=count)[0]


@pytest.mark.parametrize("name", SEARCHES)
def test_jitted_mapped_scanned_and_plain_steps_agree(name):
    tx = SEARCHES[name]()
    params, state = START, tx.init(START)
    for _ in range(4):
        params, state = step(tx, params, state)
    others = fg.tree.map(
        lambda x: np.stack([x, 0.5 * x]), START
    )  # which need other numbers of steps
    alone = scanned(tx, fg.tree.map(lambda x: 0.5 * x, START), 4)
    found = [
        scanned(tx, START, 4),
        fg.jit(lambda p: scanned(tx, p, 4))(START),
        fg.tree.map(lambda x: x[0], fg.vmap(lambda p: scanned(tx, p, 4))(others)),
    ]
    for end in found:
        assert fg.tree.structure(end) == fg.tree.structure((params, state))
        for x, y in zip(*map(fg.tree.leaves, (end, (params, state))), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)
    second = fg.tree.map(lambda x: x[1], fg.vmap(lambda p: scanned(tx, p, 4))(others))
    for x, y in zip(*map(fg.tree.leaves, (second, alone)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
    assert rosenbrock(params) < rosenbrock(START)


@needs_compiler
@pytest.mark.parametrize("name", SEARCHES)
def test_steps_are_the_same_with_kernels(name):
    tx = SEARCHES[name]()
    compare(lambda p: scanned(tx, p, 3)[0], (START,), ulps=8)


def test_lbfgs_finds_the_minimum():
    params, _ = fg.jit(lambda p: scanned(optim.lbfgs(), p, 60))(START)
    np.testing.assert_allclose(params["x"], 1.0, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", SEARCHES)
def test_precisions_are_kept(name, dtype):
    bowl = lambda p: ((p["x"] - 1) ** 2).sum() + (p["y"][0] + 2) ** 2
    start = fg.tree.map(lambda x: x.astype(dtype), START)
    params, state = fg.jit(lambda p: scanned(SEARCHES[name](), p, 30, bowl))(start)
    floats = [x.dtype for x in fg.tree.leaves((params, state)) if x.dtype.kind == "f"]
    assert {*floats} == {np.dtype(dtype)}
    assert bowl(params) < 300 * np.finfo(dtype).eps  # less than what backtracking can tell apart


@pytest.mark.parametrize("name", SEARCHES)
def test_complex_parameters(name):
    """Gradients are conjugated for the updates, as for all optimizers, and given to the search as they are."""
    target = np.array([1.0 + 2.0j, -3.0j])
    loss = lambda z: (abs(z - target) ** 2 * np.array([1.0, 3.0])).sum()
    tx = SEARCHES[name]()
    params = np.zeros(2, complex)
    state = tx.init(params)
    for _ in range(80):
        value, grad = fg.value_and_grad(loss)(params)
        updates, state = tx.update(
            np.conj(grad), state, params, value=value, grad=grad, value_fn=loss
        )
        params = optim.apply_updates(params, updates)
    np.testing.assert_allclose(params, target, atol=1e-5)


@pytest.mark.parametrize("name", ["zoom", "backtracking"])
def test_values_are_taken_from_the_state(name):
    calls = []

    def loss(x):
        calls.append(0)
        return ((x - 3.0) ** 2).sum()

    tx = SEARCHES[name]()
    params, state = np.zeros(2), tx.init(np.zeros(2))
    value_and_grad = optim.value_and_grad_from_state(loss)
    value, grad = value_and_grad(params, state=state)
    updates, state = tx.update(grad, state, params, value=value, grad=grad, value_fn=loss)
    params = optim.apply_updates(params, updates)
    del calls[:]
    value, grad = value_and_grad(params, state=state)
    assert calls == []
    np.testing.assert_allclose(value, loss(params), rtol=1e-15)
    np.testing.assert_allclose(grad, fg.grad(loss)(params), rtol=1e-15)


@pytest.mark.parametrize("name", ["zoom", "backtracking"])
def test_no_step_is_made_where_the_loss_has_no_value(name):
    tx = SEARCHES[name]()
    with np.errstate(invalid="ignore"):
        loss = lambda x: fnp.where(fnp.all(x == 1.0), 1.0, np.nan) * (x**2).sum()
        updates, state = tx.update(
            np.ones(2), tx.init(np.ones(2)), np.ones(2), value=2.0, grad=np.ones(2), value_fn=loss
        )
    np.testing.assert_array_equal(updates, 0)
    assert (optim.tree.get(state, "learning_rate"), optim.tree.get(state, "value")) == (0, 2)
    assert np.isinf(optim.tree.get(state, "decrease_error"))


def test_a_failed_search_takes_what_falls_enough():
    """Uphill there is no factor that will do: the last one is taken, and the state says by how much it misses."""
    tx = optim.chain(optim.sgd(-1.0), optim.scale_by_zoom_linesearch(5))
    params, state = step(tx, START, tx.init(START))
    info = optim.tree.get(state, "info")
    assert info.num_linesearch_steps == 5
    assert info.decrease_error > 0
    assert rosenbrock(params) > rosenbrock(START)


def test_a_failed_search_is_reported(capsys):
    tx = optim.chain(optim.sgd(-1.0), optim.scale_by_zoom_linesearch(5, verbose=True))
    fg.jit(lambda p: step(tx, p, tx.init(p)))(START)
    assert "none of 5 steps will do" in capsys.readouterr().out
    tx = optim.chain(optim.sgd(1.0), optim.scale_by_zoom_linesearch(30, verbose=True))
    step(tx, START, tx.init(START))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", SEARCHES)
def test_arguments_of_the_loss(name):
    tx = SEARCHES[name]()
    loss = lambda x, y, *, scale: scale * ((x - y) ** 2).sum()
    y = np.array([1.0, -2.0])
    params, _ = step(tx, np.zeros(2), tx.init(np.zeros(2)), loss, y=y, scale=2.0)
    assert loss(params, y, scale=2.0) < loss(np.zeros(2), y, scale=2.0)
    with pytest.raises(TypeError, match=r"value_fn does not take \['z'\]; its parameters are"):
        tx.update(
            y, tx.init(y), y, value=0.0, grad=y, value_fn=loss, y=y, scale=1.0, z=3
        )  # fmt: skip


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match='must be "one" or "keep", got \'first\''):
        optim.scale_by_zoom_linesearch(5, initial_guess_strategy="first")
    with pytest.raises(ValueError, match="memory_size must be positive, got 0"):
        optim.lbfgs(memory_size=0)
    state = optim.scale_by_backtracking_linesearch(5).init(np.ones(2))
    with pytest.raises(ValueError, match="store_grad=True"):
        optim.value_and_grad_from_state(rosenbrock)(START, state=state)
    needs = {"value": 1.0, "grad": np.ones(2), "value_fn": rosenbrock}
    for tx in (optim.lbfgs(), SEARCHES["zoom"](), SEARCHES["backtracking"]()):
        with pytest.raises(ValueError, match=r"write tx\.update\(updates, state, params\)"):
            tx.update(np.ones(2), tx.init(np.ones(2)), **needs)


def test_no_parameters():
    for tx in (optim.lbfgs(), SEARCHES["zoom"](), SEARCHES["backtracking"]()):
        updates, _ = tx.update({}, tx.init({}), {}, value=1.0, grad={}, value_fn=lambda p: 1.0)
        assert updates == {}
