"""Integrators of ordinary differential equations."""

import numpy as np


def runge_kutta(f, y, dt):
    k1 = f(y)
    k2 = f(y + dt / 2 * k1)
    k3 = f(y + dt / 2 * k2)
    k4 = f(y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def logistic_growth_by_euler(y, rate, capacity, dt=0.1, steps=8):
    path = [y]
    for _ in range(steps):
        path.append(path[-1] + dt * rate * path[-1] * (1 - path[-1] / capacity))
    return np.array(path)


def lorenz(state, parameters, dt=0.02, steps=4):
    sigma, rho, beta = parameters

    def f(s):
        x, y, z = s
        return np.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])

    for _ in range(steps):
        state = runge_kutta(f, state, dt)
    return state


def lorenz_with_array(state, rho, dt=0.02, steps=3):
    def f(s):
        return np.array([10 * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - s[2]])

    return runge_kutta(f, runge_kutta(f, state, dt), dt) * steps


def pendulum_trajectory(angle, velocity, damping, dt=0.1, steps=6):
    trajectory = np.zeros((steps, 2))
    for i in range(steps):
        velocity = velocity - dt * (np.sin(angle) + damping * velocity)
        angle = angle + dt * velocity
        trajectory[i] = angle, velocity
    return trajectory


def leapfrog_bodies(position, velocity, mass, dt=0.05, steps=3):
    def acceleration(x):
        d = x[None, :, :] - x[:, None, :]
        r2 = np.sum(d**2, axis=-1) + 0.1
        return np.sum(mass[None, :, None] * d / r2[..., None] ** 1.5, axis=1)

    x, v = position.copy(), velocity.copy()
    a = acceleration(x)
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = acceleration(x)
        v += 0.5 * dt * a
    return x


def bodies_pair_by_pair(position, mass):
    force = np.zeros_like(position)
    for i in range(len(mass)):
        for j in range(i):
            d = position[j] - position[i]
            pull = mass[i] * mass[j] * d / (d @ d + 0.1) ** 1.5
            force[i] += pull
            force[j] -= pull
    return force


def adaptive_euler(y, tolerance=1e-2):
    t, dt = 0.0, 0.5
    while t < 1 - 1e-12:
        dt = min(dt, 1 - t)
        whole = y + dt * np.cos(y)
        half = y + dt / 2 * np.cos(y)
        half = half + dt / 2 * np.cos(half)
        if np.abs(whole - half).max() > tolerance:
            dt /= 2
        else:
            t, y = t + dt, half
            dt *= 1.5
    return y


def implicit_step_by_newton(y, k, dt=0.1):
    new = y.copy()
    for _ in range(6):
        residual = new - y + dt * k * new**3
        new = new - residual / (1 + 3 * dt * k * new**2)
    return new


def lotka_volterra_history(state, rates, dt=0.05, steps=4):
    a, b, c, d = rates
    history = np.empty((steps + 1, 2))
    history[0] = state
    for n in range(steps):
        x, y = history[n]
        history[n + 1, 0] = x + dt * (a * x - b * x * y)
        history[n + 1, 1] = y + dt * (-c * y + d * x * y)
    return history


def adams_bashforth(y, dt=0.1, steps=4):
    slopes = [np.sin(y), np.sin(y + dt * np.sin(y))]
    for _ in range(steps):
        y = y + dt * (1.5 * slopes[-1] - 0.5 * slopes[-2])
        slopes.append(np.sin(y))
    return np.stack(slopes, axis=-1)


def coupled_oscillators(phase, frequency, coupling, dt=0.1, steps=3):
    # Kuramoto 1975.
    for _ in range(steps):
        pull = np.sin(np.subtract.outer(phase, phase)).mean(axis=0)
        phase = np.mod(phase + dt * (frequency + coupling * pull), 2 * np.pi)
    return np.abs(np.exp(1j * phase).mean()), phase


def inputs(rng):
    n = rng.normal
    number = np.float64
    return {
        "logistic_growth_by_euler": (number(0.3), number(1.2), number(2.0)),
        "lorenz": (np.array([1.0, 1.2, 9.0]), np.array([10.0, 28.0, 8 / 3])),
        "lorenz_with_array": (np.array([1.0, 1.2, 9.0]), number(28.0)),
        "pendulum_trajectory": (number(0.8), number(-0.2), number(0.3)),
        "leapfrog_bodies": (n(size=(3, 2)), n(size=(3, 2)), rng.uniform(0.5, 2, 3)),
        "bodies_pair_by_pair": (n(size=(3, 2)), rng.uniform(0.5, 2, 3)),
        "adaptive_euler": (n(size=3),),
        "implicit_step_by_newton": (n(size=3), number(2.0)),
        "lotka_volterra_history": (np.array([1.0, 0.6]), np.array([1.1, 0.4, 0.5, 0.2])),
        "adams_bashforth": (n(size=3),),
        "coupled_oscillators": (rng.uniform(1, 5, 4), n(size=4), number(0.7)),
    }


NOT_OVERRIDABLE = {
    "logistic_growth_by_euler": "np.array",
    "lorenz_with_array": "np.array",
    "pendulum_trajectory": "assigns to np.zeros",
    "lotka_volterra_history": "assigns to np.empty",
}
LOOKS_AT_VALUES = {"adaptive_euler": "while"}
