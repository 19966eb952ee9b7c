"""Read digits with a network of a single layer that is applied until nothing changes any more.

A deep equilibrium model (S. Bai, J. Z. Kolter and V. Koltun, "Deep Equilibrium Models", 2019): the hidden state
z solves z = tanh(W z + U x + b). By the implicit function theorem its derivative follows from one linear
system, whatever the number of iterations was, and nothing of them is kept. `lax.custom_root` says so:
it takes an equation, any solver of it, and a solver of its linearisation, which
`custom_linear_solve` makes one for the transposed system too.

Both solvers iterate; while W is kept from stretching, both converge. The gradient is compared with
that of a hundred iterations, written as a loop.

The data are the 1797 digits of digits.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import lax, nn, optim, random

WIDTH, EPOCHS, BATCH = 60, 30, 64
OPTIMIZER = optim.sgd(0.2, momentum=0.9)


class Trained(NamedTuple):
    """Losses of the epochs, what was reached, and how a state settles."""

    losses: list[float]
    accuracy: float
    difference: float
    settling: Any


def load() -> tuple[Any, Any, Any, Any]:
    """Return images and labels to learn from, and those of the test."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = images[order] / 16.0, labels[order]
    return images[360:], labels[360:], images[:360], labels[:360]


def init(key: Any) -> dict[str, Any]:
    """Draw small weights."""
    keys = random.split(key, 3)
    normal = lambda key, rows, columns: random.normal(key, (rows, columns), dtype=float) / rows**0.5
    weights = {"W": 0.3 * normal(keys[0], WIDTH, WIDTH), "U": normal(keys[1], 64, WIDTH)}
    return weights | {"b": np.zeros(WIDTH), "V": normal(keys[2], WIDTH, 10), "c": np.zeros(10)}


def apply(params: Any, x: Any, z: Any) -> Any:
    """Apply the layer once."""
    W = params["W"]
    shrunk = (
        0.9 * W / np.maximum(1.0, np.sqrt(np.sum(W * W)) / 2.0)
    )  # keeps it from stretching much
    return np.tanh(z @ shrunk + x @ params["U"] + params["b"])


def iterate(step: Any, z: Any, tolerance: float = 1e-9) -> Any:
    """Apply a function until nothing changes, or 200 times."""

    def unsettled(state: Any) -> Any:
        before, z, n = state
        return (np.max(np.abs(z - before)) > tolerance) & (n < 200)

    go_on = lambda state: (state[1], step(state[1]), state[2] + 1)
    return lax.while_loop(unsettled, go_on, (z, step(z), 0))[1]


def equilibrium(params: Any, x: Any) -> Any:
    """Return the state that the layer leaves as it is."""
    change = lambda z: apply(params, x, z) - z
    solve = lambda change, z: iterate(lambda z: z + change(z), z)
    steps = lambda linear, y: iterate(lambda z: z + linear(z) - y, -y)
    # The transposed system, which the reverse mode needs, is solved by the same iteration.
    solve_linear = lambda linear, y: lax.custom_linear_solve(linear, y, steps, steps)
    return lax.custom_root(change, np.zeros((len(x), WIDTH)), solve, solve_linear)


def unrolled(params: Any, x: Any) -> Any:
    """Return the state after a hundred applications."""
    z = np.zeros((len(x), WIDTH))
    for _ in range(100):
        z = apply(params, x, z)
    return z


def scores(params: Any, x: Any, state: Any = equilibrium) -> Any:
    """Return the scores of the ten digits."""
    return state(params, x) @ params["V"] + params["c"]


def loss(params: Any, x: Any, labels: Any, state: Any = equilibrium) -> Any:
    """Return the mean cross entropy."""
    logits = scores(params, x, state)
    return nn.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@fg.jit
def update(params: Any, state: Any, x: Any, labels: Any) -> tuple[Any, Any, Any]:
    """Take a step of gradient descent with momentum."""
    value, gradient = fg.value_and_grad(loss)(params, x, labels)
    changes, state = OPTIMIZER.update(gradient, state)
    return optim.apply_updates(params, changes), state, value


def train(epochs: int = EPOCHS) -> Trained:
    """Train, and compare both gradients."""
    x, labels, test_x, test_labels = load()
    params = init(random.key(0))
    state = OPTIMIZER.init(params)
    rng, losses = np.random.default_rng(0), []
    for _ in range(epochs):
        order = rng.permutation(len(x))
        values = []
        for rows in order[: len(x) // BATCH * BATCH].reshape(-1, BATCH):
            params, state, value = update(params, state, x[rows], labels[rows])
            values.append(value)
        losses.append(float(np.mean(values)))
    accuracy = np.mean(scores(params, test_x).argmax(axis=1) == test_labels)
    batch = x[:BATCH], labels[:BATCH]
    implicit = fg.grad(loss)(params, *batch)
    explicit = fg.grad(lambda p: loss(p, *batch, state=unrolled))(params)
    apart = max(np.abs(implicit[k] - explicit[k]).max() / np.abs(explicit[k]).max() for k in params)
    settling, z = [], np.zeros((len(test_x), WIDTH))
    for _ in range(40):
        before, z = z, apply(params, test_x, z)
        settling.append(np.abs(z - before).max())
    return Trained(losses, float(accuracy), float(apart), settling)


def check(found: Trained) -> list[Check]:
    """It reads well, and the implicit gradient is right."""
    return [
        Check("test accuracy", found.accuracy, at_least=0.96),
        Check("gradient beside one through 100 steps, difference", found.difference, at_most=1e-6),
    ]


def draw(found: Trained, figure: Any) -> None:
    """Draw how it learns, and how its state settles."""
    left, right = figure.subplots(1, 2)
    left.semilogy(found.losses, color="tab:blue")
    left.set(xlabel="epoch", ylabel="cross entropy", title=f"{found.accuracy:.1%} read correctly")
    right.semilogy(found.settling, ".-", color="tab:orange")
    right.set(xlabel="application of the layer", ylabel="change of the state", title="it settles")


if __name__ == "__main__":
    main(train, check, draw)
