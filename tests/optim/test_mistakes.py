"""What optimizers say of arguments that do not fit: the leaf, what it is and should be, and what to write."""

import functools
import inspect
import re

import numpy as np
import pytest

import fungrad as fg
from fungrad import optim
from fungrad.optim.mistakes import SYNONYMS, _for_argument

PARAMS = {"w": np.ones((3, 2)), "b": np.zeros(2)}
GRADS = {"w": np.full((3, 2), 0.5), "b": np.ones(2)}
OTHER = {"w": np.ones((3, 3)), "b": np.ones(2)}
NARROW = {"w": np.ones(2), "b": np.ones(2)}  # which NumPy would broadcast
MAKERS = {
    "adam": lambda: optim.adam(1e-3),
    "adamw": lambda: optim.adamw(1e-3),
    "momentum": lambda: optim.sgd(1e-3, momentum=0.9),
    "rmsprop": lambda: optim.rmsprop(1e-3),
    "lion": lambda: optim.lion(1e-3),
    "chain": lambda: optim.chain(optim.clip_by_global_norm(1.0), optim.adam(1e-3)),
    "scale_by_adam": lambda: optim.scale_by_adam(),
}
"""Transformations that remember something of the shape of the gradients."""
DECAYING = {"adamw", "lion"}
"""Those that need the parameters."""


def said(call, *parts):
    with pytest.raises((TypeError, ValueError)) as error:
        call()
    for part in parts:
        assert part in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", MAKERS)
def test_gradients_and_state_that_do_not_fit(name, jitted):
    tx = MAKERS[name]()
    state = tx.init(PARAMS)
    update = fg.jit(tx.update) if jitted else tx.update
    for wrong in (OTHER, NARROW):
        for given in [(state, PARAMS), *([] if name in DECAYING else [(state,)])]:
            said(functools.partial(update, wrong, *given), "updates['w'] has the shape", "(3, 2)")
    said(lambda: update({"w": GRADS["w"]}, state, PARAMS), "['b']", "must have the tree")
    said(lambda: tx.update(GRADS, None, PARAMS), "got None for it", "state = tx.init(params)")
    said(lambda: tx.update(GRADS, tx, PARAMS), "the optimizer itself", "state = tx.init(params)")
    said(lambda: tx.update(state, GRADS), "the state first and the gradients after it")
    said(lambda: tx.update(None, state), "got None for them")
    said(lambda: tx.update(None, state=state, params=PARAMS), "got None for them")
    said(lambda: tx.update(GRADS), "takes the gradients and the state")
    updates, state = update(GRADS, state, PARAMS)
    assert fg.tree.structure(optim.apply_updates(PARAMS, updates)) == fg.tree.structure(PARAMS)


def test_the_leaf_of_the_state_is_named():
    tx = optim.adam(1e-3)
    text = said(lambda: tx.update(OTHER, tx.init(PARAMS)), "adam: ")
    assert "updates['w'] has the shape (3, 3), and state[0].mu['w'] has (3, 2)" in text
    chained = optim.chain(optim.clip(1.0), optim.adam(1e-3))
    said(lambda: chained.update(OTHER, chained.init(PARAMS)), "chain: ", "state[1][0].mu['w']")
    said(
        lambda: tx.update(GRADS, optim.sgd(1e-3, momentum=0.9).init(PARAMS)),
        "state[0]",
        "TraceState",
    )
    said(lambda: tx.update((1.0, GRADS), tx.init(PARAMS)), "value, grads = ...")


def test_decay_of_other_parameters():
    tx = optim.adamw(1e-3)
    said(lambda: tx.update(GRADS, tx.init(PARAMS), NARROW), "updates['w']", "params['w'] has (2,)")
    with pytest.raises(ValueError, match=r"write tx\.update\(updates, state, params\)"):
        tx.update(GRADS, tx.init(PARAMS))


def test_errors_of_the_users_own_functions_stay():
    def broken(updates, params):
        raise ValueError("of mine")

    tx = optim.chain(optim.stateless(broken), optim.adam(1e-3))
    with pytest.raises(ValueError, match=r"^of mine$"):
        tx.update(GRADS, tx.init(PARAMS), PARAMS)


def test_updates_that_do_not_fit_the_parameters():
    tx = optim.adam(1e-3)
    said(
        lambda: optim.apply_updates(PARAMS, OTHER),
        "updates['w'] has the shape (3, 3)",
        "params['w'] has (3, 2)",
    )
    said(lambda: optim.apply_updates(PARAMS, NARROW), "updates['w'] has the shape (2,)")
    said(
        lambda: optim.apply_updates(PARAMS, {"w": OTHER["w"]}),
        "must have the tree of params",
        "['b']",
    )
    said(lambda: optim.apply_updates(PARAMS, None), "got None")
    pair = tx.update(GRADS, tx.init(PARAMS))
    said(lambda: optim.apply_updates(PARAMS, pair), "is the pair that update returns")
    np.testing.assert_array_equal(optim.apply_updates(PARAMS, pair[0])["b"], pair[0]["b"])


