"""Flax linen: dense and convolutional networks, BatchNorm, dropout, recurrent cells, attention."""

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state

KEY = jax.random.key(0)


class _Mlp(nn.Module):
    widths: tuple

    @nn.compact
    def __call__(self, x):
        for width in self.widths[:-1]:
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(self.widths[-1], kernel_init=nn.initializers.orthogonal())(x)


def mlp_is_trained():
    x = jax.random.normal(KEY, (32, 3))
    y = jnp.sin(x.sum(1, keepdims=True))
    model = _Mlp((16, 16, 1))
    state = train_state.TrainState.create(
        apply_fn=model.apply, params=model.init(KEY, x)["params"], tx=optax.adam(1e-2)
    )

    @jax.jit
    def step(state):
        loss = lambda p: jnp.mean((state.apply_fn({"params": p}, x) - y) ** 2)
        value, grads = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=grads), value

    values = []
    for _ in range(15):
        state, value = step(state)
        values.append(value)
    return values, state.params


class _ConvNet(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.max_pool(nn.relu(x), (2, 2), (2, 2))
        x = nn.Conv(6, (3, 3), strides=2, padding="VALID", feature_group_count=2)(x)
        x = nn.avg_pool(nn.gelu(x), (2, 2))
        x = nn.Dropout(0.4, deterministic=not train)(x.reshape(len(x), -1))
        return nn.log_softmax(nn.Dense(5)(x))


def convolution_batch_norm_dropout():
    x = jax.random.normal(KEY, (8, 10, 10, 2))
    labels = jnp.arange(8) % 5
    model = _ConvNet()
    variables = model.init(KEY, x, False)

    @jax.jit
    def step(params, stats, key):
        def loss(params):
            y, changed = model.apply(
                {"params": params, "batch_stats": stats},
                x,
                True,
                rngs={"dropout": key},
                mutable=["batch_stats"],
            )
            return -jnp.mean(jnp.take_along_axis(y, labels[:, None], 1)), changed["batch_stats"]

        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), stats, value

    params, stats = variables["params"], variables["batch_stats"]
    values = []
    for i in range(4):
        params, stats, value = step(params, stats, jax.random.key(i))
        values.append(value)
    return values, stats, params, model.apply({"params": params, "batch_stats": stats}, x, False)


def recurrent():
    x = jax.random.normal(
        KEY, (3, 6, 4), jnp.float32
    )  # the carries of flax's cells are of single precision
    found = []
    for cell in (nn.LSTMCell(5), nn.GRUCell(5), nn.SimpleCell(5), nn.OptimizedLSTMCell(5)):
        rnn = nn.RNN(cell)
        variables = rnn.init(KEY, x)
        found.append(jax.jit(jax.grad(lambda v, rnn=rnn: jnp.sum(rnn.apply(v, x) ** 2)))(variables))
    both = nn.Bidirectional(nn.RNN(nn.GRUCell(3)), nn.RNN(nn.GRUCell(3)))
    return found, both.init_with_output(KEY, x)[0]


def attention_and_norms():
    x = jax.random.normal(KEY, (2, 5, 8))
    layers = {
        "attention": nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8),
        "layer": nn.LayerNorm(), "rms": nn.RMSNorm(), "group": nn.GroupNorm(num_groups=4),
        "instance": nn.InstanceNorm(), "weight": nn.WeightNorm(nn.Dense(3)),
    }  # fmt: skip
    mask = nn.make_causal_mask(jnp.ones((2, 5)))
    return {
        name: layer.init_with_output(KEY, x, **({"mask": mask} if name == "attention" else {}))
        for name, layer in layers.items()
    }


class _Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, carry, _):
        return nn.tanh(nn.Dense(self.width)(carry)), jnp.sum(carry)


class _Lifted(nn.Module):
    @nn.compact
    def __call__(self, x):
        scanned = nn.scan(
            _Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3
        )
        x, sums = scanned(4, name="deep")(x, None)
        mapped = nn.vmap(
            nn.Dense, in_axes=0, variable_axes={"params": 0}, split_rngs={"params": True}
        )
        y = mapped(2, name="each")(x)
        z = nn.remat(nn.Dense)(3)(nn.jit(nn.Dense)(4)(x))
        return x, sums, y, z


def lifted_transforms():
    x = jax.random.normal(KEY, (2, 4))
    model = _Lifted()
    variables = model.init(KEY, x)
    grads = jax.grad(lambda v: sum(jnp.sum(y) for y in model.apply(v, x)))(variables)
    return (
        model.apply(variables, x),
        grads,
        jax.eval_shape(model.init, KEY, x)["params"]["each"]["kernel"].shape,
    )


class _Setup(nn.Module):
    def setup(self):
        self.embed = nn.Embed(10, 4)
        self.scale = self.param("scale", nn.initializers.ones, (4,))
        self.count = self.variable("counts", "calls", lambda: jnp.zeros((), int))

    def __call__(self, i):
        if not self.is_initializing():
            self.count.value += 1
        self.sow("intermediates", "embedded", self.embed(i))
        return self.embed.attend(self.embed(i) * self.scale)

    def decode(self, x):
        return x @ self.embed.embedding.T


def methods_and_collections():
    model = _Setup()
    i = jnp.array([1, 4])
    variables = model.init(KEY, i)
    y, changed = model.apply(variables, i, mutable=["counts", "intermediates"])
    bound = model.bind(variables)
    return (
        y,
        changed,
        bound.decode(jnp.ones(4)),
        model.apply(variables, jnp.ones(4), method="decode"),
    )


def trees_and_serialization():
    model = _Mlp((3, 2))
    params = model.init(KEY, jnp.ones(2))["params"]
    flat = flax.traverse_util.flatten_dict(params, sep="/")
    restored = flax.serialization.from_bytes(params, flax.serialization.to_bytes(params))
    masked = flax.traverse_util.path_aware_map(lambda path, p: p * ("bias" not in path), params)
    frozen = flax.core.freeze(params)
    summary = model.tabulate(KEY, jnp.ones(2), console_kwargs={"width": 120})
    return flat, restored, masked, jax.tree.map(lambda p: 2 * p, frozen), "Dense_0" in summary


@flax.struct.dataclass
class _State:
    mean: jax.Array
    count: int = flax.struct.field(pytree_node=False, default=0)


def struct_dataclasses():
    state = _State(jnp.zeros(2))
    for x in jnp.arange(6.0).reshape(3, 2):
        state = jax.jit(lambda s, x: s.replace(mean=s.mean + (x - s.mean) / 2, count=s.count + 1))(
            state, x
        )
    return state.mean, state.count, len(jax.tree.leaves(state))
