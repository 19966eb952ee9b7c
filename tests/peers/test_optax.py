"""fungrad.optim against optax: the same gradients, twenty steps."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

from fungrad import optim  # noqa: E402

CASES = {
    "sgd": lambda o: o.sgd(0.1),
    "momentum": lambda o: o.sgd(0.1, momentum=0.9),
    "nesterov": lambda o: o.sgd(0.1, momentum=0.9, nesterov=True),
    "rmsprop centered": lambda o: o.rmsprop(0.1, centered=True, momentum=0.5),
    "rmsprop corrected": lambda o: o.rmsprop(0.1, eps_in_sqrt=False, bias_correction=True),
    "adamw masked": lambda o: o.adamw(0.1, weight_decay=0.3, mask={"w": True, "b": False}),
    "clipped": lambda o: o.chain(o.clip_by_global_norm(0.5), o.adam(0.1)),
    "clip": lambda o: o.chain(o.clip(0.2), o.sgd(0.1)),
    "adaptive clip": lambda o: o.chain(o.adaptive_grad_clip(0.1), o.sgd(0.1)),
    "ema": lambda o: o.chain(o.ema(0.8), o.scale(-0.1)),
    "every": lambda o: o.chain(o.sgd(0.1), o.apply_every(3)),
    "cosine": lambda o: o.adam(o.warmup_cosine_decay_schedule(0.0, 0.2, 4, 15)),
    "parts": lambda o: o.partition({"x": o.adam(0.1), "y": o.sgd(0.2)}, {"w": "x", "b": "y"}),
    "finite": lambda o: o.apply_if_finite(o.adam(0.1), 3),
    "flat": lambda o: o.flatten(o.adam(0.1)),
    "optimistic": lambda o: o.chain(o.scale_by_optimistic_gradient(), o.scale(-0.1)),
    **{
        name: lambda o, name=name: getattr(o, name)(0.1)
        for name in [
            "adabelief",
            "adadelta",
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
            "sm3",
            "yogi",
        ]
    },
}
RTOL = {"float32": 2e-5, "float64": 1e-12}


def steps(tx, apply_updates, params, grads):
    state = tx.init(params)
    for g in grads:
        updates, state = tx.update(g, state, params)
        params = apply_updates(params, updates)
    return params


def problem(rng, dtype):
    params = {"w": rng.normal(size=(3, 4)).astype(dtype), "b": rng.normal(size=4).astype(dtype)}
    grads = [
        {k: rng.normal(size=p.shape).astype(dtype) for k, p in params.items()} for _ in range(20)
    ]
    return params, grads


def assert_equal(found, expected, rtol):
    for k, x in expected.items():
        assert found[k].dtype == x.dtype
        np.testing.assert_allclose(found[k], x, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", RTOL)
@pytest.mark.parametrize("name", CASES)
def test_twenty_steps(name, dtype, rng):
    params, grads = problem(rng, dtype)
    found = steps(CASES[name](optim), optim.apply_updates, params, grads)
    as_jax = jax.tree.map(jax.numpy.asarray, (params, grads))
    rtol = max(RTOL[dtype], 1e-7 if name == "cosine" else 0.0)  # optax divides counts in float32
    assert_equal(found, steps(CASES[name](optax), optax.apply_updates, *as_jax), rtol)


@pytest.mark.parametrize("dtype", RTOL)
def test_adafactor(dtype, rng):
    """optax computes how much is kept in float32, whatever the parameters are."""
    params, grads = problem(rng, dtype)
    as_jax = jax.tree.map(jax.numpy.asarray, (params, grads))
    for least in (2, 128):
        found, expected = (
            steps(o.adafactor(0.1, min_dim_size_to_factor=least), o.apply_updates, *data)
            for o, data in ((optim, (params, grads)), (optax, as_jax))
        )
        assert_equal(found, expected, {"float32": 2e-5, "float64": 1e-6}[dtype])
