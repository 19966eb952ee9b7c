"""Fluids: waves, shocks, pipes and channels."""

import math

import numpy as np

from tests.reading.programs.program import Program


def burgers_upwind(x):
    """Burgers' equation by upwind differences, cell by cell."""
    amplitude, nu = x
    nx, nt = 15, 8
    dx, dt = 2.0 / (nx - 1), 0.02
    grid = np.linspace(0, 2, nx)
    u = 1 + amplitude * np.exp(-8 * (grid - 0.7) ** 2)
    for _ in range(nt):
        un = u.copy()
        for i in range(1, nx - 1):
            u[i] = (
                un[i]
                - un[i] * dt / dx * (un[i] - un[i - 1])
                + nu * dt / dx**2 * (un[i + 1] - 2 * un[i] + un[i - 1])
            )
        u[0] = u[-1] = 1.0
    return np.sum(u**2) * dx


def cavity(x):
    """Steps of the lid-driven cavity with a few sweeps for the pressure; kinetic energy."""
    lid, nu = x
    n, dt, rho = 6, 0.01, 1.0
    h = 1.0 / (n - 1)
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for _ in range(3):
        un, vn = u.copy(), v.copy()
        div = (un[1:-1, 2:] - un[1:-1, :-2] + vn[2:, 1:-1] - vn[:-2, 1:-1]) / (2 * h)
        for _ in range(4):
            pn = p.copy()
            p[1:-1, 1:-1] = 0.25 * (
                pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1] - rho * h**2 / dt * div
            )
            p[:, -1] = p[:, -2]
            p[:, 0] = p[:, 1]
            p[0, :] = p[1, :]
            p[-1, :] = 0
        for w, wn, grad in (
            (u, un, p[1:-1, 2:] - p[1:-1, :-2]),
            (v, vn, p[2:, 1:-1] - p[:-2, 1:-1]),
        ):
            lap = wn[1:-1, 2:] + wn[1:-1, :-2] + wn[2:, 1:-1] + wn[:-2, 1:-1] - 4 * wn[1:-1, 1:-1]
            adv = un[1:-1, 1:-1] * (wn[1:-1, 2:] - wn[1:-1, :-2]) / (2 * h)
            w[1:-1, 1:-1] = wn[1:-1, 1:-1] + dt * (nu * lap / h**2 - adv - grad / (2 * h * rho))
        u[-1, :] = lid
    return 0.5 * np.sum(u**2 + v**2) * h * h


