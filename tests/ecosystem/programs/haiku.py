"""Haiku: transformed functions, BatchNorm's state, recurrent networks, lifted transforms."""

import haiku as hk
import jax
import jax.numpy as jnp

KEY = jax.random.PRNGKey(0)
X = jax.random.normal(KEY, (16, 4))


def mlp_is_trained():
    f = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 8, 1], activation=jnp.tanh)(x)))
    params = f.init(KEY, X)
    loss = lambda p: jnp.mean((f.apply(p, X) - X.sum(1, keepdims=True)) ** 2)

    @jax.jit
    def step(p):
        value, grads = jax.value_and_grad(loss)(p)
        return jax.tree.map(lambda p, g: p - 0.05 * g, p, grads), value

    values = []
    for _ in range(15):
        params, value = step(params)
        values.append(value)
    return values, params


def batch_norm_state():
    def net(x, training):
        x = hk.Linear(5)(x)
        x = hk.BatchNorm(True, True, 0.9)(x, training)
        return hk.dropout(hk.next_rng_key(), 0.5, x) if training else x

    f = hk.transform_with_state(net)
    params, state = f.init(KEY, X, True)
    step = jax.jit(lambda p, s, k: f.apply(p, s, k, X, True))
    for i in range(4):
        y, state = step(params, state, jax.random.PRNGKey(i))
    plain = f.init(KEY, X, True)[1]  # un-jitted: the state must not be changed in place
    for i in range(4):
        _, plain = f.apply(params, plain, jax.random.PRNGKey(i), X, True)
    return y, state, plain, f.apply(params, state, None, X, False)[0]


def recurrent():
    xs = jax.random.normal(KEY, (7, 3, 4))

    def net(xs, kind):
        core = kind(5)
        ys, last = hk.dynamic_unroll(core, xs, core.initial_state(3))
        static, _ = hk.static_unroll(core, xs[:2], core.initial_state(3))
        return hk.BatchApply(hk.Linear(1))(ys), last, static

    found = []
    for kind in (hk.LSTM, hk.GRU, hk.VanillaRNN):
        f = hk.without_apply_rng(hk.transform(lambda xs, kind=kind: net(xs, kind)))
        params = f.init(KEY, xs)
        grads = jax.jit(jax.grad(lambda p, f=f: jnp.sum(f.apply(p, xs)[0] ** 2)))(params)
        found.append((f.apply(params, xs), grads))
    return found


def convolutions():
    x = jax.random.normal(KEY, (2, 8, 8, 3))

    def net(x):
        y = jax.nn.relu(hk.Conv2D(4, 3, stride=2)(x))
        z = hk.Conv2DTranspose(2, 3, stride=2)(y)
        w = hk.SeparableDepthwiseConv2D(2, 3)(x)
        pooled = hk.max_pool(y, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"), hk.avg_pool(y, 2, 2, "VALID")
        return hk.Flatten()(y), z, w, pooled, hk.Conv1D(2, 3)(x[:, 0])

    f = hk.without_apply_rng(hk.transform(net))
    params = f.init(KEY, x)
    return f.apply(params, x), jax.grad(lambda p: jnp.sum(f.apply(p, x)[1] ** 2))(params)


def residual_network():
    f = hk.transform_with_state(lambda x, t: hk.nets.ResNet([1, 1, 1, 1], 3, channels_per_group=[4, 4, 8, 8],
                                                            bottleneck=False)(x, t))  # fmt: skip
    x = jax.random.normal(KEY, (2, 16, 16, 3))
    params, state = f.init(KEY, x, True)
    y, state = jax.jit(f.apply, static_argnums=4)(params, state, None, x, True)
    return y, jax.tree.map(jnp.sum, state), hk.data_structures.tree_size(params)


def attention_and_norms():
    x = jax.random.normal(KEY, (2, 5, 8))

    def net(x):
        y = hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling(1.0))(x, x, x)
        y = hk.LayerNorm(-1, True, True)(y + x)
        return (
            y,
            hk.RMSNorm(-1)(y),
            hk.GroupNorm(4)(y),
            hk.InstanceNorm(True, True)(y),
            hk.Embed(6, 3)(jnp.arange(4)),
        )

    f = hk.without_apply_rng(hk.transform(net))
    params = f.init(KEY, x)
    return jax.jit(f.apply)(params, x), jax.tree.map(jnp.shape, params) and len(params)


class _Counter(hk.Module):
    def __call__(self, x):
        w = hk.get_parameter("w", x.shape[-1:], init=hk.initializers.TruncatedNormal(0.1))
        n = hk.get_state("n", (), jnp.int32, init=jnp.zeros)
        hk.set_state("n", n + 1)
        ema = hk.ExponentialMovingAverage(0.9)(x @ w)
        return x * w + n, ema


def modules_and_state():
    f = hk.transform_with_state(lambda x: _Counter(name="mine")(x))
    params, state = f.init(KEY, X)
    for _ in range(3):
        y, state = f.apply(params, state, None, X)
    small, large = hk.data_structures.partition(lambda m, n, v: n == "w", params)
    return y, state, small, len(large), hk.data_structures.merge(small, large)


def lifted_transforms():
    def net(x):
        stack = hk.experimental.layer_stack(3)(lambda x: jnp.tanh(hk.Linear(4)(x)))
        x = stack(x)
        step = hk.Linear(4, name="step")
        step(x)
        y, _ = hk.scan(lambda c, v: (c + step(v), None), jnp.zeros(4), x)
        z = hk.vmap(hk.Linear(2), split_rng=False)(x)
        w = hk.cond(y[0] > 0, lambda v: 2 * v, lambda v: -v, y)
        return y, z, w, hk.remat(hk.Linear(2))(x), hk.fori_loop(0, 3, lambda i, v: v * 2, y)

    f = hk.transform(net)
    params = f.init(KEY, X)
    return f.apply(params, KEY, X), jax.grad(lambda p: jnp.sum(f.apply(p, KEY, X)[0]))(params)


def random_keys():
    def net():
        keys = hk.PRNGSequence(7)
        a, b = jax.random.normal(next(keys)), jax.random.normal(next(keys))
        return (
            a,
            b,
            jax.random.uniform(hk.next_rng_key(), (2,)),
            [jax.random.normal(k) for k in hk.next_rng_keys(2)],
        )

    f = hk.transform(net)
    return f.apply(f.init(KEY), jax.random.PRNGKey(3))
