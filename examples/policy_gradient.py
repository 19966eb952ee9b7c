"""Balance a pole on a cart, learned from nothing but how long it stood.

The cart-pole of A. G. Barto, R. S. Sutton and C. W. Anderson (1983): every 0.02 seconds the cart is pushed to the
left or to the right, and the trial ends when the pole leans by more than 12 degrees, the cart leaves the
track, or after 500 pushes. A small network gives the chance of a push to the right.

The gradient is that of R. J. Williams, "Simple statistical gradient-following algorithms" (1992): pushes after which
the pole stood longer than usual become more likely. `trial` plays one trial, as a `scan`; `vmap` plays 64
of them; the gradient of the sum of log-chances, weighted by what came after, is `grad` of the same function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import lax, optim, random

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, INTERVAL = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
PUSHES, TRIALS, UPDATES, WIDTH = 500, 64, 100, 16
ADAM = optim.adam(0.02, b2=0.99)


class Trained(NamedTuple):
    """How long the pole stood in each update, and in the end; a trial of the end."""

    pushes: Any
    final: float
    states: Any


def moved(state: Any, force: Any) -> Any:
    """Return the state after a push: place and speed of the cart, angle of the pole and its speed."""
    _, speed, angle, turning = state
    total = CART + POLE
    pull = (force + POLE * HALF_LENGTH * turning**2 * np.sin(angle)) / total
    inertia = HALF_LENGTH * (4.0 / 3.0 - POLE * np.cos(angle) ** 2 / total)
    spin = (GRAVITY * np.sin(angle) - np.cos(angle) * pull) / inertia
    push = pull - POLE * HALF_LENGTH * spin * np.cos(angle) / total
    return state + INTERVAL * np.stack([speed, push, turning, spin])


def score(params: Any, state: Any) -> Any:
    """Return the logarithm of the chance of right over that of left."""
    scaled = state * np.array([0.5, 0.5, 5.0, 0.5])
    return np.tanh(scaled @ params["U"] + params["b"]) @ params["v"]


def trial(params: Any, key: Any) -> tuple[Any, Any, Any]:
    """Play one trial; return states, logarithms of the chances of what was done, and if it stood."""
    for_start, for_pushes = random.split(key)
    start = random.uniform(for_start, (4,), dtype=float, minval=-0.05, maxval=0.05)

    def step(carry: Any, luck: Any) -> Any:
        state, stands = carry
        s = score(params, state)
        right = luck < 1.0 / (1.0 + np.exp(-s))
        log_chance = -np.logaddexp(0.0, np.where(right, -s, s))
        new = moved(state, np.where(right, FORCE, -FORCE))
        fine = stands & (np.abs(new[0]) < 2.4) & (np.abs(new[2]) < 0.2095)
        state = np.where(stands, new, state)  # what fell stays as it is
        return (state, fine), (state, log_chance * stands, stands)

    luck = random.uniform(for_pushes, (PUSHES,), dtype=float)
    return lax.scan(step, (start, np.array(True)), luck)[1]


trials = fg.vmap(trial, in_axes=(None, 0))


def surrogate(params: Any, keys: Any) -> tuple[Any, Any]:
    """Return a number with the gradient of Williams, and the mean length of the trials."""
    _, log_chances, stands = trials(params, keys)
    to_go = np.cumsum(stands[:, ::-1], axis=1)[:, ::-1].astype(float)
    there = np.maximum(stands.sum(axis=0), 1)
    usual = to_go.sum(axis=0) / there
    better = np.where(stands, to_go - usual, 0.0) / (np.std(to_go[:, 0]) + 10.0)
    return -np.sum(better * log_chances) / stands.sum(), stands.sum(axis=1).mean()


@fg.jit
def update(params: Any, state: Any, key: Any) -> Any:
    """Play, and take a step of Adam."""
    gradient, length = fg.grad(surrogate, has_aux=True)(params, random.split(key, TRIALS))
    changes, state = ADAM.update(gradient, state)
    return optim.apply_updates(params, changes), state, length


def learn(updates: int = UPDATES) -> Trained:
    """Learn, and play a hundred trials in the end."""
    keys = random.split(random.key(0), updates + 2)
    U = random.normal(keys[0], (4, WIDTH), dtype=float)
    params = {"U": U, "b": np.zeros(WIDTH), "v": np.zeros(WIDTH)}
    state, pushes = ADAM.init(params), []
    for key in keys[2:]:
        params, state, length = update(params, state, key)
        pushes.append(float(length))
    states, _, stands = fg.jit(trials)(params, random.split(keys[1], 100))
    return Trained(np.array(pushes), float(stands.sum(axis=1).mean()), states[0])


def check(found: Trained) -> list[Check]:
    """The task counts as solved from 475 pushes of 500 on."""
    return [Check("mean of 100 trials, pushes of at most 500", found.final, at_least=475.0)]


def draw(found: Trained, figure: Any) -> None:
    """Draw how it learned, and a trial."""
    left, right = figure.subplots(1, 2)
    left.plot(found.pushes, color="tab:blue")
    left.set(xlabel="update", ylabel="pushes until the pole falls", ylim=(0.0, 510.0))
    time = INTERVAL * np.arange(1, PUSHES + 1)
    right.plot(time, np.degrees(found.states[:, 2]), color="tab:orange", label="angle (degrees)")
    right.plot(time, 10.0 * found.states[:, 0], color="0.4", label="place of the cart (0.1 m)")
    right.set(xlabel="time (seconds)", title="a trial in the end", ylim=(-12.0, 12.0))
    right.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main(learn, check, draw)
