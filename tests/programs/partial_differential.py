"""Finite-difference steps of partial differential equations."""

import numpy as np


def heat_equation(u, k, steps=4):
    for _ in range(steps):
        u = u + k * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


def heat_equation_in_place(u, k, steps=3):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[1]
    return u


def heat_on_a_square(u, k, steps=2):
    u = u.copy()
    for _ in range(steps):
        laplacian = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += k * laplacian
    return u


def wave_equation(u, speed, steps=4):
    before, now = u.copy(), u.copy()
    for _ in range(steps):
        after = np.zeros_like(u)
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + speed**2 * np.diff(now, 2)
        before, now = now, after
    return now


def upwind_advection(u, velocity, steps=3):
    for _ in range(steps):
        left, right = u - np.roll(u, 1), np.roll(u, -1) - u
        u = u - 0.2 * (np.maximum(velocity, 0) * left + np.minimum(velocity, 0) * right)
    return u


def burgers(u, viscosity, dt=0.05, steps=3):
    u = u.copy()
    for _ in range(steps):
        old = u.copy()
        flux = 0.5 * old**2
        u[1:-1] -= 0.5 * dt * (flux[2:] - flux[:-2])
        u[1:-1] += viscosity * dt * (old[2:] - 2 * old[1:-1] + old[:-2])
    return u


def godunov_flux(u, dt=0.2):
    # Godunov 1959, for Burgers' equation.
    left, right = u[:-1], u[1:]
    flux = 0.5 * np.maximum(np.maximum(left, 0) ** 2, np.minimum(right, 0) ** 2)
    out = u.copy()
    out[1:-1] -= dt * np.diff(flux)
    return out


def poisson_by_jacobi(f, sweeps=3):
    u, new = np.zeros_like(f), np.zeros_like(f)
    for _ in range(sweeps):
        new[1:-1, 1:-1] = 0.25 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1]
        )
        u, new = new, u
    return u


def poisson_by_gauss_seidel(f, sweeps=2):
    n, m = f.shape
    u = np.zeros((n, m))
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u


def red_black_relaxation(f, omega, sweeps=2):
    u = np.zeros(f.shape)
    i, j = np.indices(f.shape)
    inside = (i > 0) & (j > 0) & (i < f.shape[0] - 1) & (j < f.shape[1] - 1)
    for sweep in range(2 * sweeps):
        around = np.zeros_like(u)
        around[1:] += u[:-1]
        around[:-1] += u[1:]
        around[:, 1:] += u[:, :-1]
        around[:, :-1] += u[:, 1:]
        colour = inside & ((i + j) % 2 == sweep % 2)
        u = np.where(colour, (1 - omega) * u + omega * (around - f) / 4, u)
    return u


def gray_scott(u, v, feed, kill, steps=2):
    # Pearson 1993, "Complex patterns in a simple system".
    def laplacian(a):
        return sum(np.roll(a, s, axis) for axis in (0, 1) for s in (1, -1)) - 4 * a

    for _ in range(steps):
        reaction = u * v**2
        u, v = (
            u + 0.16 * laplacian(u) - reaction + feed * (1 - u),
            v + 0.08 * laplacian(v) + reaction - (feed + kill) * v,
        )
    return np.array([u, v])


def crank_nicolson(u, k, steps=2):
    n = len(u)
    second = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    for _ in range(steps):
        u = np.linalg.solve(np.eye(n) - k / 2 * second, (np.eye(n) + k / 2 * second) @ u)
    return u


def shallow_water(h, q, dt=0.05, steps=2):
    # Lax-Friedrichs with periodic ends.
    state = np.stack([h, q])
    for _ in range(steps):
        depth, flow = state
        flux = np.stack([flow, flow**2 / depth + 0.5 * depth**2])
        neighbours = np.roll(state, 1, axis=1) + np.roll(state, -1, axis=1)
        difference = np.roll(flux, -1, axis=1) - np.roll(flux, 1, axis=1)
        state = 0.5 * neighbours - 0.5 * dt * difference
    return state


def limited_slopes(u, dt=0.3):
    # A MUSCL step with the minmod limiter: van Leer 1979.
    a, b = np.diff(u, append=u[:1]), np.diff(u, prepend=u[-1:])
    slope = np.where(a * b > 0, np.sign(a) * np.minimum(np.abs(a), np.abs(b)), 0.0)
    face = u + 0.5 * (1 - dt) * slope
    return u - dt * (face - np.roll(face, 1))


def total_variation(image):
    dy, dx = np.gradient(image)
    return np.sum(np.sqrt(dx**2 + dy**2 + 0.01)) + np.hypot(*np.gradient(image, 0.5)).max()


def inputs(rng):
    n = rng.normal
    k = np.float64(0.2)
    return {
        "heat_equation": (n(size=6), k),
        "heat_equation_in_place": (n(size=6), k),
        "heat_on_a_square": (n(size=(4, 5)), k),
        "wave_equation": (n(size=6), np.float64(0.8)),
        "upwind_advection": (n(size=6), n(size=6)),
        "burgers": (n(size=6), k),
        "godunov_flux": (n(size=6),),
        "poisson_by_jacobi": (n(size=(4, 5)),),
        "poisson_by_gauss_seidel": (n(size=(4, 4)),),
        "red_black_relaxation": (n(size=(4, 5)), np.float64(1.3)),
        "gray_scott": (1 + n(size=(3, 4)) / 9, n(size=(3, 4)) / 9, k / 4, k / 3),
        "crank_nicolson": (n(size=5), k),
        "shallow_water": (3 + n(size=5) / 3, n(size=5)),
        "limited_slopes": (n(size=6),),
        "total_variation": (n(size=(3, 4)),),
    }


NOT_OVERRIDABLE = {
    "poisson_by_gauss_seidel": "assigns to np.zeros",
    "gray_scott": "np.array",
}
LOOKS_AT_VALUES = {}
