"""Schedules, combinators, transformations and arithmetic on trees of fungrad.optim against optax's."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
optax = pytest.importorskip("optax")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad import optim  # noqa: E402

SINGLE = float(np.finfo(np.float32).eps)

SCHEDULES = {
    "constant": lambda o: o.constant_schedule(0.3),
    "linear": lambda o: o.linear_schedule(1.0, 0.1, 10, transition_begin=3),
    "polynomial": lambda o: o.polynomial_schedule(1.0, 0.1, 2.5, 10, transition_begin=3),
    "exponential": lambda o: o.exponential_decay(1.0, 4, 0.5, transition_begin=2, end_value=0.1),
    "staircase": lambda o: o.exponential_decay(0.1, 4, 1.5, staircase=True, end_value=0.4),
    "cosine": lambda o: o.cosine_decay_schedule(1.0, 12, alpha=0.1, exponent=1.5),
    "pieces": lambda o: o.piecewise_constant_schedule(1.0, {4: 0.5, 9: 3.0}),
    "lines": lambda o: o.piecewise_interpolate_schedule("linear", 1.0, {4: 0.5, 9: 3.0}),
    "curves": lambda o: o.piecewise_interpolate_schedule("cosine", 1.0, {4: 0.5, 9: 3.0}),
    "cycle": lambda o: o.linear_onecycle_schedule(20, 1.0),
    "cosine cycle": lambda o: o.cosine_onecycle_schedule(20, 1.0),
    "joined": lambda o: o.join_schedules(
        [o.constant_schedule(2.0), o.linear_schedule(1, 0, 5)], [6]
    ),
    "warm": lambda o: o.warmup_constant_schedule(0.1, 1.0, 5),
    "warm cosine": lambda o: o.warmup_cosine_decay_schedule(0.1, 1.0, 5, 20, 0.05),
    "warm exponential": lambda o: o.warmup_exponential_decay_schedule(
        0.1, 1.0, 5, 4, 0.5, transition_begin=2, end_value=0.2
    ),
    "restarts": lambda o: o.sgdr_schedule(
        [
            {"init_value": 0.1, "peak_value": 1.0, "decay_steps": 8, "warmup_steps": 3},
            {"init_value": 0.2, "peak_value": 0.5, "decay_steps": 9, "warmup_steps": 2},
        ]
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    """For Python's integers, and for those of a state, whose quotients optax has in float32."""
    ours, theirs = SCHEDULES[name](optim), SCHEDULES[name](optax)
    for i in range(30):
        np.testing.assert_allclose(ours(i), theirs(i), rtol=4 * SINGLE, atol=SINGLE)
        count = np.int32(i)
        np.testing.assert_allclose(
            ours(count), theirs(jnp.asarray(count)), rtol=4 * SINGLE, atol=SINGLE
        )


def run(o, tx, params, grads, **extra_args):
    """Return updates and states of all steps."""
    state, found = tx.init(params), []
    for g in grads:
        updates, state = tx.update(g, state, params, **extra_args)
        found.append((updates, state))
        params = o.apply_updates(params, updates)
    return found


LABELS = {"w": "x", "b": "y"}
CASES = {
    "masked": lambda o: o.masked(o.adam(0.1), {"w": True, "b": False}),
    "selective": lambda o: o.selective_transform(o.sgd(0.1), freeze_mask={"w": True, "b": False}),
    "partition": lambda o: o.partition({"x": o.sgd(0.1), "y": o.adam(0.1)}, LABELS),
    "named": lambda o: o.named_chain(("a", o.trace(0.9)), ("b", o.scale(-0.1))),
    "injected": lambda o: o.inject_hyperparams(o.adam)(lambda count: 0.1 / (1 + count), b1=0.8),
    "several": lambda o: o.MultiSteps(o.adam(0.1), 3, accumulator_dtype=np.float64),
    "sums": lambda o: o.MultiSteps(
        o.sgd(0.1), lambda step: step + 1, use_grad_mean=False, accumulator_dtype=np.float64
    ),
    "conditional": lambda o: o.conditionally_transform(o.sgd(0.1), lambda step: step % 2 == 0),
    "conditional mask": lambda o: o.conditionally_mask(o.sgd(0.1), lambda step: step % 3 == 0),
    "nonnegative": lambda o: o.chain(o.sgd(0.5), o.keep_params_nonnegative()),
    "frozen": lambda o: o.freeze({"w": True, "b": False}),
    "decayed": lambda o: o.add_decayed_weights(lambda count: 0.1 * count, {"w": True, "b": False}),
    "centralized": lambda o: o.centralize(),
    "normalized": lambda o: o.normalize_by_update_norm(2.0),
    "block rms": lambda o: o.clip_by_block_rms(0.3),
    "param norm": lambda o: o.scale_by_param_block_norm(),
    "param rms": lambda o: o.scale_by_param_block_rms(),
    "trust": lambda o: o.scale_by_trust_ratio(0.1, 0.5, 1e-3),
    "distance": lambda o: o.scale_by_distance_over_gradients(param_dtype=np.float64),
    "lion, smooth": lambda o: o.scale_by_lion(mode="smooth", smooth_beta=2.0),
    "lion, refined": lambda o: o.scale_by_lion(mode="refined"),
    "no squares": lambda o: o.scale_by_sm3(0.5, 0.9),
    "amsgrad": lambda o: o.scale_by_amsgrad(bias_correction_mu=False, bias_correction_nu=False),
    "novograd": lambda o: o.scale_by_novograd(eps_root=0.1, weight_decay=0.2),
    "monitored": lambda o: o.chain(o.snapshot("norm", o.tree.norm), o.sgd(0.1)),
    "zeros": lambda o: o.chain(o.zero_nans(), o.set_to_zero()),
}


