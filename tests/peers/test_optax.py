"""fungrad.optim against optax: its names, and the numbers of twenty steps with the same gradients."""

import inspect

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
optax = pytest.importorskip("optax")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad import optim  # noqa: E402
from fungrad.optim.exclusions import EXCLUDED  # noqa: E402


def public(module):
    return [name for name in dir(module) if name[0] != "_"]


LOSSES = {*public(optax.losses), "losses"} & {*public(optax)}
"""These are written in fungrad.nn."""


@pytest.mark.parametrize("name", sorted({*public(optax)} - LOSSES))
def test_name_is_there_or_excluded_with_a_reason(name):
    assert hasattr(optim, name) != (name in EXCLUDED)


def test_no_reason_is_given_for_a_name_that_optax_does_not_have():
    assert sorted(EXCLUDED.keys() - {*public(optax)}) == []


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_are_reached(name):
    assert hasattr(optim, name)


@pytest.mark.parametrize(
    "module", ["perturbations", "projections", "schedules", "transforms", "tree"]
)
def test_names_of_modules(module):
    ours, theirs = getattr(optim, module), getattr(optax, module)
    assert [name for name in public(theirs) if not hasattr(ours, name)] == []


UNLIKE = {
    "add_noise": {"seed"},
    "noisy_sgd": {"seed"},
    "power_iteration": {"precision"},
    "scale_by_backtracking_linesearch": {"verbose"},
}
"""Parameters of optax's that are not here: deprecated ones, JAX's precision, what only prints."""


@pytest.mark.parametrize("name", sorted({*public(optax)} - LOSSES - EXCLUDED.keys()))
def test_parameters_have_the_same_names_in_the_same_order(name):
    ours, theirs = getattr(optim, name), getattr(optax, name)
    if not inspect.isfunction(ours):
        assert not inspect.isfunction(theirs)
        return
    expected = [p for p in inspect.signature(theirs).parameters if p not in UNLIKE.get(name, ())]
    assert [*inspect.signature(ours).parameters] == expected


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
    "optimistic": lambda o: o.chain(o.scale_by_optimistic_gradient(0.7, 0.4), o.scale(-0.1)),
    "fromage by a schedule": lambda o: o.fromage(lambda count: 0.1 * 0.9**count),
    "rprop within bounds": lambda o: o.rprop(0.1, min_step_size=0.08, max_step_size=0.11),
    "noisy": lambda o: o.noisy_sgd(0.1, key=0),
    "noisy by another key": lambda o: o.noisy_sgd(0.1, 1.0, 0.9, key=7),
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
            "fromage",
            "lamb",
            "lars",
            "lion",
            "nadam",
            "nadamw",
            "novograd",
            "optimistic_adam_v2",
            "optimistic_gradient_descent",
            "radam",
            "rmsprop",
            "rprop",
            "sign_sgd",
            "signum",
            "sm3",
            "yogi",
        ]
    },
}
EPS = {dtype: float(np.finfo(dtype).eps) for dtype in ("float32", "float64", "complex128")}
REAL = ["float32", "float64"]
REAL_ALONE = {"clip", "rprop", "rprop within bounds", "sm3"}
ROUNDINGS = {"amsgrad": 32, "radam": 1000}
"""How many there may be, other than 8. Both show those of b2**t, from which they subtract 1, as radam does twice."""
IN_FLOAT32 = EPS["float32"] / 2
"""optax computes this in float32, whatever the parameters are: schedules divide counts, adafactor takes powers."""


def steps(tx, apply_updates, params, grads):
    state = tx.init(params)
    for g in grads:
        updates, state = tx.update(g, state, params)
        params = apply_updates(params, updates)
    return params


def problem(rng, dtype):
    def numbers(shape):
        x = rng.normal(size=shape)
        return (x + 1j * rng.normal(size=shape) if dtype == "complex128" else x).astype(dtype)

    params, *grads = ({"w": numbers((3, 4)), "b": numbers(4)} for _ in range(21))
    return params, grads


def assert_equal(found, expected, rtol):
    for k, x in expected.items():
        assert found[k].dtype == x.dtype
        np.testing.assert_allclose(found[k], x, rtol=rtol, atol=rtol)


def assert_same_steps(make, dtype, rng, rtol):
    params, grads = problem(rng, dtype)
    as_jax = jax.tree.map(jnp.asarray, (params, grads))
    found = steps(make(optim), optim.apply_updates, params, grads)
    assert_equal(found, steps(make(optax), optax.apply_updates, *as_jax), rtol)


TWENTY = [(name, dtype) for name in CASES for dtype in REAL]
TWENTY += [(name, "complex128") for name in CASES if name not in REAL_ALONE]


