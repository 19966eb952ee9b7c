"""Heat, waves and other equations of grids, with slices in place and double loops."""

import numpy as np

from tests.reading.programs.program import Program


def heat_rod(x):
    """A rod heated at one end, step by step in place."""
    k, T_left = x
    n = 12
    dx, dt = 1.0 / n, 0.002
    T = np.zeros(n)
    T[0] = T_left
    for _ in range(30):
        T[1:-1] += k * dt / dx**2 * (T[2:] - 2 * T[1:-1] + T[:-2])
        T[-1] = T[-2]
    return T.mean() + T[n // 2]


def heat_plate(x):
    """A plate by double loops, with a hot spot where the indices say so."""
    alpha, hot = x
    n = 7
    T = np.full((n, n), 20.0)
    for _ in range(5):
        Tn = T.copy()
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                if i == 3 and j == 2:
                    T[i, j] = hot
                    continue
                T[i, j] = Tn[i, j] + alpha * (
                    Tn[i + 1, j] + Tn[i - 1, j] + Tn[i, j + 1] + Tn[i, j - 1] - 4 * Tn[i, j]
                )
    return np.sqrt(np.mean((T - 20.0) ** 2)) + T[4, 4]


def wave_string(f):
    """A plucked string by the leapfrog scheme; energy after a while."""
    n = len(f) + 2
    c2 = 0.64
    old = np.zeros(n)
    old[1:-1] = f
    now = old.copy()
    now[1:-1] = old[1:-1] + 0.5 * c2 * (old[2:] - 2 * old[1:-1] + old[:-2])
    for _ in range(15):
        new = np.zeros_like(now)
        new[1:-1] = 2 * now[1:-1] - old[1:-1] + c2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        old, now = now, new
    return np.sum((now - old) ** 2) + c2 * np.sum(np.diff(now) ** 2)


def crank_nicolson(x):
    """Diffusion by Crank and Nicolson with dense matrices."""
    D, amplitude = x
    n, dt = 10, 0.01
    grid = np.linspace(0, 1, n)
    r = D * dt / (2 * (grid[1] - grid[0]) ** 2)
    A = np.zeros((n, n))
    B = np.zeros((n, n))
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = [-r, 1 + 2 * r, -r]
        B[i, i - 1 : i + 2] = [r, 1 - 2 * r, r]
    A[0, 0] = A[-1, -1] = B[0, 0] = B[-1, -1] = 1
    u = amplitude * np.sin(np.pi * grid) + grid
    for _ in range(6):
        u = np.linalg.solve(A, B @ u)
    return float(np.trapezoid(u**2, grid))


def fin_efficiency(x):
    """A cooling fin with radiation, by Gauss and Seidel's sweeps until they converge."""
    h, k = x
    n, base = 5, 400.0
    T = np.full(n, base)
    m2 = h / k * 0.01
    for _ in range(400):
        change = 0.0
        for i in range(1, n):
            right = T[i + 1] if i + 1 < n else T[i - 1]
            new = (T[i - 1] + right + m2 * 300.0) / (2 + m2)
            change = max(change, abs(new - T[i]))
            T[i] = new
        if change < 1e-10:
            break
    return np.mean(T - 300.0) / (base - 300.0)


def stefan_front(x):
    """Ice on a pond by degree days; it melts when air is warm, and is never less than nothing."""
    k, latent = x
    thickness = 0.05
    air = [-5.0, -12.0, -20.0, -8.0, 3.0, 6.0, -2.0, -10.0]
    total = 0.0
    for t in air:
        if t < 0:
            thickness += 86400 * k * (-t) / (latent * 917 * thickness)
        else:
            thickness = max(thickness - 0.02 * t, 0.01)
        total += thickness
    return total / len(air)


def gray_scott(x):
    """Reaction and diffusion of two species on a ring."""
    feed, kill = x
    n = 16
    u, v = np.ones(n), np.zeros(n)
    u[6:10] = 0.5
    v[6:10] = 0.25
    for _ in range(10):
        lu = np.roll(u, 1) + np.roll(u, -1) - 2 * u
        lv = np.roll(v, 1) + np.roll(v, -1) - 2 * v
        uvv = u * v * v
        u += 0.16 * lu - uvv + feed * (1 - u)
        v += 0.08 * lv + uvv - (feed + kill) * v
    return np.sum(v) + u.min()


def perona_malik(kappa):
    """Two steps of edge-preserving smoothing of an image; what is left of its roughness."""
    i, j = np.indices((6, 6))
    img = np.where(i + j > 5, 1.0, 0.2) + 0.05 * np.sin(3.0 * i + j)
    for _ in range(2):
        north = np.zeros_like(img)
        west = np.zeros_like(img)
        north[1:, :] = img[:-1, :] - img[1:, :]
        west[:, 1:] = img[:, :-1] - img[:, 1:]
        for d, axis in ((north, 0), (west, 1)):
            flow = d * np.exp(-((d / kappa) ** 2))
            img = img + 0.2 * flow
            if axis == 0:
                img[:-1, :] -= 0.2 * flow[1:, :]
            else:
                img[:, :-1] -= 0.2 * flow[:, 1:]
    return np.sum(np.diff(img, axis=0) ** 2) + np.sum(np.diff(img, axis=1) ** 2)


PROGRAMS = (
    Program(heat_rod, [0.8, 100.0], ([1.5, 20.0], [0.2, -40.0], [1.0, 300.0])),
    Program(heat_plate, [0.15, 90.0], ([0.2, 60.0], [0.05, 250.0], [0.1, -30.0])),
    Program(
        wave_string,
        [0.1, 0.3, 0.5, 0.4, 0.2],
        ([0.0, 0.1, 0.0, -0.1, 0.0], [1.0, 0.8, 0.6, 0.4, 0.2], [0.2, -0.3, 0.4, -0.5, 0.1]),
    ),
    Program(crank_nicolson, [1.0, 0.8], ([0.1, -0.5], [3.0, 2.0], [0.5, 0.1])),
    Program(fin_efficiency, [25.0, 0.8], ([5.0, 2.0], [100.0, 0.4], [60.0, 0.2])),
    Program(stefan_front, [2.2, 334000.0], ([1.0, 334000.0], [0.3, 400000.0], [3.0, 250000.0])),
    Program(gray_scott, [0.04, 0.06], ([0.02, 0.05], [0.06, 0.062], [0.03, 0.1])),
    Program(perona_malik, 0.3, (0.1, 1.0, 5.0)),
)
