"""Learn to learn: a network that fits a new sine wave from ten points, in a single step.

Model-agnostic meta-learning (C. Finn, P. Abbeel and S. Levine, 2017). A task is a wave of some amplitude
and phase; `adapted` is one step of gradient descent on ten points of it. What is trained is where that
step starts from, by the loss after it: a gradient of a gradient. The loss is written for one task,
`vmap` makes it that of 25, and `jit` compiles all of it: `grad(vmap(grad))`.

A network that was trained on the same waves without the inner step is beside it: it learns their
mean, and steps of that length lead it astray.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import optim, random

LAYERS = (1, 40, 40, 1)
TASKS, POINTS, STEPS = 25, 10, 15000
INNER_RATE, RATE = 0.01, 1e-3
Params = list[tuple[Any, Any]]


class Trained(NamedTuple):
    """Mean square errors after 0, 1, 2, ... inner steps; a wave and what each network makes of it."""

    errors: Any
    errors_of_mean: Any
    wave: tuple[Any, Any]
    points: tuple[Any, Any]
    curves: list[Any]


def init(key: Any) -> Params:
    """Draw the weights of each layer."""
    shapes = list(pairwise(LAYERS))
    draw = lambda k, s: random.normal(k, s, dtype=float) * (2.0 / s[0]) ** 0.5
    keys = random.split(key, len(shapes))
    return [(draw(k, s), np.zeros(s[1])) for k, s in zip(keys, shapes, strict=True)]


def apply(params: Params, x: Any) -> Any:
    """Return the network's curve at numbers x."""
    y = x[:, None]
    for W, b in params[:-1]:
        y = np.maximum(y @ W + b, 0.0)
    W, b = params[-1]
    return (y @ W + b)[:, 0]


def loss(params: Params, x: Any, y: Any) -> Any:
    """Return the mean square error."""
    return np.mean((apply(params, x) - y) ** 2)


def adapted(params: Params, x: Any, y: Any) -> Params:
    """Take one step towards a task."""
    slope = fg.grad(loss)(params, x, y)
    return fg.tree.map(lambda p, g: p - INNER_RATE * g, params, slope)


def loss_after_step(params: Params, task: Any) -> Any:
    """Return the error at new points after a step on ten."""
    (x, y), (new_x, new_y) = task
    return loss(adapted(params, x, y), new_x, new_y)


def loss_without(params: Params, task: Any) -> Any:
    """Return the error without the step."""
    return loss(params, *task[1])


def draw_tasks(key: Any, tasks: int, points: int = POINTS) -> Any:
    """Return points of random waves, in two halves: to step on, and to be tested on."""
    keys = random.split(key, 3)
    amplitude = random.uniform(keys[0], (tasks, 1), dtype=float, minval=0.1, maxval=5.0)
    phase = random.uniform(keys[1], (tasks, 1), dtype=float, maxval=np.pi)
    x = random.uniform(keys[2], (2, tasks, points), dtype=float, minval=-5.0, maxval=5.0)
    y = amplitude * np.sin(x - phase)
    return (x[0], y[0]), (x[1], y[1])


def trained(of_task: Any, key: Any, steps: int) -> Params:
    """Minimize the mean of a task's loss by Adam."""
    adam = optim.adam(RATE)

    @fg.jit
    def update(params: Any, state: Any, key: Any) -> Any:
        tasks = draw_tasks(key, TASKS)
        total = lambda p: fg.vmap(of_task, in_axes=(None, 0))(p, tasks).mean()
        changes, state = adam.update(fg.grad(total)(params), state)
        return optim.apply_updates(params, changes), state

    first, later = random.split(key)
    params = init(first)
    state = adam.init(params)
    for key_of_step in random.split(later, steps):
        params, state = update(params, state, key_of_step)
    return params


def learn(steps: int = STEPS, tests: int = 600) -> Trained:
    """Train both networks; test them on new waves after 0 to 5 steps."""
    key, for_tests = random.split(random.key(0))
    networks = [trained(f, key, steps) for f in (loss_after_step, loss_without)]
    (x, y), new = draw_tasks(for_tests, tests)
    in_tasks = lambda f: fg.jit(fg.vmap(f))
    grid = np.linspace(-5.0, 5.0, 200)
    errors, curves = [], []
    for params in networks:
        p = fg.tree.map(lambda a: np.broadcast_to(a, (tests, *a.shape)), params)
        errors.append([])
        for n in range(6):
            if n == 1:
                curves.append(apply(fg.tree.map(lambda a: a[0], p), grid))
            errors[-1].append(np.mean(in_tasks(loss)(p, *new)))
            p = in_tasks(adapted)(p, x, y)
    amplitude_and_phase = np.linalg.lstsq(np.stack([np.sin(x[0]), np.cos(x[0])], 1), y[0])[0]
    wave = np.stack([np.sin(grid), np.cos(grid)], 1) @ amplitude_and_phase
    return Trained(*errors, (grid, wave), (x[0], y[0]), curves)


def check(found: Trained) -> list[Check]:
    """One step is enough for the one and not for the other."""
    gain = min(found.errors_of_mean) / found.errors[1]
    return [
        Check("mean square error after one step on ten points", found.errors[1], at_most=1.0),
        Check("how much smaller than ever without meta-learning", gain, at_least=3.0),
    ]


def draw(found: Trained, figure: Any) -> None:
    """Draw one wave with what the networks make of it, and the errors of all."""
    left, right = figure.subplots(1, 2)
    left.plot(*found.wave, color="0.7", lw=3.0, label="wave")
    left.plot(*found.points, "o", color="0.3", ms=4)
    names = "learned to learn", "trained on all waves"
    for curve, name, color in zip(found.curves, names, ("tab:blue", "tab:orange"), strict=True):
        left.plot(found.wave[0], curve, color=color, label=name)
    left.set_ylim(-6.0, 6.0)
    left.set_title("after one step on ten points", fontsize=10)
    left.legend(frameon=False, fontsize=7)
    right.plot(found.errors, "o-", color="tab:blue")
    right.plot(found.errors_of_mean, "o-", color="tab:orange")
    right.set(xlabel="steps", ylabel="mean square error", ylim=(0.0, 8.0))


if __name__ == "__main__":
    main(learn, check, draw)
