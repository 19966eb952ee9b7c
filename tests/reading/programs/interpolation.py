"""Interpolation: tables, splines, grids."""

import bisect
import math

import numpy as np

from tests.reading.programs.program import Program

ALTITUDE = np.array([0.0, 11.0, 20.0, 32.0, 47.0])
TEMPERATURE = np.array([288.15, 216.65, 216.65, 228.65, 270.65])


def standard_atmosphere(h):
    """Pressure at a height, layer by layer."""
    g, M, R = 9.80665, 0.0289644, 8.31446
    base = [0.0, 11.0, 20.0]
    temps = [288.15, 216.65, 216.65]
    lapse = [-6.5, 0.0, 1.0]
    p = 101325.0
    for i in range(3):
        top = base[i + 1] if i < 2 else 32.0
        z = min(h, top)
        if lapse[i] == 0.0:
            p *= math.exp(-g * M * 1000 * (z - base[i]) / (R * temps[i]))
        else:
            T = temps[i] + lapse[i] * (z - base[i])
            p *= (T / temps[i]) ** (-g * M * 1000 / (R * lapse[i]))
        if h <= top:
            break
    return math.log(p)


def table_lookup(x):
    """Linear interpolation by np.interp, at points that the argument moves."""
    heights = np.linspace(0.3, 1.0, 5) * x
    T = np.interp(heights, ALTITUDE, TEMPERATURE)
    return np.sum(T * heights) / 1000


def table_bisect(h):
    """The same by the module bisect, with the ends kept."""
    xs = ALTITUDE.tolist()
    i = bisect.bisect_right(xs, h) - 1
    i = max(0, min(i, len(xs) - 2))
    w = (h - xs[i]) / (xs[i + 1] - xs[i])
    w = min(max(w, 0.0), 1.0)
    return (1 - w) * TEMPERATURE[i] + w * TEMPERATURE[i + 1] + 0.01 * h**2


def newton_polynomial(y):
    """Divided differences of values, and the polynomial by Horner's rule."""
    x = np.array([-1.0, 0.0, 1.5, 2.0])
    c = y.copy()
    n = len(x)
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            c[i] = (c[i] - c[i - 1]) / (x[i] - x[i - j])
    result = c[-1]
    for k in range(n - 2, -1, -1):
        result = result * (0.7 - x[k]) + c[k]
    return result**2 + np.abs(c[1])


def natural_spline(y):
    """A natural cubic spline built by a tridiagonal system, at a place found by np.searchsorted."""
    x = np.array([0.0, 1.0, 2.5, 3.0, 4.0])
    n = len(x)
    h = np.diff(x)
    A = np.zeros((n, n))
    rhs = np.zeros(n)
    A[0, 0] = A[-1, -1] = 1.0
    for i in range(1, n - 1):
        A[i, i - 1] = h[i - 1]
        A[i, i] = 2 * (h[i - 1] + h[i])
        A[i, i + 1] = h[i]
        rhs[i] = 6 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
    m = np.linalg.solve(A, rhs)
    total = 0.0
    for q in (0.4, 2.7, 3.6):
        i = np.searchsorted(x, q) - 1
        a, b = x[i + 1] - q, q - x[i]
        s = (m[i] * a**3 + m[i + 1] * b**3) / (6 * h[i])
        s += (y[i] / h[i] - m[i] * h[i] / 6) * a + (y[i + 1] / h[i] - m[i + 1] * h[i] / 6) * b
        total += s**2
    return total


def bilinear(p):
    """A height map between its grid points."""
    terrain = np.array([[0.0, 1.0, 0.5], [2.0, 1.5, 0.2], [1.0, 3.0, 2.5]])
    i, j = int(np.floor(p[0])), int(np.floor(p[1]))
    i = min(max(i, 0), terrain.shape[0] - 2)
    j = min(max(j, 0), terrain.shape[1] - 2)
    u, v = p[0] - i, p[1] - j
    return (
        terrain[i, j] * (1 - u) * (1 - v)
        + terrain[i + 1, j] * u * (1 - v)
        + terrain[i, j + 1] * (1 - u) * v
        + terrain[i + 1, j + 1] * u * v
    )


def shepard(p):
    """Inverse distance weighting of stations; at a station, what it says."""
    stations = [(0.0, 0.0, 12.0), (2.0, 0.5, 15.0), (1.0, 2.0, 9.0)]
    num, den = 0.0, 0.0
    for sx, sy, value in stations:
        d2 = (p[0] - sx) ** 2 + (p[1] - sy) ** 2
        if d2 < 1e-12:
            return value
        if d2 > 4.0:
            continue
        num += value / d2
        den += 1 / d2
    return num / den


def akima_slope(y):
    """Slopes of Akima's interpolation, with the mean where the weights vanish."""
    d = np.diff(y)
    d = np.append(np.insert(d, 0, 2 * d[0] - d[1]), 2 * d[-1] - d[-2])
    slopes = []
    for i in range(1, len(d) - 2):
        w1, w2 = np.abs(d[i + 2] - d[i + 1]), np.abs(d[i] - d[i - 1])
        if w1 + w2 < 1e-9:
            slopes.append((d[i] + d[i + 1]) / 2)
        else:
            slopes.append((w1 * d[i] + w2 * d[i + 1]) / (w1 + w2))
    return np.sum(np.array(slopes) ** 2)


PROGRAMS = (
    Program(standard_atmosphere, 8.0, (2.0, 15.0, 27.0)),
    Program(table_lookup, 15.0, (5.0, 30.0, 42.0)),
    Program(table_bisect, 14.0, (5.0, 40.0, 60.0)),
    Program(
        newton_polynomial, [1.0, 0.5, -0.4, 2.0], ([1, 2, 3, 4.5], [0.0, 1, 0, 1], [-2, -3, 5, 1])
    ),
    Program(
        natural_spline,
        [1.0, 2.0, 0.5, -1.0, 0.3],
        ([0, 1, 0, 1, 0], [1, 1.2, 3, 4, 4.5], [-1, 2, -1, 2, 5]),
    ),
    Program(bilinear, [0.4, 1.3], ([1.7, 0.2], [1.2, 1.9], [-0.5, 2.4])),
    Program(shepard, [0.8, 0.6], ([1.8, 0.1], [0.2, 1.7], [1.1, 1.5])),
    Program(
        akima_slope,
        [0.0, 1.0, 0.5, 2.0, 2.2, 1.0],
        ([1, 2, 4, 8, 16, 33], [0, 1, 0, 1.5, 0, 2], [5, 3.1, 2, 1.4, 1, 0.1]),
    ),
)
