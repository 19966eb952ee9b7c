"""Solve Burgers' equation with a network that is told nothing but the equation.

M. Raissi, P. Perdikaris and G. E. Karniadakis, "Physics-informed neural networks" (2019): the network u(t, x)
is trained until u_t + u u_x = nu u_xx holds at 2000 places, and u = -sin(pi x) at the start. The wave
steepens until it nearly breaks, at x = 0.

The network takes one place. `jet` gives its value with first and second derivative along x in one
pass, `jvp` that along t; `vmap` does so at all places; and `optimize.minimize` follows the gradient of
all that by the weights, a derivative of the third order, in L-BFGS.

The exact solution, by the transform of E. Hopf (1950) and J. D. Cole (1951), is there for the check alone.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import random
from fungrad.scipy import optimize

VISCOSITY = 0.05 / np.pi
LAYERS = (2, 24, 24, 24, 1)
PLACES, EDGE, ITERATIONS = 2000, 100, 1200


class Solution(NamedTuple):
    """Times, places, and both solutions at them."""

    t: Any
    x: Any
    found: Any
    exact: Any


def init(key: Any) -> list[tuple[Any, Any]]:
    """Draw the weights of each layer."""
    shapes = list(pairwise(LAYERS))
    keys = random.split(key, len(shapes))
    return [
        (random.normal(k, shape, dtype=float) / shape[0] ** 0.5, np.zeros(shape[1]))
        for k, shape in zip(keys, shapes, strict=True)
    ]


def u(params: Any, t: Any, x: Any) -> Any:
    """Return what the network says of one place; at the walls, x = -1 and 1, it is zero."""
    *hidden, (W, b) = params
    y = np.stack([2.0 * t - 1.0, x])
    for V, c in hidden:
        y = np.tanh(y @ V + c)
    return (1.0 - x * x) * (y @ W + b)[0]


def residual(params: Any, t: Any, x: Any) -> Any:
    """Return by how much the equation does not hold at one place."""
    _, u_t = fg.jvp(lambda t: u(params, t, x), (t,), (1.0,))
    value, (u_x, u_xx) = fg.jet(lambda x: u(params, t, x), (x,), ((1.0, 0.0),))
    return u_t + value * u_x - VISCOSITY * u_xx


def loss(params: Any, t: Any, x: Any, edge: Any) -> Any:
    """Return the squares of what is wrong, inside and at the start."""
    inside = fg.vmap(residual, in_axes=(None, 0, 0))(params, t, x)
    start = fg.vmap(u, in_axes=(None, None, 0))(params, 0.0, edge)
    return np.mean(inside**2) + 10.0 * np.mean((start + np.sin(np.pi * edge)) ** 2)


def by_cole_and_hopf(t: Any, x: Any) -> Any:
    """Return the exact solution: two integrals of a heat kernel, by the rule of Gauss and Hermite."""
    nodes, weights = np.polynomial.hermite.hermgauss(100)
    y = x[..., None] - np.sqrt(4.0 * VISCOSITY * t)[..., None] * nodes
    exponent = -np.cos(np.pi * y) / (2.0 * np.pi * VISCOSITY)
    kernel = weights * np.exp(exponent - exponent.max(axis=-1, keepdims=True))
    return -(kernel * np.sin(np.pi * y)).sum(-1) / kernel.sum(-1)


def solve(iterations: int = ITERATIONS) -> Solution:
    """Train the network, and evaluate it on a grid."""
    places, weights = random.split(random.key(0))
    t, x = random.uniform(places, (2, PLACES), dtype=float)
    x = 2.0 * x - 1.0
    x[::2] **= 3  # half of the places nearer to the middle, where it is steep
    options = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 30, "ftol": 0.0}
    arguments = t, x, np.linspace(-1.0, 1.0, EDGE)
    found = optimize.minimize(loss, init(weights), arguments, method="L-BFGS-B", options=options)
    grid = np.meshgrid(np.linspace(0.0, 1.0, 101), np.linspace(-1.0, 1.0, 201), indexing="ij")
    on_grid = fg.jit(fg.vmap(fg.vmap(u, in_axes=(None, 0, 0)), in_axes=(None, 0, 0)))
    return Solution(*grid, on_grid(found.x, *grid), by_cole_and_hopf(*grid))


def check(solution: Solution) -> list[Check]:
    """How far the network is from the exact solution, relative to that, as in the paper."""
    error = np.linalg.norm(solution.found - solution.exact) / np.linalg.norm(solution.exact)
    return [Check("relative error of the solution", error, at_most=0.01)]


def draw(solution: Solution, figure: Any) -> None:
    """Draw the solution, and three moments of it beside the exact one."""
    top, bottom = figure.subplots(2, 1, height_ratios=(1.0, 1.0))
    picture = top.pcolormesh(
        solution.t, solution.x, solution.found, cmap="RdBu_r", shading="gouraud"
    )
    figure.colorbar(picture, ax=top, label="u")
    top.set(xlabel="time", ylabel="x")
    for row, color in (0, "0.6"), (30, "tab:orange"), (75, "tab:blue"):
        x = solution.x[row]
        bottom.plot(x, solution.exact[row], color=color, lw=3.0, alpha=0.4)
        label = f"time {solution.t[row, 0]:.2f}"
        bottom.plot(x, solution.found[row], color=color, lw=1.0, label=label)
    bottom.set(xlabel="x; the exact solution pale", ylabel="u")
    bottom.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main(solve, check, draw)
