"""Training steps and networks, small as in teaching and in tests."""

from __future__ import annotations

from typing import Any

import numpy

from benchmarks.native import (
    Row,
    descent,
    gradient,
    integers,
    layers,
    normal,
    per_example_gradient,
    uniform,
)
from benchmarks.native.elementwise import (
    cross_entropy,
    cross_entropy_by_hand,
    gelu,
    layernorm,
    softmax,
)

TOKENS, WIDTH, HEADS = 64, 128, 4
STEPS, BATCH, UNITS = 50, 16, 32


def dense(np: Any, params: Any, x: Any) -> Any:
    """Layers with tanh between them; `params` as `layers` makes them."""
    last = len(params) - 2
    for i in range(0, last, 2):
        x = np.tanh(x @ params[i] + params[i + 1])
    return x @ params[last] + params[last + 1]


def mlp(np: Any, lax: Any, params: Any, images: Any, labels: Any) -> Any:
    return cross_entropy(np, lax, dense(np, params, images), labels)


def mlp_step_by_hand(params: Any, images: Any, labels: Any) -> Any:
    states = [images]
    for i in range(0, len(params) - 2, 2):
        states.append(numpy.tanh(states[-1] @ params[i] + params[i + 1]))
    _, ct = cross_entropy_by_hand(states[-1] @ params[-2] + params[-1], labels)
    stepped: list[Any] = []
    for i in range(len(params) - 2, -1, -2):
        x = states.pop()
        stepped = [params[i] - 0.1 * (x.T @ ct), params[i + 1] - 0.1 * ct.sum(axis=0), *stepped]
        ct = (ct @ params[i].T) * (1 - x * x)
    return stepped


def example_loss(np: Any, lax: Any, params: Any, x: Any, y: Any) -> Any:
    error = dense(np, params, x) - y
    return np.mean(error * error)


