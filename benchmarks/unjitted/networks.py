"""Networks and regressions, trained step by step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import numpy as onp

from benchmarks.unjitted.library import Library


def mlp_adam(lib: Library, varied: Random | None) -> Iterator[Any]:
    """A classifier of residual layers trained by Adam; varied: layers are skipped at random."""
    np, grad, logsumexp = lib.np, lib.grad, lib.special.logsumexp
    rs = onp.random.RandomState(0)
    images, labels = rs.rand(512, 64), onp.eye(10)[rs.randint(10, size=512)]
    width, depth, batch = 32, 12 if varied else 6, 32

    def layer(n_in: int, n_out: int) -> tuple[Any, Any]:
        return 0.1 * rs.randn(n_in, n_out), 0.1 * rs.randn(n_out)

    params = [layer(64, width), *[layer(width, width) for _ in range(depth)], layer(width, 10)]

    def logits(params: Any, inputs: Any, kept: list[bool]) -> Any:
        (W, b), *hidden, (V, c) = params
        h = np.tanh(np.dot(inputs, W) + b)
        for (W, b), keep in zip(hidden, kept):
            if keep:
                h = h + np.tanh(np.dot(h, W) + b)
        outputs = np.dot(h, V) + c
        return outputs - logsumexp(outputs, axis=1, keepdims=True)

    def loss(params: Any, inputs: Any, targets: Any, kept: list[bool]) -> Any:
        penalty = 0.0
        for W, b in params:
            penalty = penalty + np.sum(W**2) + np.sum(b**2)
        return -np.mean(np.sum(logits(params, inputs, kept) * targets, axis=1)) + 1e-4 * penalty

    first = [[onp.zeros_like(x) for x in pair] for pair in params]
    second = [[onp.zeros_like(x) for x in pair] for pair in params]
    i = 0
    while True:
        kept = [varied.random() < 0.5 if varied else True for _ in range(depth)]
        rows = slice(i * batch % 512, i * batch % 512 + batch)
        gradients = grad(loss)(params, images[rows], labels[rows], kept)
        updated = []
        for pair, g_pair, m_pair, v_pair in zip(params, gradients, first, second):
            new = []
            for k, (x, g) in enumerate(zip(pair, g_pair)):
                m_pair[k] = 0.9 * m_pair[k] + 0.1 * g
                v_pair[k] = 0.999 * v_pair[k] + 0.001 * g**2
                m, v = m_pair[k] / (1 - 0.9 ** (i + 1)), v_pair[k] / (1 - 0.999 ** (i + 1))
                new.append(x - 1e-3 * m / (onp.sqrt(v) + 1e-8))
            updated.append(tuple(new))
        params = updated
        i += 1
        yield params


def logistic(lib: Library, varied: Random | None) -> Iterator[Any]:
    """Logistic regression by random minibatches; varied: groups of features are missing in each."""
    np, value_and_grad = lib.np, lib.value_and_grad
    rs = onp.random.RandomState(1)
    groups = 16 if varied else 8
    inputs = [rs.randn(2000, 5) for _ in range(groups)]
    labels = rs.rand(2000) < 0.5
    weights = [0.1 * rs.randn(5) for _ in range(groups)]
    bias = onp.zeros(1)

    def sigmoid(x: Any) -> Any:
        return 0.5 * (np.tanh(x / 2.0) + 1)

    def loss(weights: Any, bias: Any, batch: Any, present: list[int]) -> Any:
        total = bias
        for j in present:
            total = total + np.dot(inputs[j][batch], weights[j])
        p = sigmoid(total)
        likelihood = p * labels[batch] + (1 - p) * (1 - labels[batch])
        penalty = 0.01 * sum([np.sum(w**2) for w in weights])
        return penalty - np.mean(np.log(likelihood))

    step = value_and_grad(loss, (0, 1))
    while True:
        batch = rs.permutation(2000)[:64]
        present = [j for j in range(groups) if not varied or varied.random() < 0.5]
        value, (weight_gradients, bias_gradient) = step(weights, bias, batch, present)
        weights = [w - 0.05 * g for w, g in zip(weights, weight_gradients)]
        bias = bias - 0.05 * bias_gradient
        yield value, weights, bias


def bayesian_network(lib: Library, varied: Random | None) -> Iterator[Any]:
    """A Bayesian network by samples of its weights; varied: every layer has another nonlinearity."""
    np, grad, norm = lib.np, lib.grad, lib.stats.norm
    rs = onp.random.RandomState(2)
    inputs = onp.linspace(-2.0, 2.0, 40)[:, None]
    targets = onp.cos(3 * inputs) + 0.1 * rs.randn(40, 1)
    sizes = [1, *[8] * (8 if varied else 4), 1]
    shapes = list(pairwise(sizes))
    count = sum((m + 1) * n for m, n in shapes)
    nonlinearities = [
        np.tanh,
        np.sin,
        lambda x: np.exp(-(x**2)),
        lambda x: np.logaddexp(0.0, x),
        lambda x: x / (1.0 + np.abs(x)),
        lambda x: np.maximum(x, 0.1 * x),
    ]

    def predictions(weights: Any, functions: list[Any]) -> Any:
        samples = len(weights)
        h = inputs[None] * onp.ones((samples, 1, 1))
        start = 0
        for k, (m, n) in enumerate(shapes):
            W = np.reshape(weights[:, start : start + m * n], (samples, m, n))
            b = np.reshape(weights[:, start + m * n : start + (m + 1) * n], (samples, 1, n))
            start += (m + 1) * n
            h = np.einsum("sbm,smn->sbn", h, W) + b
            if k + 1 < len(shapes):
                h = functions[k](h)
        return h

    def objective(params: Any, noise: Any, functions: list[Any]) -> Any:
        mean, log_std = params[:count], params[count:]
        weights = noise * np.exp(log_std) + mean
        prior = np.sum(norm.logpdf(weights, 0.0, 1.0), axis=1)
        fit = np.sum(norm.logpdf(targets, predictions(weights, functions), 0.1), axis=(1, 2))
        return -np.sum(log_std) - np.mean(prior + fit)

    gradient = grad(objective)
    params = onp.concatenate([0.3 * rs.randn(count), onp.full(count, -5.0)])
    while True:
        functions = [varied.choice(nonlinearities) if varied else np.tanh for _ in sizes[2:]]
        step = gradient(params, rs.randn(10, count), functions)
        params = params - 1e-3 * step / (1e-8 + onp.sqrt(onp.sum(step**2)))
        yield params
