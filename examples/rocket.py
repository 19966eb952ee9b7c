"""Fly a rocket with an ion engine from the Earth's orbit as far out as its fuel carries it.

The transfer to the largest circular orbit in a given time, of A. E. Bryson and Y.-C. Ho, "Applied Optimal
Control" (1975), section 2.5: the engine pushes all the time, with 0.1405 of the Sun's pull at the
Earth, and burns 0.0749 of the mass in a year divided by 2 pi; in 3.32 such units (193 days) the
rocket shall be on a circle again, of as large a radius as can be. Their answer is 1.525, about
the orbit of Mars.

What is to be found is the direction of the thrust in each of 60 steps. The flight is a `scan` of
Runge-Kutta steps; `optimize.minimize` (SciPy's SLSQP) takes it as it is, and the two conditions on its
end as constraints. Gradient and Jacobian are fungrad's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import lax
from fungrad.scipy import optimize

THRUST, BURNING, DURATION = 0.1405, 0.0749, 3.32
STEPS = 60


class Flight(NamedTuple):
    """Angles of thrust against the direction of flight, radians; the states; how well it closes."""

    angles: Any
    states: Any  # rows of radius, angle around the Sun, velocity outwards and along
    apart: float


def slope(state: Any, time: Any, angle: Any) -> Any:
    """Return how fast radius, angle and both velocities change."""
    r, _, out, along = state
    push = THRUST / (1.0 - BURNING * time)
    return np.stack(
        [
            out,
            along / r,
            along**2 / r - 1.0 / r**2 + push * np.sin(angle),
            -out * along / r + push * np.cos(angle),
        ]
    )


def fly(angles: Any) -> Any:
    """Return the states after steps of equal length, in each of which the angle stays as it is."""
    h = DURATION / len(angles)

    def step(state: Any, inputs: Any) -> tuple[Any, Any]:
        time, angle = inputs
        a = slope(state, time, angle)
        b = slope(state + 0.5 * h * a, time + 0.5 * h, angle)
        c = slope(state + 0.5 * h * b, time + 0.5 * h, angle)
        d = slope(state + h * c, time + h, angle)
        state = state + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        return state, state

    start = np.array([1.0, 0.0, 0.0, 1.0])  # a circle around the Sun
    return lax.scan(step, start, (h * np.arange(len(angles)), angles))[1]


def minus_radius(angles: Any) -> Any:
    """Return what is to be small."""
    return -fly(angles)[-1, 0]


def not_on_circle(angles: Any) -> Any:
    """Return what must be zero at the end: velocity outwards, and along less than on a circle."""
    r, _, out, along = fly(angles)[-1]
    return np.stack([out, along - 1.0 / np.sqrt(r)])


def plan(steps: int = STEPS) -> Flight:
    """Start with pushing outwards for half of the time, and inwards for the other."""
    guess = np.where(np.arange(steps) < steps / 2, 0.5, -0.5)
    circle = {"type": "eq", "fun": not_on_circle}
    options = {"maxiter": 1000, "ftol": 1e-12}
    found = optimize.minimize(
        minus_radius, guess, method="SLSQP", constraints=[circle], options=options
    )
    states = fg.jit(fly)(found.x)
    return Flight(found.x, states, float(np.abs(not_on_circle(found.x)).max()))


def check(flight: Flight) -> list[Check]:
    """The orbit is that of the book, and a circle."""
    return [
        Check("radius reached; the book says 1.525", flight.states[-1, 0], at_least=1.525),
        Check("velocity beside that on a circle, difference", flight.apart, at_most=1e-7),
    ]


def draw(flight: Flight, figure: Any) -> None:
    """Draw the orbits, the flight and the thrust."""
    axes = figure.subplots()
    r, around, _, _ = np.concatenate([[[1.0, 0.0, 0.0, 1.0]], flight.states]).T
    circle = np.linspace(0.0, 2.0 * np.pi, 200)
    for radius, color in (1.0, "tab:blue"), (r[-1], "tab:red"):
        axes.plot(radius * np.cos(circle), radius * np.sin(circle), color=color, lw=0.8)
    x, y = r * np.cos(around), r * np.sin(around)
    axes.plot(x, y, color="0.2", lw=1.5)
    along = (
        around[:-1] + 0.5 * np.pi - flight.angles
    )  # the thrust is outwards where its angle is positive
    some = slice(None, None, 3)
    arrows = {"color": "tab:orange", "width": 0.004, "scale": 9.0}
    axes.quiver(x[:-1][some], y[:-1][some], np.cos(along[some]), np.sin(along[some]), **arrows)
    axes.plot(0.0, 0.0, "o", color="gold", ms=14)
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_title("193 days of thrust from the Earth's orbit to that of Mars", fontsize=10)


if __name__ == "__main__":
    main(plan, check, draw)