@pytest.mark.parametrize(("name", "dtype"), TWENTY)
def test_twenty_steps(name, dtype, rng):
    roundings = ROUNDINGS.get(name, 8) if dtype != "float32" else 8
    rtol = max(roundings * EPS[dtype], IN_FLOAT32 if name == "cosine" else 0)
    assert_same_steps(CASES[name], dtype, rng, rtol)


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("least", [2, 128])
def test_adafactor(least, dtype, rng):
    make = lambda o: o.adafactor(0.1, min_dim_size_to_factor=least)
    assert_same_steps(make, dtype, rng, max(8 * EPS[dtype], IN_FLOAT32))


def test_lookahead(rng):
    params, grads = problem(rng, "float64")
    found = []
    for o, data in ((optim, (params, grads)), (optax, jax.tree.map(jnp.asarray, (params, grads)))):
        for reset in (False, True):
            tx = o.lookahead(o.adam(0.1), sync_period=3, slow_step_size=0.4, reset_state=reset)
            start = o.LookaheadParams.init_synced(data[0])
            found.append(steps(tx, o.apply_updates, start, data[1]))
    for ours, theirs in zip(found[:2], found[2:], strict=True):
        assert_equal(ours.fast, theirs.fast, 8 * EPS["float64"])
        assert_equal(ours.slow, theirs.slow, 8 * EPS["float64"])


def test_polyak(rng):
    params, grads = problem(rng, "float64")
    values = [*rng.normal(size=20)]
    for make in (lambda o: o.polyak_sgd(), lambda o: o.polyak_sgd(0.3, 0.5, -1.0, 0.1, "sps+")):
        ends = []
        for o, (p, gs) in (
            (optim, (params, grads)),
            (optax, jax.tree.map(jnp.asarray, (params, grads))),
        ):
            tx = make(o)
            state = tx.init(p)
            for g, value in zip(gs, values, strict=True):
                updates, state = tx.update(g, state, p, value=value)
                p = o.apply_updates(p, updates)
            ends.append(p)
        assert_equal(*ends, 8 * EPS["float64"])


def rosenbrock(xp):
    def loss(p):
        x = xp.concatenate([p["w"].ravel(), p["b"]])
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    return loss


def barrier(xp):
    """NaN outside of its domain, which line searches meet."""
    return lambda p: (p["w"] ** 2).sum() - xp.log(p["w"]).sum() + (p["b"] ** 4).sum()


SEARCHES = {
    "lbfgs": lambda o: o.lbfgs(),
    "lbfgs of little memory": lambda o: o.lbfgs(memory_size=2),
    "lbfgs without scale": lambda o: o.lbfgs(scale_init_precond=False),
    "lbfgs without search": lambda o: o.lbfgs(0.001, linesearch=None),
    "lbfgs, backtracking": lambda o: o.lbfgs(
        linesearch=o.scale_by_backtracking_linesearch(20, store_grad=True)
    ),
    "zoom": lambda o: o.chain(o.sgd(1.0), o.scale_by_zoom_linesearch(20)),
    "exact": lambda o: o.chain(
        o.sgd(1.0),
        o.scale_by_zoom_linesearch(
            30, initial_guess_strategy="one", approx_dec_rtol=None, curv_rtol=0.1
        ),
    ),
    "bounded": lambda o: o.chain(
        o.sgd(0.01), o.scale_by_zoom_linesearch(30, max_learning_rate=0.5, tol=1e-3)
    ),
    "backtracking": lambda o: o.chain(o.sgd(1.0), o.scale_by_backtracking_linesearch(40)),
    "backtracking of adam": lambda o: o.chain(
        o.adam(0.1),
        o.scale_by_backtracking_linesearch(
            4, increase_factor=np.inf, decrease_factor=0.5, rtol=1e-3
        ),
    ),
}


def searched(o, lib, loss, params, count):
    """Return the parameters after each step, and how many points were tried."""
    tx = o(optim if lib is fg else optax)
    update = lib.jit(lambda g, s, p, value: tx.update(g, s, p, value=value, grad=g, value_fn=loss))
    value_and_grad, state, seen = lib.jit(lib.value_and_grad(loss)), tx.init(params), []
    for _ in range(count):
        value, grad = value_and_grad(params)
        updates, state = update(grad, state, params, value)
        params = optim.apply_updates(params, updates)
        seen.append((params, optim.tree.get(state, "num_linesearch_steps")))
    return seen


