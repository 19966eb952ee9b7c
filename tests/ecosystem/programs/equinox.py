"""Equinox: modules and filtered transforms; networks trained, states, loops with bounds."""

import functools

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import optax

KEY = jax.random.key(0)


def _data(shape=(64, 3)):
    x = jax.random.normal(jax.random.key(1), shape)
    return x, jnp.sin(x.reshape(shape[0], -1).sum(1, keepdims=True))


def mlp_is_trained():
    model = eqx.nn.MLP(3, 1, 16, 2, activation=jnp.tanh, key=KEY)
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_value_and_grad
    def loss(model, x, y):
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    @eqx.filter_jit
    def step(model, state, x, y):
        value, grads = loss(model, x, y)
        updates, state = optimizer.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, value

    values = []
    for _ in range(20):
        model, state, value = step(model, state, *_data())
        values.append(value)
    return values, eqx.filter(model, eqx.is_array)


class _ConvNet(eqx.Module):
    layers: list
    name: str = eqx.field(static=True)

    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.layers = [
            eqx.nn.Conv2d(1, 4, 3, key=a),
            eqx.nn.MaxPool2d(2, 2),
            jax.nn.relu,
            eqx.nn.Conv2d(4, 6, 3, padding=1, stride=2, key=b),
            jax.nn.gelu,
            jnp.ravel,
            eqx.nn.Linear(54, 5, key=c),
            jax.nn.log_softmax,
        ]
        self.name = "net"

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def convolutions():
    images = jax.random.normal(KEY, (8, 1, 12, 12))
    labels = jnp.arange(8) % 5
    model = _ConvNet(KEY)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def loss(model):
        return -jnp.mean(jnp.take_along_axis(jax.vmap(model)(images), labels[:, None], 1))

    values = []
    for _ in range(5):
        value, grads = loss(model)
        model = eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads))
        values.append(value)
    up = eqx.nn.ConvTranspose2d(1, 2, 3, stride=2, key=KEY)(images[0])
    pooled = eqx.nn.AvgPool1d(3, 2)(jnp.arange(8.0)[None]), eqx.nn.AdaptiveAvgPool2d(3)(images[0])
    return values, eqx.filter(model, eqx.is_array), up, pooled


class _Rnn(eqx.Module):
    cell: eqx.Module
    out: eqx.nn.Linear

    def __init__(self, kind, key):
        a, b = jax.random.split(key)
        self.cell = kind(2, 5, key=a)
        self.out = eqx.nn.Linear(5, 1, key=b)

    def __call__(self, xs):
        lstm = isinstance(self.cell, eqx.nn.LSTMCell)
        start = (jnp.zeros(5), jnp.zeros(5)) if lstm else jnp.zeros(5)
        last, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), start, xs)
        return self.out(last[0] if lstm else last)


def recurrent_by_scan():
    x = jax.random.normal(KEY, (6, 10, 2))
    loss = lambda model: jnp.mean(jax.vmap(model)(x) ** 2)
    models = [_Rnn(kind, KEY) for kind in (eqx.nn.GRUCell, eqx.nn.LSTMCell)]
    return [eqx.filter_jit(eqx.filter_value_and_grad(loss))(model) for model in models]


