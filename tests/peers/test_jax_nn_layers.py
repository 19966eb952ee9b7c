"""The layers of fungrad.nn that jax.nn lacks, against what JAX's functions make of their definitions.

The LSTM of PyTorch's weights is `jax.experimental.rnn.lstm_ref`; flax's Dropout is a line with `jax.random.bernoulli`.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
rnn = pytest.importorskip("jax.experimental.rnn")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad import nn, random  # noqa: E402

RNG = np.random.default_rng(0)
X, SCALE, BIAS = RNG.normal(size=(3, 5, 4, 6)), RNG.normal(size=6), RNG.normal(size=6)
KEY = 3


def standardize(x, axes):
    return jax.nn.standardize(x, axes, algorithm="stable")


def in_groups(x):
    split = standardize(x.reshape(3, 5, 4, 2, 3), (1, 2, 4))
    return split.reshape(x.shape)


CASES = {
    "layer_norm": (
        lambda x, s, b: nn.layer_norm(x, s, b),
        lambda x, s, b: standardize(x, -1) * s + b,
    ),
    "rms_norm": (
        lambda x, s, b: nn.rms_norm(x, s),
        lambda x, s, b: x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * s,
    ),
    "group_norm": (
        lambda x, s, b: nn.group_norm(x, 2, s, b),
        lambda x, s, b: in_groups(x) * s + b,
    ),
    "instance_norm": (
        lambda x, s, b: nn.instance_norm(x, s, b),
        lambda x, s, b: standardize(x, (1, 2)) * s + b,
    ),
    "batch_norm": (
        lambda x, s, b: nn.batch_norm(x, (np.zeros(6), np.ones(6)), s, b, training=True)[0],
        lambda x, s, b: standardize(x, (0, 1, 2)) * s + b,
    ),
    "dropout": (
        lambda x, s, b: nn.dropout(random.key(KEY), x * s + b, 0.3),
        lambda x, s, b: jnp.where(
            jax.random.bernoulli(jax.random.key(KEY), 1 - 0.3, x.shape), (x * s + b) / (1 - 0.3), 0
        ),
    ),
    "dropout of channels": (
        lambda x, s, b: nn.dropout(random.key(KEY), x * s + b, 0.3, broadcast_axes=(1, 2)),
        lambda x, s, b: jnp.where(
            jax.random.bernoulli(jax.random.key(KEY), 1 - 0.3, (3, 1, 1, 6)),
            (x * s + b) / (1 - 0.3),
            0,
        ),
    ),
    "embedding": (
        lambda x, s, b: nn.embedding(np.array([[2, 0], [2, 1]]), x),
        lambda x, s, b: jnp.take(x, np.array([[2, 0], [2, 1]]), axis=0),
    ),
}


def same(f, g, args, dtype):
    """Compare values and gradients, as they are and jitted."""
    args = [np.asarray(a, dtype) for a in args]
    eps, every = np.finfo(dtype).eps, tuple(range(len(args)))
    expected = g(*args)
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape).astype(dtype)
    gradient = fg.grad(lambda *a: fnp.sum(f(*a) * weights), every)
    slopes = jax.grad(lambda *a: jnp.sum(g(*a) * weights), every)(*args)
    for ours, theirs in ((f, (expected,)), (gradient, slopes)):
        for function in (ours, fg.jit(ours)):
            found = function(*args)
            for x, y in zip(found if isinstance(found, tuple) else (found,), theirs, strict=True):
                assert (x.shape, x.dtype) == (y.shape, y.dtype)
                np.testing.assert_allclose(x, y, rtol=200 * eps, atol=200 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_layer(name, dtype):
    same(*CASES[name], (X, SCALE, BIAS), dtype)


T, B, I, H = 6, 4, 3, 5
XS, H_0, C_0 = RNG.normal(size=(T, B, I)), RNG.normal(size=(B, H)), RNG.normal(size=(B, H))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lstm_of_weights_of_pytorch(dtype):
    W_ih, W_hh = RNG.normal(size=(4 * H, I)), RNG.normal(size=(4 * H, H))
    b_ih, b_hh = RNG.normal(size=(2, 4 * H))

    def ours(W_ih, W_hh, b_ih, b_hh, xs, h, c):
        (h, c), ys = nn.lstm((W_ih.T, W_hh.T, b_ih + b_hh), xs, (h, c))
        return fnp.concatenate([ys, h[None], c[None]])

    def theirs(W_ih, W_hh, b_ih, b_hh, xs, h, c):
        weights = [{0: w} for w in (W_ih, W_hh, b_ih, b_hh)]
        lengths = jnp.full(B, T, jnp.int32)
        ys, h, c = rnn.lstm_ref(
            xs.transpose(1, 0, 2), h[None], c[None], *weights, lengths, I, H, 1, 0.0, False
        )
        return jnp.concatenate([ys.transpose(1, 0, 2), h, c])

    same(ours, theirs, (W_ih, W_hh, b_ih, b_hh, XS, H_0, C_0), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gru_of_weights_of_pytorch(dtype):
    """The equations are those of the documentation of torch.nn.GRU, and of flax's GRUCell."""
    W_ih, W_hh = RNG.normal(size=(3 * H, I)), RNG.normal(size=(3 * H, H))
    b_ih, b_hh = RNG.normal(size=(2, 3 * H))

    def ours(W_ih, W_hh, b_ih, b_hh, xs, h):
        b = b_ih + fnp.concatenate([b_hh[: 2 * H], fnp.zeros(H, b_hh.dtype)])
        h, ys = nn.gru((W_ih.T, W_hh.T, b, b_hh[2 * H :]), xs, h)
        return fnp.concatenate([ys, h[None]])

    def theirs(W_ih, W_hh, b_ih, b_hh, xs, h):
        def step(h, x):
            x_r, x_z, x_n = jnp.split(x @ W_ih.T + b_ih, 3, -1)
            h_r, h_z, h_n = jnp.split(h @ W_hh.T + b_hh, 3, -1)
            r, z = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_z + h_z)
            n = jnp.tanh(x_n + r * h_n)
            h = (1 - z) * n + z * h
            return h, h

        h, ys = jax.lax.scan(step, h, xs)
        return jnp.concatenate([ys, h[None]])

    same(ours, theirs, (W_ih, W_hh, b_ih, b_hh, XS, H_0), dtype)