@pytest.mark.parametrize("make_loss", [rosenbrock, barrier])
@pytest.mark.parametrize("name", SEARCHES)
def test_line_searches(name, make_loss):
    """In float64 alone: with float32, optax computes steps in float64 if JAX has it, or fails."""
    params = {"w": np.array([[0.3, 1.0], [0.4, 2.0]]), "b": np.array([0.5, -0.7])}
    as_jax = jax.tree.map(jnp.asarray, params)
    with np.errstate(invalid="ignore", divide="ignore"):  # logarithms that searches step out to
        ours = searched(SEARCHES[name], fg, make_loss(fnp), params, 10)
    theirs = searched(SEARCHES[name], jax, make_loss(jnp), as_jax, 10)
    for (found, tried), (expected, tried_there) in zip(ours, theirs, strict=True):
        assert tried == tried_there
        assert_equal(found, expected, 1e-11)


PROJECTIONS = {
    "projection_non_negative": (),
    "projection_box": ({"w": -0.5, "b": -0.1}, {"w": 0.5, "b": np.ones(4)}),
    "projection_simplex": (2.5,),
    "projection_l1_ball": (3.0,),
    "projection_l1_sphere": (3.0,),
    "projection_l2_ball": (1.5,),
    "projection_l2_sphere": (1.5,),
    "projection_linf_ball": (0.7,),
    "projection_vector": ({"w": np.ones((3, 4)), "b": np.arange(4.0)},),
    "projection_hyperplane": ({"w": np.ones((3, 4)), "b": np.arange(4.0)}, 2.0),
    "projection_halfspace": ({"w": np.ones((3, 4)), "b": np.arange(4.0)}, 0.5),
}


@pytest.mark.parametrize("size", [0.01, 1.0])
@pytest.mark.parametrize("name", PROJECTIONS)
def test_projections(name, size, rng):
    """Values and derivatives, of points within and outside of the set."""
    params, (weights, *_) = problem(rng, "float64")
    params = {k: size * x for k, x in params.items()}

    def along(o, p):
        found = getattr(o.projections, name)(p, *PROJECTIONS[name])
        return sum((found[k] * weights[k]).sum() for k in found), found

    ours = fg.grad(lambda p: along(optim, p), has_aux=True)(params)
    theirs = jax.grad(lambda p: along(optax, p), has_aux=True)(params)
    for found, expected in zip(ours, theirs, strict=True):
        assert_equal(found, expected, 1e-13)


def test_projection_onto_a_cube():
    x = np.linspace(-1.0, 3.0, 9)
    np.testing.assert_array_equal(
        optim.projections.projection_hypercube(x, 1.5),
        optax.projections.projection_hypercube(x, 1.5),
    )


@pytest.mark.parametrize("baseline", [True, False])
@pytest.mark.parametrize("noise", ["Gumbel", "Normal"])
def test_perturbations(noise, baseline):
    x = {"a": np.array([0.1, -0.2, 0.15]), "b": np.array(0.3)}
    found = []
    for lib, o, xp in ((fg, optim, fnp), (jax, optax, jnp)):
        kind = getattr(o.perturbations, noise)()
        f = lambda p, xp=xp: xp.where(p["a"] > p["b"], 1.0, 0.0) + (p["a"] > 0.1)
        mean = o.perturbations.make_perturbed_fun(f, 50, 0.2, kind, baseline)
        key = lib.random.key(3)
        found.append((mean(key, x), lib.jacrev(lambda p, m=mean, k=key: m(k, p))(x)))
    for a, b in zip(fg.tree.leaves(found[0]), jax.tree.leaves(found[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_linear_algebra(rng):
    a = rng.normal(size=(5, 5))
    a, b = a @ a.T, rng.normal(size=(5, 2))
    for ours, theirs in zip(optim.power_iteration(a), optax.power_iteration(a), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    for right in (b, b[:, 0]):
        np.testing.assert_allclose(
            optim.nnls(a, right, 50), optax.nnls(a, right, 50), rtol=1e-12, atol=1e-15
        )


@pytest.mark.parametrize("scale", [0.0, 0.25, 1.0])
def test_gradients_are_scaled(scale):
    x = np.array([2.0, -1.0])
    ours, theirs = (
        lib.grad(lambda x, o=o: (o.scale_gradient({"x": x}, scale)["x"] ** 3).sum())(x)
        for lib, o in ((fg, optim), (jax, optax))
    )
    np.testing.assert_array_equal(ours, theirs)


def test_random_trees():
    like = {"a": np.ones((2, 3), np.float32), "b": [np.ones(2)]}
    as_jax = jax.tree.map(jnp.asarray, like)
    ours = optim.tree.random_like(fg.random.key(3), like)
    theirs = optax.tree.random_like(jax.random.key(3), as_jax)
    for x, y in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=8 * np.finfo(x.dtype).eps)