class _Normed(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    dropout: eqx.nn.Dropout

    def __init__(self, key):
        self.linear = eqx.nn.Linear(3, 4, key=key)
        self.norm = eqx.nn.BatchNorm(4, axis_name="batch", mode="batch")
        self.dropout = eqx.nn.Dropout(0.3)

    def __call__(self, x, state, key):
        x, state = self.norm(self.linear(x), state)
        return self.dropout(x, key=key), state


def batch_norm_state():
    model, state = eqx.nn.make_with_state(_Normed)(KEY)
    x, _ = _data()
    keys = jax.random.split(KEY, len(x))

    @eqx.filter_jit
    def step(model, state):
        def loss(model, state):
            batched = jax.vmap(model, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
            y, state = batched(x, state, keys)
            return jnp.sum(jnp.cos(y)), state

        (value, state), grads = eqx.filter_value_and_grad(loss, has_aux=True)(model, state)
        return eqx.apply_updates(model, jax.tree.map(lambda g: -0.01 * g, grads)), state, value

    for _ in range(3):
        model, state, value = step(model, state)
    frozen = eqx.nn.inference_mode(model)
    y, _ = jax.vmap(frozen, axis_name="batch", in_axes=(0, None, None), out_axes=(0, None))(
        x[:2], state, None
    )
    return value, jax.tree.leaves(state), y


def attention_and_norms():
    a, b = jax.random.split(KEY)
    x = jax.random.normal(b, (7, 8))
    attention = eqx.nn.MultiheadAttention(2, 8, key=a)
    mask = jnp.tril(jnp.ones((7, 7), bool))
    out = eqx.filter_jit(attention)(x, x, x, mask=mask)
    norms = [eqx.nn.LayerNorm(8), eqx.nn.RMSNorm(8), eqx.nn.GroupNorm(4, 8)]
    spectral, state = eqx.nn.make_with_state(eqx.nn.SpectralNorm)(
        eqx.nn.Linear(8, 3, key=a), "weight", key=b
    )
    rope = eqx.nn.RotaryPositionalEmbedding(4)(x.reshape(14, 4))
    embedded = jax.vmap(eqx.nn.Embedding(10, 4, key=a))(jnp.array([1, 3, 3]))
    return out, [jax.vmap(norm)(x) for norm in norms], spectral(x[0], state)[0], rope, embedded


def trees_and_filters():
    model = eqx.nn.MLP(2, "scalar", 4, 1, key=KEY)
    arrays, rest = eqx.partition(model, eqx.is_array)
    doubled = eqx.combine(jax.tree.map(lambda x: 2 * x, arrays), rest)
    changed = eqx.tree_at(lambda m: m.layers[0].bias, model, replace_fn=lambda b: b + 1)
    spec = eqx.tree_at(lambda t: t.layers[-1].weight, jax.tree.map(lambda _: False, model), True)
    train, fixed = eqx.partition(model, spec)
    x = jnp.array([0.5, -1.0])
    grads = eqx.filter_grad(lambda t: eqx.combine(t, fixed)(x))(train)
    shape = eqx.filter_eval_shape(model, x)
    many = eqx.filter_vmap(lambda key: eqx.nn.Linear(2, 3, key=key))(jax.random.split(KEY, 4))
    mapped = eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))(many, x)
    return (
        doubled(x), changed(x), eqx.filter(grads, eqx.is_array), shape.shape, shape.dtype.name, mapped,
        bool(eqx.tree_equal(model, model)), bool(eqx.tree_equal(model, doubled)),
        eqx.tree_pformat(model.layers[0]).count("weight"),
    )  # fmt: skip


def derivatives():
    x = jnp.array([0.3, 0.7])
    f = lambda x: jnp.sin(x[0]) * x[1] ** 3
    out, pull = eqx.filter_vjp(f, x)
    value, tangent = eqx.filter_jvp(
        lambda d: f(d["x"]) * d["n"], ({"x": x, "n": 2},), ({"x": x, "n": None},)
    )

    @eqx.filter_custom_vjp
    def clipped(x, scale):
        return x * scale

    @clipped.def_fwd
    def _(perturbed, x, scale):
        return x * scale, None

    @clipped.def_bwd
    def _(residuals, g, perturbed, x, scale):
        return jnp.clip(g * scale, -1, 1)

    return (
        out, pull(jnp.ones(()))[0], value, tangent, eqx.filter_hessian(f)(x), eqx.filter_jacfwd(f)(x),
        eqx.filter_grad(lambda x: jnp.sum(clipped(x, 3.0)))(x),
        eqx.filter_closure_convert(f, x)(x), eqx.filter_checkpoint(f)(x),
    )  # fmt: skip


def loops():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, kind):
        step = lambda c: (c[0] + 1, c[1] * jnp.cos(x * c[0]))
        return eqxi.while_loop(
            lambda c: c[0] < 7, step, (jnp.asarray(0), x), max_steps=16, kind=kind
        )[1]

    scanned = lambda x: eqxi.scan(
        lambda c, v: (c * jnp.sin(v) + 1, c), x, jnp.arange(5.0), kind="checkpointed"
    )
    kinds = ("lax", "checkpointed", "bounded")
    return (
        [power(jnp.asarray(1.3), kind) for kind in kinds],
        [jax.grad(power)(jnp.asarray(1.3), kind) for kind in kinds[1:]],
        scanned(jnp.asarray(2.0)), jax.grad(lambda x: scanned(x)[0])(jnp.asarray(2.0)),
    )  # fmt: skip


def errors():
    @eqx.filter_jit
    def root(x):
        return jnp.sqrt(eqx.error_if(x, x < 0, "negative number"))

    good = root(jnp.asarray(4.0))
    try:
        root(jnp.asarray(-1.0))
    except Exception as error:
        return good, "negative number" in str(error)
    return good, False


def enumerations_and_printing():
    class Result(eqx.Enumeration):
        good = "fine"
        bad = "not fine"

    @eqx.filter_jit
    def choose(x):
        return Result.where(x > 0, Result.good, Result.bad)

    results = [choose(jnp.asarray(v)) for v in (1.0, -1.0)]
    return [bool(r == Result.good) for r in results], repr(eqx.nn.MLP(1, 1, 1, 1, key=KEY)).count(
        "f64["
    )
