"""Optax: chains, schedules, twenty optimizers, L-BFGS, losses."""

import jax
import jax.numpy as jnp
import optax

X = jax.random.normal(jax.random.key(0), (32, 4))
Y = X @ jnp.array([1.0, -2.0, 0.5, 0.0]) + 0.3
NAMES = [
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
    "noisy_sgd",
    "novograd",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
    "sign_sgd",
    "sm3",
    "yogi",
]


def _start():
    return {"w": jnp.full(4, 0.1), "b": jnp.zeros(1)}


def _loss(p):
    return jnp.mean((X @ p["w"] + p["b"] - Y) ** 2)


def _minimized(optimizer, steps=10):
    @jax.jit
    def step(params, state):
        value, grads = jax.value_and_grad(_loss)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    params, values = _start(), []
    state = optimizer.init(params)
    for _ in range(steps):
        params, state, value = step(params, state)
        values.append(value)
    return params, values


def optimizers():
    return {name: _minimized(getattr(optax, name)(1e-2)) for name in NAMES}


def chain_with_schedule():
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 20)
    return _minimized(
        optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.scale_by_adam(),
            optax.add_decayed_weights(1e-3),
            optax.scale_by_learning_rate(schedule),
        ),
        20,
    )


def schedules():
    steps = jnp.arange(0, 40, 3)
    made = {
        "cosine": optax.cosine_decay_schedule(1.0, 30, 0.1),
        "exponential": optax.exponential_decay(1.0, 10, 0.5, staircase=True),
        "polynomial": optax.polynomial_schedule(1.0, 0.1, 2, 25),
        "piecewise": optax.piecewise_constant_schedule(1.0, {10: 0.5, 20: 0.1}),
        "onecycle": optax.cosine_onecycle_schedule(30, 1.0),
        "sgdr": optax.sgdr_schedule(
            [
                {
                    "init_value": 0.0,
                    "peak_value": 1.0,
                    "decay_steps": 10,
                    "warmup_steps": 3,
                    "end_value": 0.1,
                }
            ]
            * 2
        ),
        "joined": optax.join_schedules(
            [optax.linear_schedule(0.0, 1.0, 10), optax.constant_schedule(0.5)], [12]
        ),
    }
    return {name: jax.vmap(schedule)(steps) for name, schedule in made.items()}


def masked_and_multi_transform():
    optimizer = optax.multi_transform(
        {"fast": optax.adam(0.1), "slow": optax.sgd(0.01, momentum=0.9, nesterov=True)},
        {"w": "fast", "b": "slow"},
    )
    decayed = optax.chain(
        optax.masked(optax.add_decayed_weights(0.1), {"w": True, "b": False}), optax.sgd(0.1)
    )
    return _minimized(optimizer), _minimized(decayed)


def wrappers():
    accumulated = optax.MultiSteps(optax.adam(0.1), every_k_schedule=3)
    finite = optax.apply_if_finite(optax.sgd(0.1), 3)
    ahead = optax.lookahead(optax.sgd(0.1), 5, 0.5)
    params = optax.LookaheadParams.init_synced(_start())
    state = ahead.init(params)
    for _ in range(6):
        grads = jax.grad(_loss)(params.fast)
        updates, state = ahead.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    injected = optax.inject_hyperparams(optax.adamw)(
        learning_rate=optax.linear_schedule(0.1, 0.0, 10)
    )
    ema = optax.ema(0.9)
    averaged, _ = ema.update(_start(), ema.init(_start()))
    return (
        _minimized(accumulated.gradient_transformation()),
        _minimized(finite),
        params,
        _minimized(injected),
        averaged,
    )


def lbfgs():
    optimizer = optax.lbfgs()
    rosenbrock = lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    value_and_grad = optax.value_and_grad_from_state(rosenbrock)

    @jax.jit
    def step(x, state):
        value, grad = value_and_grad(x, state=state)
        updates, state = optimizer.update(
            grad, state, x, value=value, grad=grad, value_fn=rosenbrock
        )
        return optax.apply_updates(x, updates), state, value

    x = jnp.zeros(4)
    state = optimizer.init(x)
    values = []
    for _ in range(12):
        x, state, value = step(x, state)
        values.append(value)
    return x, values


def line_search_and_polyak():
    search = optax.chain(
        optax.sgd(1.0), optax.scale_by_backtracking_linesearch(15, store_grad=True)
    )
    params = _start()
    state = search.init(params)
    for _ in range(5):
        value, grad = optax.value_and_grad_from_state(_loss)(params, state=state)
        updates, state = search.update(grad, state, params, value=value, grad=grad, value_fn=_loss)
        params = optax.apply_updates(params, updates)
    return params


def losses():
    logits = jax.random.normal(jax.random.key(1), (6, 5))
    labels = jnp.array([0, 1, 2, 3, 4, 0])
    hot = jax.nn.one_hot(labels, 5)
    targets = jax.random.normal(jax.random.key(2), (6, 5))
    gradients = {
        f.__name__: jax.value_and_grad(lambda x, f=f, y=y: jnp.sum(f(x, y)))(logits)
        for f, y in [
            (optax.softmax_cross_entropy, hot),
            (optax.softmax_cross_entropy_with_integer_labels, labels),
            (optax.sigmoid_binary_cross_entropy, hot),
            (optax.sigmoid_focal_loss, hot),
            (optax.losses.poly_loss_cross_entropy, hot),
            (optax.hinge_loss, 2 * hot - 1),
            (optax.l2_loss, targets),
            (optax.huber_loss, targets),
            (optax.log_cosh, targets),
            (optax.cosine_distance, targets),
            (optax.cosine_similarity, targets),
            (optax.squared_error, targets),
            (optax.kl_divergence, jax.nn.softmax(targets)),
        ]
    }
    padded = jnp.zeros((2, 9))
    ctc = optax.ctc_loss(
        jax.random.normal(jax.random.key(3), (2, 9, 4)),
        padded,
        jnp.array([[1, 2, 3], [2, 2, 0]]),
        jnp.array([[0.0, 0, 0], [0, 0, 1]]),
    )
    return gradients, ctc


def tree_utilities():
    tree = _start()
    other = jax.tree.map(lambda x: x + 1, tree)
    noise = optax.tree_utils.tree_random_like(jax.random.key(4), tree)
    return (
        optax.global_norm(tree),
        optax.tree_utils.tree_add_scale(tree, 2.0, other),
        noise,
        optax.tree_utils.tree_vdot(tree, other),
        optax.incremental_update(tree, other, 0.1),
        optax.projections.projection_simplex(jnp.array([0.3, 1.2, -0.4])),
        optax.projections.projection_l1_ball(jnp.array([0.3, 1.2, -0.4]), 1.0),
    )


def sharpness_and_privacy():
    sam = optax.contrib.sam(
        optax.sgd(0.05), optax.chain(optax.contrib.normalize(), optax.sgd(0.02))
    )
    private = optax.contrib.dpsgd(0.1, 1.0, 0.5, 5)
    per_example = jax.vmap(
        jax.grad(lambda p, x, y: jnp.sum((x @ p["w"] + p["b"] - y) ** 2)), (None, 0, 0)
    )
    params = _start()
    updates, _ = private.update(per_example(params, X, Y), private.init(params), params)
    schedule_free = optax.contrib.schedule_free_adamw(0.1, warmup_steps=3)
    return (
        _minimized(sam),
        updates,
        _minimized(schedule_free),
        _minimized(optax.contrib.prodigy(1.0)),
    )
