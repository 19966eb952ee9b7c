"""Recurrent networks: scans over time."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.tree_util import tree_map


def sigmoid(x):
    return 1 / (1 + jnp.exp(-x))


def elman(params, h, xs):
    def step(h, x):
        h = jnp.tanh(params["u"] @ h + params["w"] @ x + params["b"])
        return h, h

    return lax.scan(step, h, xs)


def lstm(w, b, xs):
    n = b.shape[0] // 4

    def cell(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(w @ jnp.concatenate([x, h]) + b, 4)
        c = sigmoid(f + 1) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros(n, xs.dtype)
    (h, _), hs = lax.scan(cell, (zero, zero), xs)
    return h, hs.mean(axis=0)


def gru(w, u, h0, xs):
    def cell(h, x):
        r = sigmoid(w[0] @ x + u[0] @ h)
        z = sigmoid(w[1] @ x + u[1] @ h)
        n = jnp.tanh(w[2] @ x + r * (u[2] @ h))
        return (1 - z) * n + z * h, None

    return lax.scan(cell, h0, xs)[0]


def bidirectional(w, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + x)
        return h, h

    zero = jnp.zeros_like(xs[0])
    _, forward = lax.scan(step, zero, xs)
    _, backward = lax.scan(step, zero, xs, reverse=True)
    return jnp.concatenate([forward, backward], axis=-1)


def stacked_layers(ws, xs):
    """A scan over layers, and in each layer a scan over time."""

    def layer(hs, w):
        def step(h, x):
            h = jnp.tanh(w @ h + x)
            return h, h

        last, hs = lax.scan(step, jnp.zeros_like(hs[0]), hs)
        return hs, last

    return lax.scan(layer, xs, ws)


def early_stopping(w, x, threshold):
    """Steps after the stop change nothing: the carry goes on under a mask."""

    def step(carry, _):
        x, done, count = carry
        new = jnp.cos(w @ x)
        x = jnp.where(done, x, new)
        count = count + jnp.where(done, 0, 1)
        done = done | (jnp.max(jnp.abs(new - x)) < threshold) | (count >= 4)
        return (x, done, count), jnp.sum(x)

    (x, _, count), trace = lax.scan(step, (x, False, 0), None, length=7)
    return x, count, trace


def padded_sequences(w, xs, lengths):
    """Sequences of unlike lengths in one array; the state stays where a sequence has ended."""

    def step(h, item):
        t, x = item
        alive = (t < lengths)[:, None]
        h = jnp.where(alive, jnp.tanh(h @ w + x), h)
        return h, jnp.where(alive, h, 0.0)

    times = jnp.arange(xs.shape[0])
    return lax.scan(step, jnp.zeros_like(xs[0]), (times, xs))


def teacher_forcing(w, start, targets, forced):
    """A branch for each step: go on from the target, or from the own output."""

    def step(y, inputs):
        target, force = inputs
        y = lax.cond(force, lambda: target, lambda: y)
        y = jnp.tanh(w @ y)
        return y, jnp.sum((y - target) ** 2)

    return lax.scan(step, start, (targets, forced))[1].mean()


def statistics_on_the_way(params, xs):
    """A loss with auxiliary results, differentiated inside."""

    def loss(params):
        def step(carry, x):
            h = jnp.tanh(carry["h"] * params["a"] + x)
            carry = {"h": h, "energy": carry["energy"] + jnp.sum(h**2), "steps": carry["steps"] + 1}
            return carry, h

        init = {"h": jnp.zeros_like(params["a"]), "energy": 0.0, "steps": 0}
        last, hs = lax.scan(step, init, xs)
        return last["energy"] * params["scale"], {"steps": last["steps"], "last": hs[-1]}

    (value, aux), grads = jax.value_and_grad(loss, has_aux=True)(params)
    return value, aux["steps"], aux["last"], grads


def attention_over_memory(keys, values, queries):
    """Writes each result into a memory that later steps read."""

    def step(memory, inputs):
        t, q = inputs
        scores = jnp.where(jnp.arange(keys.shape[0]) <= t, keys @ q, -jnp.inf)
        weights = jnp.exp(scores - scores.max())
        read = (weights / weights.sum()) @ memory
        memory = lax.dynamic_update_index_in_dim(memory, jnp.tanh(memory[t] + read), t, 0)
        return memory, read

    return lax.scan(step, values, (jnp.arange(queries.shape[0]), queries))


def truncated_backpropagation(w, xs):
    """The state is cut from its past every two steps."""

    def chunk(h, x2):
        def step(h, x):
            h = jnp.tanh(w @ h + x)
            return h, jnp.sum(h**2)

        h, losses = lax.scan(step, lax.stop_gradient(h), x2)
        return h, losses.sum()

    chunks = xs.reshape(xs.shape[0] // 2, 2, *xs.shape[1:])
    return lax.scan(chunk, jnp.zeros_like(xs[0]), chunks)[1].sum()


def moving_average_of_parameters(params, updates, decay):
    """Parameters and their averages are trees; a scan goes over a tree of updates."""

    def step(state, update):
        params, average = state
        params = tree_map(lambda p, u: p - 0.1 * u, params, update)
        average = tree_map(lambda a, p: decay * a + (1 - decay) * p, average, params)
        return (params, average), tree_map(jnp.sum, average)

    return lax.scan(step, (params, params), updates)


def inputs(rng):
    normal = rng.standard_normal
    return {
        "elman": (
            {"u": normal((3, 3)), "w": normal((3, 2)), "b": normal(3)},
            normal(3),
            normal((5, 2)),
        ),
        "lstm": (normal((12, 5)), normal(12), normal((4, 2))),
        "gru": (normal((3, 3, 2)), normal((3, 3, 3)), normal(3), normal((4, 2))),
        "bidirectional": (normal((2, 2)), normal((4, 2))),
        "stacked_layers": (normal((3, 2, 2)), normal((4, 2))),
        "early_stopping": (normal((3, 3)), normal(3), np.array(0.02)),
        "padded_sequences": (normal((2, 2)), normal((4, 3, 2)), np.array([4, 1, 3])),
        "teacher_forcing": (
            normal((2, 2)),
            normal(2),
            normal((4, 2)),
            np.array([True, False, False, True]),
        ),
        "statistics_on_the_way": ({"a": normal(2), "scale": normal(())}, normal((4, 2))),
        "attention_over_memory": (normal((4, 2)), normal((4, 3)), normal((4, 2))),
        "truncated_backpropagation": (normal((2, 2)), normal((6, 2))),
        "moving_average_of_parameters": (
            {"w": normal((2, 2)), "b": normal(2)},
            {"w": normal((3, 2, 2)), "b": normal((3, 2))},
            np.array(0.9),
        ),
    }
