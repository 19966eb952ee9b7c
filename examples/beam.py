"""Find the stiffest beam that half the material allows.

Topology optimisation in the way of O. Sigmund's "99 line" and E. Andreassen et al.'s "88 line" codes
(2001, 2011). Half of a beam on two supports carries a load in its middle. It is cut into 60 x 20
elements, each filled to a density between 0 and 1; stiffness goes with its third power, which makes
what lies between not worth its weight. The compliance, the load times how far it sinks, is to be
as small as can be.

- `loads` is K(x) @ u, assembled in place: each element adds its eight forces to those of its nodes.
- `custom_linear_solve` solves K(x) u = f with SciPy's sparse elimination; the derivative of the
  solution is one more solve with the same matrix, not a derivative of the elimination.
- The designs improve by optimality criteria, from the gradients of compliance and of volume.

The sensitivity of the compliance, which those papers derive on paper, is the second check.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from outcome import Check, main

import fungrad as fg
from fungrad import lax

WIDE, HIGH, VOLUME, RADIUS, ITERATIONS = 60, 20, 0.5, 1.5, 60


class Design(NamedTuple):
    """The densities of all iterations, their compliances, and how exact the gradient is."""

    densities: list[Any]
    compliances: list[float]
    difference: float


def stiffness() -> Any:
    """Return the stiffness of a full square element in plane stress, with Poisson's ratio 0.3."""
    nu = 0.3
    k = np.array([1/2 - nu/6, 1/8 + nu/8, -1/4 - nu/12, -1/8 + 3*nu/8,
                  -1/4 + nu/12, -1/8 - nu/8, nu/6, 1/8 - 3*nu/8]) / (1 - nu**2)  # fmt: skip
    order = ["01234567", "10765432", "27056341", "36507214", "45670123", "54321076", "63412705", "72143650"]  # fmt: skip
    return k[[[int(digit) for digit in row] for row in order]]


def nodes() -> tuple[Any, Any]:
    """Return the eight numbers of each element's displacements, and which of all can move."""
    number = np.arange((WIDE + 1) * (HIGH + 1)).reshape(WIDE + 1, HIGH + 1)
    corners = [number[:-1, 1:], number[1:, 1:], number[1:, :-1], number[:-1, :-1]]
    edofs = np.stack([2 * c.ravel() + axis for c in corners for axis in (0, 1)], axis=1)
    free = np.ones(2 * number.size)
    free[2 * number[0]] = 0.0  # the middle of the beam stays in the middle
    free[2 * number[-1, -1] + 1] = 0.0  # the support
    return edofs, free


def smoother() -> Any:
    """Return the matrix that averages densities with those of neighbours."""
    column, row = np.divmod(np.arange(WIDE * HIGH), HIGH)
    apart = np.hypot(column[:, None] - column, row[:, None] - row)
    weights = np.maximum(RADIUS - apart, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


KE, (EDOFS, FREE) = stiffness(), nodes()
FORCE = np.zeros(FREE.size)
FORCE[1] = -1.0  # at the top, in the middle


def loads(young: Any, u: Any) -> Any:
    """Return the forces that displacements take; what is held in place counts for itself."""
    of_elements = young[:, None] * (FREE * u)[EDOFS] @ KE
    forces = np.zeros_like(of_elements, shape=FREE.shape)
    np.add.at(forces, EDOFS, of_elements)
    return np.where(FREE, forces, u)


def eliminate(young: Any, b: Any) -> Any:
    """Solve K u = b with the sparse matrix K, for given values."""
    rows, columns = np.repeat(EDOFS, 8, axis=1).ravel(), np.tile(EDOFS, 8).ravel()
    values = (young[:, None, None] * KE).ravel() * FREE[rows] * FREE[columns]
    held = scipy.sparse.diags_array(1.0 - FREE)
    K = scipy.sparse.coo_array((values, (rows, columns)), shape=held.shape) + held
    return scipy.sparse.linalg.spsolve(K.tocsc(), b)


def displacements(x: Any) -> Any:
    """Return how the beam of the given densities bends."""
    young = 1e-9 + x**3 * (1.0 - 1e-9)
    solve = lambda matvec, b: fg.pure_callback(eliminate, b, young, b)
    return lax.custom_linear_solve(lambda u: loads(young, u), FORCE, solve, symmetric=True)


def compliance(x: Any) -> Any:
    """Return the load times how far it sinks."""
    return FORCE @ displacements(x)


def by_hand(x: Any) -> Any:
    """Return the gradient of the compliance as in the papers."""
    of_elements = displacements(x)[EDOFS]
    return -3.0 * x**2 * (1.0 - 1e-9) * np.einsum("ei,ij,ej->e", of_elements, KE, of_elements)


def improved(x: Any, slope: Any, volume_slope: Any) -> Any:
    """Return the design of optimality criteria; a bisection finds the price of material."""
    low, high = 1e-9, 1e9
    while (high - low) / (high + low) > 1e-6:
        price = np.sqrt(low * high)
        factor = np.sqrt(np.maximum(-slope, 0.0) / (price * volume_slope))
        new = np.clip(x * factor, np.maximum(x - 0.2, 0.0), np.minimum(x + 0.2, 1.0))
        low, high = (price, high) if volume_slope @ new > VOLUME * x.size else (low, price)
    return new


def optimise(iterations: int = ITERATIONS) -> Design:
    """Start with grey everywhere."""
    H = smoother()
    both = fg.jit(fg.value_and_grad(lambda x: compliance(H @ x)))
    volume_slope = fg.grad(lambda x: (H @ x).sum())(np.zeros(WIDE * HIGH))
    x = np.full(WIDE * HIGH, VOLUME)
    densities, compliances = [H @ x], []
    for _ in range(iterations):
        value, slope = both(x)
        compliances.append(float(value))
        x = improved(x, slope, volume_slope)
        densities.append(H @ x)
    exact = by_hand(H @ x) @ H
    return Design(densities, compliances, abs(both(x)[1] - exact).max() / abs(exact).max())


def check(design: Design) -> list[Check]:
    """The beam is stiff, and the gradient is that of the papers."""
    return [
        Check(
            "compliance of half a beam; of even grey it is 1007",
            design.compliances[-1],
            at_most=225.0,
        ),
        Check("gradient beside that on paper, difference", design.difference, at_most=1e-10),
    ]


def draw(design: Design, figure: Any) -> None:
    """Draw the whole beam, at the start, on the way and at the end."""
    moments = [0, 5, 15, len(design.densities) - 1]
    for axes, k in zip(figure.subplots(4, 1), moments, strict=True):
        half = design.densities[k].reshape(WIDE, HIGH).T
        axes.imshow(np.hstack([half[:, ::-1], half]), cmap="gray_r", vmin=0.0, vmax=1.0)
        value = compliance(design.densities[k])
        axes.set_title(f"iteration {k}: compliance {value:.1f}", fontsize=8)
        axes.axis("off")


if __name__ == "__main__":
    main(optimise, check, draw)