@pytest.mark.parametrize("name", CASES)
def test_updates_and_states(name, rng):
    make = lambda: {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}
    params, grads = make(), [make() for _ in range(8)]
    ours = run(optim, CASES[name](optim), params, grads)
    theirs = run(optax, CASES[name](optax), *jax.tree.map(jnp.asarray, (params, grads)))
    for (updates, state), (expected, state_there) in zip(ours, theirs, strict=True):
        pairs = zip(fg.tree.leaves(updates), jax.tree.leaves(expected), strict=True)
        for x, y in pairs:
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-14)
        for x, y in zip(fg.tree.leaves(state), jax.tree.leaves(state_there), strict=True):
            assert np.asarray(x).dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-14)


TREE = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": (np.array([-0.25, 4.0]),)}
OTHER = {"w": np.array([[2.0, 1.0], [-1.0, 0.5]]), "b": (np.array([3.0, -8.0]),)}
TREES = {
    "add": (TREE, OTHER, TREE),
    "add_scale": (TREE, 0.5, OTHER),
    "allclose": (TREE, OTHER),
    "batch_shape": (TREE, (3,)),
    "bias_correction": (TREE, 0.9, 3),
    "cast": (TREE, np.float32),
    "clip": (TREE, -0.5, 2.0),
    "conj": (TREE,),
    "div": (TREE, OTHER),
    "full_like": (TREE, 7.0),
    "max": (TREE,),
    "min": (TREE,),
    "mul": (TREE, OTHER),
    "norm": (TREE,),
    "ones_like": (TREE,),
    "real": (TREE,),
    "scale": (0.5, TREE),
    "size": (TREE,),
    "sub": (TREE, OTHER),
    "sum": (TREE,),
    "update_infinity_moment": (TREE, OTHER, 0.9, 1e-3),
    "update_moment": (TREE, OTHER, 0.9, 3),
    "update_moment_per_elem_norm": (TREE, OTHER, 0.9, 2),
    "vdot": (TREE, OTHER),
    "where": (True, TREE, OTHER),
    "zeros_like": (TREE,),
}


@pytest.mark.parametrize("name", TREES)
def test_trees(name):
    args = TREES[name]
    found = getattr(optim.tree, name)(*args)
    as_jax = [a if name == "cast" else jax.tree.map(jnp.asarray, a) for a in args[1:]]
    if name == "batch_shape":
        as_jax = args[1:]
    expected = getattr(optax.tree, name)(jax.tree.map(jnp.asarray, args[0]), *as_jax)
    for x, y in zip(fg.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-15)


@pytest.mark.parametrize("ord", [None, 1, 2, np.inf, "inf"])
@pytest.mark.parametrize("squared", [False, True])
def test_norms(ord, squared):
    expected = optax.tree.norm(TREE, ord=ord, squared=squared)
    np.testing.assert_allclose(
        optim.tree.norm(TREE, ord=ord, squared=squared), expected, rtol=1e-15
    )


def test_clipping_of_examples(rng):
    grads = {"w": rng.normal(size=(5, 3, 4)), "b": rng.normal(size=(5, 2))}
    as_lists = [grads["b"], grads["w"]]
    for name, bound in (("global", 1.5), ("layer", 0.7)):
        ours = getattr(optim, f"per_example_{name}_norm_clip")(as_lists, bound)
        theirs = getattr(optax, f"per_example_{name}_norm_clip")(as_lists, bound)
        for x, y in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-15)


def test_running_means_of_parameters():
    for i in range(4):
        ours = optim.periodic_update(TREE, OTHER, i, 2), optim.incremental_update(TREE, OTHER, 0.3)
        as_jax = jax.tree.map(jnp.asarray, (TREE, OTHER))
        theirs = optax.periodic_update(*as_jax, i, 2), optax.incremental_update(*as_jax, 0.3)
        for x, y in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-15)


@pytest.mark.parametrize("x", [np.zeros(3), np.array([3.0, -4.0, 0.0]), np.array([1e-4, 0, 0])])
def test_safe_norms(x):
    for name in ("safe_norm", "safe_root_mean_squares"):
        ours, theirs = getattr(optim, name), getattr(optax, name)
        np.testing.assert_allclose(ours(x, 1e-3), theirs(x, 1e-3), rtol=1e-15)
        expected = jax.grad(lambda x, f=theirs: f(x, 1e-3))(x)
        np.testing.assert_allclose(fg.grad(lambda x, f=ours: f(x, 1e-3))(x), expected, rtol=1e-15)
    assert fnp.all(optim.safe_increment(np.int8(127)) == optax.safe_increment(jnp.int8(127)))