def shallow_water(x):
    """A dam break by Lax and Friedrichs' scheme; depth at a gauge and the mean square of the discharge."""
    left, right = x
    n, g = 20, 9.81
    dx, dt = 1.0 / n, 0.004
    h = np.where(np.arange(n) < n // 2, left, right)
    q = np.zeros(n)
    for _ in range(12):
        F1 = q
        F2 = q**2 / h + 0.5 * g * h**2
        hn, qn = np.empty_like(h), np.empty_like(q)
        hn[1:-1] = 0.5 * (h[2:] + h[:-2]) - dt / (2 * dx) * (F1[2:] - F1[:-2])
        qn[1:-1] = 0.5 * (q[2:] + q[:-2]) - dt / (2 * dx) * (F2[2:] - F2[:-2])
        hn[0], hn[-1] = hn[1], hn[-2]
        qn[0], qn[-1] = -qn[1], -qn[-2]
        h, q = hn, qn
    return h[12] + np.mean(q**2)


def minmod(a, b):
    if a * b <= 0:
        return 0.0
    if abs(a) < abs(b):
        return a
    return b


def limited_advection(x):
    """Advection of a smooth bump with slopes limited by minmod."""
    speed, width = x
    n = 14
    dx = 1.0 / n
    dt = 0.4 * dx
    centres = (np.arange(n) + 0.47) * dx
    u = np.exp(-(((centres - 0.4) / width) ** 2))
    for _ in range(3):
        slopes = np.zeros(n)
        for i in range(n):
            slopes[i] = minmod(u[i] - u[i - 1], u[(i + 1) % n] - u[i])
        flux = speed * (u + 0.5 * (1 - speed * dt / dx) * slopes)
        u = u - dt / dx * (flux - np.roll(flux, 1))
    return np.sum(u**2 * np.sin(3 * centres))


def van_leer_flux(x):
    """One step with van Leer's limiter, written by np.where."""
    u = np.concatenate([[0.1], x, [0.9]])
    d = np.diff(u)
    r = d[:-1] / d[1:]
    phi = np.where(r > 0, 2 * r / (1 + np.abs(r)), 0.0)
    faces = u[1:-1] + 0.25 * phi * d[1:]
    unew = u.copy()
    unew[2:-1] -= 0.3 * (faces[1:] - faces[:-1])
    return np.sqrt(np.sum(unew**2))


def friction_factor(reynolds, roughness):
    if reynolds < 2300:
        return 64 / reynolds
    f = 0.02
    while True:
        inv = -2 * math.log10(roughness / 3.7 + 2.51 / (reynolds * math.sqrt(f)))
        new = 1 / inv**2
        if abs(new - f) < 1e-13:
            break
        f = new
    return new


def pipe_pressure_drop(x):
    """Loss along pipes in a row by Darcy and Weisbach, with Colebrook's friction or that of laminar flow."""
    flow, viscosity = x
    loss = 0.0
    for diameter, length in [(0.1, 20.0), (0.05, 5.0), (0.2, 50.0)]:
        area = math.pi * diameter**2 / 4
        speed = flow / area
        re = speed * diameter / viscosity
        loss += friction_factor(re, 1e-4 / diameter) * length / diameter * speed**2 / (2 * 9.81)
    return loss


def normal_depth(discharge):
    """Depth of uniform flow in a trapezoidal channel by bisection, as Manning has it."""
    b, z, slope, n = 3.0, 1.5, 0.001, 0.025
    lo, hi = 1e-6, 50.0
    for _ in range(60):
        y = (lo + hi) / 2
        A = (b + z * y) * y
        P = b + 2 * y * np.sqrt(1 + z**2)
        if A * (A / P) ** (2 / 3) * np.sqrt(slope) / n > discharge:
            hi = y
        else:
            lo = y
    # two Newton steps, so that the depth is not a binary fraction
    q = lambda y: ((b + z * y) * y) ** (5 / 3) / (b + 2 * y * np.sqrt(1 + z**2)) ** (2 / 3)
    target = discharge * n / np.sqrt(slope)
    for _ in range(2):
        y = y - (q(y) - target) / ((q(y + 1e-4) - q(y - 1e-4)) / 2e-4)
    return y


def hll(UL, UR, gamma=1.4):
    """Flux between two states of a gas by Harten, Lax and van Leer."""

    def split(U):
        rho, m, E = U
        v = m / rho
        p = (gamma - 1) * (E - 0.5 * rho * v**2)
        return v, np.sqrt(gamma * p / rho), np.array([m, m * v + p, v * (E + p)])

    vL, cL, FL = split(UL)
    vR, cR, FR = split(UR)
    SL = min(vL - cL, vR - cR)
    SR = max(vL + cL, vR + cR)
    if SL >= 0:
        return FL
    if SR <= 0:
        return FR
    return (SR * FL - SL * FR + SL * SR * (UR - UL)) / (SR - SL)


def shock_tube(x):
    """Two steps of Sod's tube; total of a functional of the state."""
    pl, pr = x
    n, dx, dt = 6, 0.2, 0.03
    U = np.zeros((n, 3))
    for i in range(n):
        p = pl if i < n // 2 else pr
        rho = 1.0 if i < n // 2 else 0.3
        U[i] = [rho, 0.4 * rho, p / 0.4 + 0.08 * rho]
    for _ in range(2):
        F = [hll(U[i], U[i + 1]) for i in range(n - 1)]
        for i in range(1, n - 1):
            U[i] = U[i] - dt / dx * (F[i] - F[i - 1])
    return U[:, 1].sum() + 0.1 * np.sum(U[:, 0] ** 2)


PROGRAMS = (
    Program(burgers_upwind, [0.8, 0.05], ([0.3, 0.1], [-0.4, 0.02], [1.5, 0.2])),
    Program(cavity, [1.0, 0.1], ([2.0, 0.05], [0.4, 0.3], [-1.5, 0.2])),
    Program(shallow_water, [2.0, 1.0], ([1.5, 1.2], [1.0, 2.5], [3.0, 0.8])),
    Program(limited_advection, [0.7, 0.2], ([0.9, 0.15], [0.3, 0.3], [1.1, 0.25])),
    Program(
        van_leer_flux,
        [0.2, 0.45, 0.5, 0.7, 0.75],
        ([0.3, 0.2, 0.5, 0.8, 0.6], [0.15, 0.25, 0.4, 0.6, 0.85], [0.5, 0.1, 0.6, 0.2, 0.7]),
    ),
    Program(pipe_pressure_drop, [0.01, 1e-6], ([2e-5, 1e-6], [0.001, 1e-5], [0.003, 1e-4])),
    Program(normal_depth, 5.0, (0.3, 12.0, 100.0)),
    Program(shock_tube, [1.0, 0.2], ([0.3, 1.2], [0.02, 0.01], [1.0, 0.95])),
)