def max_pool(np: Any, lax: Any, x: Any) -> Any:
    return lax.reduce_window(x, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def cnn(np: Any, lax: Any, params: Any, images: Any, labels: Any) -> Any:
    x = images
    for kernels in (params[0], params[1]):
        x = max_pool(np, lax, np.maximum(lax.conv(x, kernels, (1, 1), "SAME"), 0.0))
    return cross_entropy(np, lax, x.reshape(x.shape[0], -1) @ params[2] + params[3], labels)


def sigmoid(np: Any, x: Any) -> Any:
    return 0.5 * (1 + np.tanh(0.5 * x))


def lstm(np: Any, lax: Any, params: Any, xs: Any, targets: Any) -> Any:
    """Hochreiter and Schmidhuber, Long short-term memory, 1997, with a forget gate."""
    w_in, w_state, offset, w_out = params[0], params[1], params[2], params[3]

    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        gates = x @ w_in + h @ w_state + offset
        i, f, o = (sigmoid(np, gates[:, k * UNITS : (k + 1) * UNITS]) for k in range(3))
        c = f * c + i * np.tanh(gates[:, 3 * UNITS :])
        h = o * np.tanh(c)
        return (h, c), h

    zero = np.zeros((BATCH, UNITS), np.float32)
    _, states = lax.scan(step, (zero, zero), xs)
    error = states @ w_out - targets
    return np.mean(error * error)


def attention(np: Any, lax: Any, qkv: Any, mask: Any) -> Any:
    """Vaswani et al., Attention is all you need, 2017: several heads, each looks back only."""
    split = qkv.reshape(TOKENS, 3, HEADS, WIDTH // HEADS)
    q, k, v = (np.transpose(split[:, i], (1, 0, 2)) for i in range(3))
    scores = q @ np.transpose(k, (0, 2, 1)) * (WIDTH // HEADS) ** -0.5
    mixed = softmax(np, lax, np.where(mask, scores, -1e9)) @ v
    return np.transpose(mixed, (1, 0, 2)).reshape(TOKENS, WIDTH)


def transformer(np: Any, lax: Any, params: Any, x: Any, mask: Any) -> Any:
    """One block, normalized before attention and before the dense layers."""
    w_qkv, w_mixed, w_up, w_down = (params[i] for i in range(4))
    normed = layernorm(np, lax, x, params[4], params[5])
    x = x + attention(np, lax, normed @ w_qkv, mask) @ w_mixed
    normed = layernorm(np, lax, x, params[6], params[7])
    return x + gelu(np, lax, normed @ w_up) @ w_down


def transformer_loss(np: Any, lax: Any, params: Any, x: Any, mask: Any) -> Any:
    return np.mean(np.tanh(transformer(np, lax, params, x, mask)))


def vae(np: Any, lax: Any, params: Any, images: Any, noise: Any) -> Any:
    """Kingma and Welling, Auto-encoding variational Bayes, 2014: the bound, negative."""
    code = dense(np, params[:4], images)
    mean, log_deviation = code[:, :8], code[:, 8:]
    z = mean + np.exp(log_deviation) * noise
    logits = dense(np, params[4:], z)
    misfit = np.sum(np.logaddexp(0.0, logits) - images * logits, axis=-1)
    prior = mean * mean + np.exp(2 * log_deviation) - 2 * log_deviation - 1
    return np.mean(misfit + 0.5 * np.sum(prior, axis=-1))


def digits() -> tuple[Any, ...]:
    return layers(64, 128, 128, 10), uniform(0, 1, 128, 64), integers(10, 128)


def examples() -> tuple[Any, ...]:
    return layers(32, 64, 8), normal(128, 32), normal(128, 8, seed=1)


def images() -> tuple[Any, ...]:
    kernels = [normal(8, 1, 3, 3, scale=0.3), normal(16, 8, 3, 3, scale=0.1)]
    return [*kernels, *layers(784, 10)], normal(32, 1, 28, 28), integers(10, 32)


def series() -> tuple[Any, ...]:
    weights = [normal(8, 4 * UNITS, scale=0.3), normal(UNITS, 4 * UNITS, scale=0.2, seed=1)]
    last = [numpy.zeros(4 * UNITS, numpy.float32), normal(UNITS, 8, scale=0.2, seed=2)]
    return [*weights, *last], normal(STEPS, BATCH, 8), normal(STEPS, BATCH, 8, seed=1)


def tokens() -> tuple[Any, ...]:
    shapes = ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
    weights = [normal(*s, scale=s[0] ** -0.5, seed=i) for i, s in enumerate(shapes)]
    norms = [uniform(0.5, 1.5, WIDTH), normal(WIDTH, scale=0.1)] * 2
    mask = numpy.tril(numpy.ones((TOKENS, TOKENS), bool))
    return [*weights, *norms], normal(TOKENS, WIDTH), mask


def codes() -> tuple[Any, ...]:
    params = [*layers(64, 128, 16), *layers(8, 128, 64, seed=2)]
    return params, uniform(0, 1, 128, 64), normal(128, 8)


ROWS = [
    Row(
        "mlp_step",
        "a step of a network 64-128-128-10, 128 examples",
        mlp,
        digits,
        descent,
        mlp_step_by_hand,
    ),
    Row(
        "cnn_step",
        "a step of a convolutional network on 32 images of 28 x 28",
        cnn,
        images,
        descent,
        autograd=False,
        rtol=1e-3,
    ),
    Row("lstm_step", f"a step of an LSTM over {STEPS} steps", lstm, series, descent),
    Row("transformer", f"a block on {TOKENS} tokens of {WIDTH}", transformer, tokens, rtol=1e-3),
    Row(
        "transformer_gradient",
        "gradient of a loss of it",
        transformer_loss,
        tokens,
        gradient,
        rtol=1e-3,
    ),
    Row("vae_step", "a step of a variational autoencoder, 128 examples", vae, codes, descent),
    Row(
        "per_example_gradient",
        "gradients of 128 examples by vmap",
        example_loss,
        examples,
        per_example_gradient,
        autograd=False,
    ),
]
