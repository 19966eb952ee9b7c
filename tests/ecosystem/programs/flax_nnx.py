"""Flax nnx: modules that hold their parameters, trained; states split and merged."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class _Mlp(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))


def trained():
    model = _Mlp(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    x = jax.random.normal(jax.random.key(1), (16, 3))

    @nnx.jit
    def step(model, optimizer):
        value, grads = nnx.value_and_grad(
            lambda m: jnp.mean((m(x) - x.sum(1, keepdims=True)) ** 2)
        )(model)
        optimizer.update(model, grads)
        return value

    values = [step(model, optimizer) for _ in range(5)]
    model.eval()
    return values, model(x[:2]), model.norm.mean[...]


def split_and_merge():
    graph, params, rest = nnx.split(_Mlp(nnx.Rngs(0)), nnx.Param, ...)
    doubled = jax.tree.map(lambda p: 2 * p, params)
    model = nnx.merge(graph, doubled, rest)
    model.eval()
    return jax.jit(lambda p, x: _evaluated(nnx.merge(graph, p, rest), x))(doubled, jnp.ones((2, 3)))


def _evaluated(model, x):
    model.eval()
    return model(x)
