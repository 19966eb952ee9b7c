"""Programs that step along a sequence in a Python loop."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as onp

from benchmarks.unjitted.library import Library


def lstm(lib: Library, varied: Random | None) -> Iterator[Any]:
    """An LSTM that predicts characters of a few words; varied: words of other lengths each time."""
    np, grad = lib.np, lib.grad
    rs = onp.random.RandomState(0)
    letters, width = 27, 16
    params = {
        name: 0.1 * rs.randn(letters + width + 1, width)
        for name in ("change", "forget", "ingate", "outgate")
    }
    params["predict"] = 0.1 * rs.randn(width + 1, letters)
    text = onp.eye(letters)[rs.randint(letters, size=4096)]

    def sigmoid(x: Any) -> Any:
        return 0.5 * (np.tanh(x) + 1.0)

    def log_likelihood(params: Any, word: Any) -> Any:
        hidden, cell = np.zeros((1, width)), np.zeros((1, width))
        one, total = onp.ones((1, 1)), 0.0
        for t in range(len(word) - 1):
            x = np.hstack([word[t : t + 1], hidden, one])
            change = np.tanh(np.dot(x, params["change"]))
            forget = sigmoid(np.dot(x, params["forget"]))
            ingate = sigmoid(np.dot(x, params["ingate"]))
            outgate = sigmoid(np.dot(x, params["outgate"]))
            cell = cell * forget + ingate * change
            hidden = outgate * np.tanh(cell)
            output = np.dot(np.hstack([hidden, one]), params["predict"])
            output = output - np.log(np.sum(np.exp(output), axis=1, keepdims=True))
            total = total + np.sum(output * word[t + 1])
        return total

    def loss(params: Any, words: Any) -> Any:
        return -sum([log_likelihood(params, word) for word in words]) / len(words)

    gradient = grad(loss)
    while True:
        lengths = [varied.randrange(2, 9) if varied else 5 for _ in range(6)]
        starts = rs.randint(4000, size=6)
        step = gradient(params, [text[s : s + n] for s, n in zip(starts, lengths)])
        params = {name: params[name] - 0.01 * step[name] for name in params}
        yield params


def hidden_markov(lib: Library, varied: Random | None) -> Iterator[Any]:
    """A hidden Markov model by the forward recursion; varied: sequences of other lengths each time."""
    value_and_grad, logsumexp = lib.value_and_grad, lib.special.logsumexp
    rs = onp.random.RandomState(1)
    states, symbols = 5, 12
    params = (rs.randn(states), rs.randn(states, states), rs.randn(states, symbols))

    def normalized(x: Any) -> Any:
        return x - logsumexp(x, axis=-1, keepdims=True)

    def log_likelihood(params: Any, sequences: Any) -> Any:
        start, transition, emission = [normalized(x) for x in params]
        total = 0.0
        for sequence in sequences:
            alpha = start + emission[:, sequence[0]]
            for symbol in sequence[1:]:
                alpha = logsumexp(alpha[:, None] + transition, axis=0) + emission[:, symbol]
            total = total + logsumexp(alpha)
        return total

    step = value_and_grad(log_likelihood)
    while True:
        lengths = [varied.randrange(3, 12) if varied else 7 for _ in range(6)]
        value, gradients = step(params, [rs.randint(symbols, size=n) for n in lengths])
        params = tuple([p + 1e-3 * g for p, g in zip(params, gradients)])
        yield value, params


def neural_ode(lib: Library, varied: Random | None) -> Iterator[Any]:
    """A differential equation learned through its solver; varied: every step has another scheme."""
    np, value_and_grad = lib.np, lib.value_and_grad
    rs = onp.random.RandomState(2)
    params = [(0.3 * rs.randn(2, 16), onp.zeros(16)), (0.3 * rs.randn(16, 2), onp.zeros(2))]
    angles, steps = onp.linspace(0.0, 3.0, 7), 18 if varied else 12
    path = (
        onp.stack([onp.cos(angles), onp.sin(angles)], 1)[:, None]
        * onp.linspace(0.5, 1.5, 8)[:, None]
    )

    def velocity(y: Any, params: Any) -> Any:
        (W, b), (V, c) = params
        return np.dot(np.tanh(np.dot(y**3, W) + b), V) + c

    def euler(y: Any, h: float, params: Any) -> Any:
        return y + h * velocity(y, params)

    def midpoint(y: Any, h: float, params: Any) -> Any:
        return y + h * velocity(y + h / 2 * velocity(y, params), params)

    def runge_kutta(y: Any, h: float, params: Any) -> Any:
        k1 = velocity(y, params)
        k2 = velocity(y + h / 2 * k1, params)
        k3 = velocity(y + h / 2 * k2, params)
        k4 = velocity(y + h * k3, params)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def loss(params: Any, schemes: list[Any]) -> Any:
        y, found = path[0], []
        for scheme in schemes:
            y = scheme(y, 3.0 / steps, params)
            found.append(y)
        apart = steps // 6
        return np.mean((np.array(found[apart - 1 :: apart]) - path[1:]) ** 2)

    step = value_and_grad(loss)
    known = [euler, midpoint, runge_kutta]
    while True:
        schemes = [varied.choice(known) if varied else runge_kutta for _ in range(steps)]
        value, gradients = step(params, schemes)
        params = [(W - 0.05 * dW, b - 0.05 * db) for (W, b), (dW, db) in zip(params, gradients)]
        yield value, params
