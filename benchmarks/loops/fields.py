"""Applications on grids: advection, waves, flows, spectra, heat, spins."""

import numpy as np

from benchmarks.loops.application import STEPS, application, numbers


def advection(steps, u, speed):
    """Return a quantity that is carried along a ring, by upwind differences."""
    u = u.copy()
    n = len(u)
    for _ in range(steps):
        before = u.copy()
        for i in range(n):
            u[i] = before[i] - 0.4 * speed[i] * (before[i] - before[i - 1])
    return u


def wave_2d(steps, u, c):
    """Return a membrane that swings, its edges held."""
    past, now = u.copy(), u.copy()
    for _ in range(steps):
        after = now.copy()
        bent = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        after[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - past[1:-1, 1:-1] + 0.1 * c[1:-1, 1:-1] * bent
        past, now = now, after
    return now


def poisson(p, b, d, rounds):
    """Return the pressure after some rounds of Jacobi."""
    for _ in range(rounds):
        q = p.copy()
        p[1:-1, 1:-1] = (
            (q[1:-1, 2:] + q[1:-1, :-2] + q[2:, 1:-1] + q[:-2, 1:-1]) - d * d * b[1:-1, 1:-1]
        ) / 4
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0
    return p


def divergence(u, v, d, dt):
    """Return the source of the pressure."""
    b = np.zeros(u.shape)
    ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * d)
    vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * d)
    uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * d)
    vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * d)
    b[1:-1, 1:-1] = (ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2
    return b


def moved(u, v, w, p_along, nu, d, dt):
    """Return the inner part of a component of the velocity after a step."""
    inner = w[1:-1, 1:-1]
    return (
        inner
        - u[1:-1, 1:-1] * dt / d * (inner - w[1:-1, :-2])
        - v[1:-1, 1:-1] * dt / d * (inner - w[:-2, 1:-1])
        - dt / (2 * d) * p_along
        + nu * dt / d**2 * (w[1:-1, 2:] + w[1:-1, :-2] + w[2:, 1:-1] + w[:-2, 1:-1] - 4 * inner)
    )


def cavity_flow(steps, lid, u, v):
    """Return the flow in a box whose lid slides (after L. Barba's twelve steps)."""
    u, v, p = u.copy(), v.copy(), np.zeros(u.shape)
    d, dt, nu = 2.0 / (len(u) - 1), 0.001, 0.1
    for _ in range(steps):
        before, across = u.copy(), v.copy()
        p = poisson(p, divergence(before, across, d, dt), d, 5)
        u[1:-1, 1:-1] = moved(before, across, before, p[1:-1, 2:] - p[1:-1, :-2], nu, d, dt)
        v[1:-1, 1:-1] = moved(before, across, across, p[2:, 1:-1] - p[:-2, 1:-1], nu, d, dt)
        u[0, :] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = 0.0
        u[-1, :] = lid
        v[0, :] = 0.0
        v[-1, :] = 0.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0
    return np.stack([u, v])


def channel_flow(steps, force, u, nu):
    """Return the flow between two plates that a force drives, periodic along them."""
    u = u.copy()
    n, d, dt = len(u), 1.0 / len(u), 0.05 / len(u) ** 2
    for _ in range(steps):
        before = u.copy()
        for i in range(1, n - 1):
            for j in range(n):
                bent = before[i + 1, j] + before[i - 1, j] + before[i, (j + 1) % n]
                bent += before[i, j - 1] - 4 * before[i, j]
                slope = before[i, j] - before[i, j - 1]
                u[i, j] = before[i, j] + dt * (force + nu / d**2 * bent - before[i, j] / d * slope)
    return u


def heat_by_spectra(steps, u, kappa):
    """Return heat that spreads on a ring, each step exact in Fourier space, and reacts."""
    waves = np.fft.fftfreq(len(u), 1.0 / len(u))
    for _ in range(steps):
        u = np.fft.ifft(np.exp(-kappa * 0.001 * waves**2) * np.fft.fft(u)).real
        u = u + 0.01 * u * (1.0 - u)
    return u


def crank_nicolson(steps, u, k):
    """Return heat in a rod by implicit steps: a tridiagonal system each, by Thomas' algorithm."""
    u = u.copy()
    n = len(u)
    c, d = np.zeros(n), np.zeros(n)
    for _ in range(steps):
        c[0] = 0.0
        d[0] = u[0]
        for i in range(1, n - 1):
            right = u[i] + 0.5 * k[i] * (u[i - 1] - 2 * u[i] + u[i + 1])
            pivot = 1.0 + k[i] + 0.5 * k[i] * c[i - 1]
            c[i] = -0.5 * k[i] / pivot
            d[i] = (right + 0.5 * k[i] * d[i - 1]) / pivot
        for i in range(n - 2, 0, -1):
            u[i] = d[i] - c[i] * u[i + 1]
    return u


def ising(spins, draws, coupling):
    """Return spins after sweeps, each turned with the probability that its neighbours give it; and their softened energy."""
    spins = spins.copy()
    n = len(spins)
    energy = np.zeros(len(draws))
    for t in range(len(draws)):
        for i in range(n):
            for j in range(n):
                near = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1]
                near = near + spins[i, (j + 1) % n]
                cost = 2.0 * coupling * spins[i, j] * near
                if draws[t, i, j] < np.exp(-cost):
                    spins[i, j] = -spins[i, j]
                energy[t] -= np.tanh(coupling * near)
    return energy


def mandelbrot(rounds, re, im):
    """Return after how many rounds points leave, smoothed."""
    count = np.zeros((len(im), len(re)))
    for i in range(len(im)):
        for j in range(len(re)):
            x, y = 0.0, 0.0
            for _ in range(rounds):
                if x * x + y * y < 4.0:
                    x, y = x * x - y * y + re[j], 2.0 * x * y + im[i]
                    count[i, j] += 1.0 / (1.0 + x * x + y * y)
    return count


APPLICATIONS = [
    application(advection, lambda n: (STEPS, numbers(0, n * n), numbers(1, n * n)), (1, 2), (0,)),
    application(wave_2d, lambda n: (STEPS, numbers(0, n, n), numbers(1, n, n)), (1, 2), (0,)),
    application(
        cavity_flow,
        lambda n: (STEPS, 1.0, 0.1 * numbers(0, n, n), 0.1 * numbers(1, n, n)),
        (1, 2),
        (0,),
    ),
    application(channel_flow, lambda n: (STEPS, 1.0, numbers(0, n, n), 0.5), (2, 3), (0,)),
    application(heat_by_spectra, lambda n: (STEPS, numbers(0, n * n), 0.7), (1, 2), (0,)),
    application(
        crank_nicolson, lambda n: (STEPS, numbers(0, n * n), numbers(1, n * n)), (1, 2), (0,)
    ),
    application(
        ising,
        lambda n: (np.sign(numbers(0, n, n) - 1.0), numbers(1, 3, n, n) - 0.5, 0.4),
        (2,),
    ),
    application(
        mandelbrot,
        lambda n: (20, np.linspace(-1.9, 0.5, n), np.linspace(-1.1, 1.0, n)),
        (1, 2),
        (0,),
        piecewise=True,
    ),
]