def test_what_may_broadcast_does():
    np.testing.assert_array_equal(
        optim.tree.add_scale(np.ones((2, 2)), 2.0, np.ones(2)), np.full((2, 2), 3.0)
    )
    np.testing.assert_array_equal(optim.apply_updates(np.ones(2), 0.5), [1.5, 1.5])


NAMES = {
    "lr": (lambda: optim.adam(lr=1e-3), "the argument is called learning_rate. Write adam(learning_rate=0.001)"),
    "lr of sgd": (lambda: optim.sgd(lr=0.1), "Write sgd(learning_rate=0.1)"),
    "step_size": (lambda: optim.rmsprop(step_size=0.1), "Write rmsprop(learning_rate=0.1)"),
    "betas": (lambda: optim.adam(1e-3, betas=(0.8, 0.99)), "b1=0.8, b2=0.99"),
    "beta1": (lambda: optim.adam(1e-3, beta1=0.8), "the argument is called b1. Write adam(b1=0.8)"),
    "epsilon": (lambda: optim.adam(1e-3, epsilon=1e-6), "the argument is called eps"),
    "alpha": (lambda: optim.rmsprop(1e-3, alpha=0.9), "the argument is called decay"),
    "alpha of Adam": (lambda: optim.adam(alpha=1e-3), "the argument is called learning_rate"),
    "rho": (lambda: optim.rmsprop(1e-3, rho=0.9), "Write rmsprop(decay=0.9)"),
    "weight_decay": (lambda: optim.adam(1e-3, weight_decay=0.1), "fungrad.optim.adamw has, with weight_decay"),
    "decay of sgd": (lambda: optim.sgd(1e-3, weight_decay=0.1), "chain(fungrad.optim.add_decayed_weights(0.1)"),
    "amsgrad": (lambda: optim.adam(1e-3, amsgrad=True), "fungrad.optim.amsgrad(learning_rate)"),
    "clipnorm": (lambda: optim.adam(1e-3, clipnorm=1.0), "clip_by_global_norm(1.0)"),
    "params": (lambda: optim.adam(1e-3, params=PARAMS), "state = tx.init(params)"),
    "a slip": (lambda: optim.adam(1e-3, nestrov=True), "did you mean 'nesterov'"),
    "nothing like it": (lambda: optim.adam(1e-3, qwerty=True), "It takes learning_rate, b1, b2"),
    "parameters": (lambda: optim.adam(PARAMS, 1e-3), "learning_rate must be a number or a schedule"),
    "a string": (lambda: optim.sgd("0.1"), "got '0.1', of type str"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_that_other_libraries_have(name):
    said(NAMES[name][0], NAMES[name][1])


def test_what_is_advised_works():
    start, grads = np.ones(2), np.array([0.5, -2.0])
    for advised in (
        optim.adam(learning_rate=0.001),
        optim.adam(1e-3, b1=0.8, b2=0.99),
        optim.chain(optim.add_decayed_weights(0.1), optim.adam(1e-3)),
        optim.chain(optim.clip_by_global_norm(1.0), optim.adam(1e-3)),
        optim.amsgrad(1e-3),
    ):
        updates, _ = advised.update(grads, advised.init(start), start)
        assert np.isfinite(updates).all()


@pytest.mark.parametrize("name", ["step", "zero_grad", "apply_gradients", "minimize"])
def test_methods_of_other_libraries(name):
    with pytest.raises(AttributeError, match="it has init and update; "):
        getattr(optim.adam(1e-3), name)


def test_a_synonym_is_no_argument_of_any_optimizer_but_that_it_stands_for():
    """Else the advice would be taken for what has the name itself."""
    for name in [n for n, home in optim._HOME.items() if home in ("optimizers", "rows")]:
        parameters = [*inspect.signature(getattr(optim, name)).parameters]
        for ours in {*SYNONYMS} & {*parameters}:
            for synonym in {*SYNONYMS[ours].split()} - {*parameters}:
                named = re.search("is called (\\w+)", _for_argument(name, synonym, 1.0, parameters))
                assert named is not None, (name, synonym)
                assert named[1] in parameters, (name, synonym)


def test_numbers_are_updates_of_arrays_and_told_of_where_others_do_not_fit():
    tx = optim.adam(0.1)
    state = tx.init({"w": np.ones(3), "b": np.zeros(2)})
    moved, _ = tx.update({"w": 2.0, "b": np.ones(2)}, state)
    np.testing.assert_allclose(moved["w"], [-0.1] * 3)
    with pytest.raises(
        ValueError, match=r"updates\['w'\] has the shape \(2,\), and state.* has \(3,\)"
    ):
        tx.update({"w": np.ones(2), "b": 3.0}, state)
