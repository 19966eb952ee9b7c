"""Learn the law of a motion from where it went: a neural differential equation.

A point spirals inwards by y' = A y**3, and we see where it is at 200 times. A network that says how
fast to move at each place is integrated by `odeint`, with steps of adaptive length, and trained until it goes where the
point went (R. T. Q. Chen et al., "Neural Ordinary Differential Equations", 2018). The gradient is the solution of the adjoint
equation, backwards in time: `grad` of `odeint` needs no word about it, and keeps no steps.

At first each step of learning looks at 24 short pieces of the motion, drawn at random, which are integrated
together; then `optimize.minimize` makes the network go the whole way on its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import optim, random
from fungrad.scipy import optimize
from fungrad.scipy.integrate import odeint

TIMES = np.linspace(0.0, 15.0, 200)
START = np.array([2.0, 0.0])
A = np.array([[-0.1, 2.0], [-2.0, -0.1]])
WIDTH, STEPS, PIECES, LENGTH = 40, 600, 24, 12
ACCURACY = {"rtol": 1e-6, "atol": 1e-6}


class Motion(NamedTuple):
    """The motion that was seen, that of the network, and the losses on the way."""

    true: Any
    learned: Any
    losses: list[float]
    params: dict[str, Any]


def init(key: Any) -> dict[str, Any]:
    """Draw small weights."""
    first, second = random.split(key)
    return {
        "U": random.normal(first, (2, WIDTH), dtype=float),
        "b": np.zeros(WIDTH),
        "V": 0.1 * random.normal(second, (WIDTH, 2), dtype=float),
        "c": np.zeros(2),
    }


def velocity(y: Any, t: Any, params: Any) -> Any:
    """Return how fast to move at places y, in rows or a single one; the time does not matter."""
    return np.tanh(y**3 @ params["U"] + params["b"]) @ params["V"] + params["c"]


def loss(params: Any, starts: Any, pieces: Any) -> Any:
    """Return the mean square of how far the network goes from pieces of shape (times, pieces, 2)."""
    path = odeint(velocity, starts, TIMES[: len(pieces)], params, **ACCURACY)
    return np.mean((path - pieces) ** 2)


def learn(steps: int = STEPS, iterations: int = 100) -> Motion:
    """Train the network on pieces, then on all of the motion."""
    true = odeint(lambda y, t: A @ y**3, START, TIMES)
    params = init(random.key(0))
    adam = optim.adam(optim.linear_schedule(0.02, 0.0, steps))
    state, losses = adam.init(params), []
    value_and_gradient = fg.jit(fg.value_and_grad(loss))
    rng = np.random.default_rng(0)
    for _ in range(steps):
        begin = rng.choice(len(TIMES) - LENGTH, PIECES, replace=False)
        pieces = true[begin + np.arange(LENGTH)[:, None]]
        value, gradient = value_and_gradient(params, pieces[0], pieces)
        changes, state = adam.update(gradient, state)
        params = optim.apply_updates(params, changes)
        losses.append(float(value))
    options = {"maxiter": iterations}
    whole = START[None], true[:, None]  # a single piece
    found = optimize.minimize(loss, params, whole, method="L-BFGS-B", options=options)
    params = found.x
    return Motion(true, odeint(velocity, START, TIMES, params, **ACCURACY), losses, params)


def check(found: Motion) -> list[Check]:
    """How far, on average, the network is from where the point went."""
    apart = np.hypot(*(found.learned - found.true).T).mean()
    return [Check("mean distance from a motion of size 2", apart, at_most=0.2)]


def draw(found: Motion, figure: Any) -> None:
    """Draw both motions over the velocities that the network learned."""
    axes = figure.subplots()
    y, x = np.mgrid[-2.2:2.2:18j, -2.2:2.2:22j]
    arrows = velocity(np.stack([x, y], axis=-1), 0.0, found.params)
    arrows /= np.linalg.norm(arrows, axis=-1, keepdims=True)
    axes.quiver(x, y, *arrows.transpose(2, 0, 1), color="0.75", scale=40, width=0.003)
    axes.plot(*found.true.T, color="tab:red", lw=3.0, alpha=0.5, label="seen")
    axes.plot(*found.learned.T, color="tab:blue", lw=1.2, label="network")
    axes.set_aspect("equal")
    axes.axis("off")
    axes.legend(loc="upper right", fontsize=8)


if __name__ == "__main__":
    main(learn, check, draw)
