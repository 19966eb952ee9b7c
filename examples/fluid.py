"""Find the wind that blows a disc of smoke into the shape of a heart.

A solver of the kind that J. Stam describes in "Stable fluids" (1999), in plain NumPy and in place:
arrays are made once and overwritten, neighbours are slices, the wind is a view of all fields, and steps are
nothing but a Python loop. `value_and_grad` differentiates through all of it by the wind at the start,
2 x 50 x 50 numbers, and SciPy's L-BFGS improves the wind. (The problem is that of M. Johnson and
D. Maclaurin's example for autograd, 2015.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

from fungrad.scipy import optimize

SIZE, STEPS, SWEEPS = 50, 20, 10
ITERATIONS = 100


class Flight(NamedTuple):
    """The smoke at some times, and how far it is from the heart at the end."""

    frames: list[Any]
    error: float
    error_at_rest: float


def shapes(size: int = SIZE) -> tuple[Any, Any]:
    """Return the smoke as it is, and as it should be."""
    y, x = np.mgrid[:size, :size] / (size - 1) * 2.0 - 1.0
    disc = 1.0 / (1.0 + np.exp(30.0 * (np.hypot(x, y) - 0.6)))
    a, b = 1.77 * x, 0.15 - 1.77 * y
    outside = np.cbrt((a * a + b * b - 1.0) ** 3 - a * a * b**3)
    heart = 1.0 / (1.0 + np.exp(9.0 * outside))
    return disc, heart * disc.sum() / heart.sum()


def free_of_sources(wind: Any) -> None:
    """Take from the wind, in place, the gradient of a pressure, so that as much leaves as enters."""
    u, v = wind
    divergence = 0.5 * (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1])
    pressure = np.zeros_like(u)
    for _ in range(SWEEPS):  # Jacobi's method
        beside = pressure[1:-1, 2:] + pressure[1:-1, :-2]
        above = pressure[2:, 1:-1] + pressure[:-2, 1:-1]
        pressure[1:-1, 1:-1] = 0.25 * (beside + above - divergence)
    u[:, 1:-1] -= 0.5 * (pressure[:, 2:] - pressure[:, :-2])
    v[1:-1, :] -= 0.5 * (pressure[2:, :] - pressure[:-2, :])
    wind[:, [0, -1], :] = 0.0  # there are walls
    wind[:, :, [0, -1]] = 0.0


def carry(fields: Any, wind: Any) -> None:
    """Let the wind carry the fields one step on: what a cell holds comes from where the wind does."""
    size = fields.shape[-1]
    rows, columns = np.arange(size)[:, None], np.arange(size)
    x = np.clip(columns - wind[0], 0.0, size - 1.001)
    y = np.clip(rows - wind[1], 0.0, size - 1.001)
    left, top = x.astype(int), y.astype(int)
    x, y = x - left, y - top
    upper = (1.0 - x) * fields[:, top, left] + x * fields[:, top, left + 1]
    lower = (1.0 - x) * fields[:, top + 1, left] + x * fields[:, top + 1, left + 1]
    fields[:] = (1.0 - y) * upper + y * lower


def blow(wind: Any, smoke: Any, steps: int = STEPS) -> list[Any]:
    """Return the smoke after each step."""
    fields = np.stack([*wind, smoke])
    wind = fields[:2]  # a view: what changes the one changes the other
    free_of_sources(wind)
    frames = [smoke]
    for _ in range(steps):
        carry(fields, wind)
        free_of_sources(wind)
        frames.append(fields[2].copy())
    return frames


def find_wind(iterations: int = ITERATIONS, steps: int = STEPS) -> Flight:
    """Start in calm air and improve the wind."""
    smoke, heart = shapes()

    def error(wind: Any) -> Any:
        return np.mean((blow(wind, smoke, steps)[-1] - heart) ** 2)

    calm = np.zeros((2, SIZE, SIZE))
    options = {"maxiter": iterations}
    found = optimize.minimize(error, calm, method="L-BFGS-B", options=options)
    return Flight(blow(found.x, smoke, steps), float(found.fun), float(error(calm)))


def check(flight: Flight) -> list[Check]:
    """What is left of the difference to the heart."""
    left = flight.error / flight.error_at_rest
    return [Check("square error of the smoke, of that in calm air", left, at_most=0.06)]


def draw(flight: Flight, figure: Any) -> None:
    """Draw six moments, and the heart beside them."""
    moments = np.linspace(0, len(flight.frames) - 1, 5).astype(int)
    pictures = {f"step {i}": flight.frames[i] for i in moments} | {"wanted": shapes()[1]}
    for axes, (title, smoke) in zip(figure.subplots(2, 3).flat, pictures.items(), strict=True):
        axes.imshow(smoke, cmap="magma_r", vmin=0.0, vmax=1.1)
        axes.set_title(title, fontsize=9)
        axes.axis("off")


if __name__ == "__main__":
    main(find_wind, check, draw)
