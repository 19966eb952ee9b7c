"""Flax nnx: modules trained under nnx.jit, BatchNorm, dropout, recurrent cells, mapped and scanned layers."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

X = jax.random.normal(jax.random.key(1), (16, 3))
Y = jnp.sin(X.sum(1, keepdims=True))


class _Mlp(nnx.Module):
    def __init__(self, width, *, rngs):
        self.first = nnx.Linear(3, width, rngs=rngs, use_bias=False)
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(nnx.relu(self.dropout(self.norm(self.first(x)))))


def linear():
    return nnx.Linear(2, 3, rngs=nnx.Rngs(0))(jnp.ones((1, 2)))


def mlp_is_trained():
    model = _Mlp(8, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x, y):
        def loss(model):
            return ((model(x) - y) ** 2).mean()

        value, grads = nnx.value_and_grad(loss)(model)
        optimizer.update(model, grads)
        return value

    values = [step(model, optimizer, X, Y) for _ in range(10)]
    model.eval()
    return values, model(X), model.norm.mean[...], model.last.kernel[...]


def split_and_merged():
    model = _Mlp(4, rngs=nnx.Rngs(2))
    graphdef, params, rest = nnx.split(model, nnx.Param, ...)

    @jax.jit
    def loss(params, rest, x):
        model = nnx.merge(graphdef, params, rest)
        return (model(x) ** 2).sum(), nnx.state(model, nnx.BatchStat)

    grads, rest = jax.grad(loss, has_aux=True)(params, rest, X)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    return jax.tree.leaves((grads, rest)), jax.tree.leaves(nnx.state(model, nnx.Param))


def counter_under_jit():
    class Count(nnx.Variable):
        pass

    class Counter(nnx.Module):
        def __init__(self):
            self.count = Count(jnp.zeros((), jnp.int32))

        def __call__(self, x):
            self.count[...] += 1
            return x * self.count[...]

    counter = Counter()
    call = nnx.jit(lambda counter, x: counter(x))
    return [call(counter, jnp.arange(3.0)) for _ in range(3)], counter.count[...]


def ensembles_are_mapped():
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=0, out_axes=0)
    def made(rngs):
        return nnx.Linear(3, 2, rngs=rngs)

    models = made(nnx.Rngs(0))
    return nnx.vmap(lambda model, x: model(x), in_axes=(0, None))(models, X)


def layers_are_scanned():
    @nnx.split_rngs(splits=4)
    @nnx.vmap(in_axes=0, out_axes=0)
    def made(rngs):
        return nnx.Linear(3, 3, rngs=rngs)

    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
    def forward(x, layer):
        return jnp.tanh(layer(x))

    return forward(X, made(nnx.Rngs(1)))


def recurrent_cells():
    cell = nnx.RNN(nnx.GRUCell(3, 4, rngs=nnx.Rngs(0)))
    lstm = nnx.RNN(nnx.LSTMCell(3, 4, rngs=nnx.Rngs(1)))
    x = jax.random.normal(
        jax.random.key(3), (2, 5, 3), jnp.float32
    )  # the carries of flax's cells are of single precision
    return cell(x), nnx.grad(lambda m: m(x).sum())(lstm).cell.ii.kernel[...]


def convolution_and_attention():
    rngs = nnx.Rngs(0)
    image = jax.random.normal(jax.random.key(3), (2, 6, 6, 3))
    convolved = nnx.max_pool(nnx.Conv(3, 4, (3, 3), rngs=rngs)(image), (2, 2), (2, 2))
    attention = nnx.MultiHeadAttention(2, 4, 8, decode=False, rngs=rngs)
    x = jax.random.normal(jax.random.key(4), (2, 5, 4))
    return (
        convolved,
        attention(x),
        nnx.LayerNorm(4, rngs=rngs)(x),
        nnx.Embed(7, 4, rngs=rngs)(jnp.arange(3)),
    )
