"""Waves in layers, hulls, splines and systems of equations of SciPy's."""

import bisect
import math
from math import radians, sin

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sps
import scipy.sparse.linalg as spla
from scipy.integrate import cumulative_trapezoid, simpson
from scipy.interpolate import BSpline, RegularGridInterpolator
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter, savgol_filter
from scipy.spatial.transform import Rotation

from tests.reading.programs.program import Program


def manning_depth(q):
    """Normal depth in a pipe, by the secant method with a while and a counter."""
    d, slope, n = 1.0, 0.002, 0.013

    def flow(y):
        th = 2 * math.acos(1 - 2 * y / d)
        area = d**2 / 8 * (th - math.sin(th))
        return area * (area / (d * th / 2)) ** (2 / 3) * math.sqrt(slope) / n - q

    y0, y1 = 0.3, 0.4
    count = 0
    while abs(y1 - y0) > 1e-12:
        f0, f1 = flow(y0), flow(y1)
        y0, y1 = y1, y1 - f1 * (y1 - y0) / (f1 - f0)
        y1 = min(max(y1, 0.01), 0.93)
        count += 1
        if count > 50:
            raise ValueError("diverged")
    return y1


def water_hammer(a):
    n = 12
    h, v = np.full(n, 20.0), np.full(n, 1.0)
    g = 9.81
    top = []
    for t in range(20):
        hn, vn = h.copy(), v.copy()
        hn[1:-1] = 0.5 * (h[:-2] + h[2:]) + a / (2 * g) * (v[:-2] - v[2:])
        vn[1:-1] = 0.5 * (v[:-2] + v[2:]) + g / (2 * a) * (h[:-2] - h[2:])
        hn[0], vn[0] = 20.0, v[1] + g / a * (20.0 - h[1])
        vn[-1] = max(0.0, 1 - t / 5)
        hn[-1] = h[-2] + a / g * (v[-2] - vn[-1])
        h, v = hn, vn
        top.append(h.max())
    return max(top) / 100


def thin_film_stack(n2):
    n = [1.0, 1.38, n2, 1.52]
    out = 0.0
    for lam in (450.0, 550.0, 650.0):
        M = np.eye(2, dtype=complex)
        for idx, thick in ((1, 99.6), (2, 130.0)):
            phi = 2 * np.pi * n[idx] * thick / lam
            M = M @ np.array(
                [[np.cos(phi), 1j * np.sin(phi) / n[idx]], [1j * n[idx] * np.sin(phi), np.cos(phi)]]
            )
        b, c = M @ np.array([1.0, n[-1]])
        r = (n[0] * b - c) / (n[0] * b + c)
        out += abs(r) ** 2
    return out


def zernike_spot(c):
    rho, th = np.meshgrid(np.linspace(0.05, 1, 6), np.linspace(0, 2 * np.pi, 9)[:-1])
    terms = {
        "defocus": np.sqrt(3) * (2 * rho**2 - 1),
        "astig": np.sqrt(6) * rho**2 * np.cos(2 * th),
        "coma": np.sqrt(8) * (3 * rho**3 - 2 * rho) * np.sin(th),
    }
    W = sum(a * z for a, z in zip(c, terms.values()))
    strehl = np.abs(np.average(np.exp(2j * np.pi * W), weights=rho)) ** 2
    return float(strehl) + W.ptp() if hasattr(W, "ptp") else float(strehl) + np.ptp(W)


def snell_stack(deg):
    theta = radians(deg)
    n = 1.0
    depth = 0.0
    for layer_n, thick in ((1.33, 1.0), (1.0, 0.5), (1.5, 2.0)):
        s = n * sin(theta) / layer_n
        if s >= 1:
            return depth + s
        theta = math.asin(s)
        depth += thick * math.tan(theta)
        n = layer_n
    return depth


def convex_hull_area(p):
    pts = sorted([(0.0, 0.0), (2.0, 0.1), (p[0], p[1]), (1.0, 2.0), (1.1, 0.9)])

    def half(points):
        chain = []
        for q in points:
            while (
                len(chain) >= 2
                and (chain[-1][0] - chain[-2][0]) * (q[1] - chain[-2][1])
                - (chain[-1][1] - chain[-2][1]) * (q[0] - chain[-2][0])
                <= 0
            ):
                chain.pop()
            chain.append(q)
        return chain[:-1]

    hull = half(pts) + half(pts[::-1])
    return 0.5 * abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(hull, hull[1:] + hull[:1])))


def marching_length(level):
    x = np.linspace(-1, 1, 7)
    f = x[:, None] ** 2 + 0.5 * x[None, :] ** 2
    length = 0.0
    for i in range(6):
        for j in range(6):
            corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            cuts = []
            for a, b in zip(corners, corners[1:] + corners[:1]):
                fa, fb = f[a] - level, f[b] - level
                if fa * fb < 0:
                    t = fa / (fa - fb)
                    cuts.append((a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))
            if len(cuts) == 2:
                (x0, y0), (x1, y1) = cuts
                length += math.hypot(x1 - x0, y1 - y0)
    return length


def bspline_energy(c):
    t = np.array([0, 0, 0, 0, 0.5, 1, 1, 1, 1.0])
    s = BSpline(t, np.asarray(c), 3)
    u = np.linspace(0, 1, 9)
    return np.sum(s(u) ** 2) + simpson(s.derivative(2)(u) ** 2, x=u) * 1e-3


def terrain_path(z):
    xs, ys = np.arange(4.0), np.arange(3.0)
    heights = np.add.outer(np.sin(xs), np.cos(ys)) * z[0]
    interp = RegularGridInterpolator((xs, ys), heights, bounds_error=False, fill_value=None)
    pts = np.column_stack([np.linspace(0.2, 2.8, 6), np.linspace(1.9, 0.1, 6) * z[1]])
    h = interp(pts)
    return np.sum(np.sqrt(np.diff(h) ** 2 + 0.1))


def filtered_track(p):
    raw = np.cumsum(np.sin(np.arange(40) * p[0])) + np.arange(40) * 0.1
    smooth = savgol_filter(raw, 7, 2)
    blurred = gaussian_filter1d(smooth, 1.5, mode="nearest")
    y = lfilter([p[1]], [1, p[1] - 1], blurred)
    return y[-1] + cumulative_trapezoid(y, dx=0.1)[-1]


def banded_rod(k):
    n = 8
    ab = np.zeros((3, n))
    ab[0, 1:] = -k[0]
    ab[1] = 2 * k[0] + k[1]
    ab[2, :-1] = -k[0]
    x = sla.solve_banded((1, 1), ab, np.linspace(1, 2, n))
    return x @ x


def sparse_mesh(k):
    n = 6
    main, off = 2.0 * np.ones(n) * k + 0.1, -np.ones(n - 1) * k
    A = sps.diags([off, main, off], [-1, 0, 1], format="csc")
    return spla.spsolve(A, np.ones(n)).sum()


def lyapunov_cost(g):
    A = np.array([[-1.0, g], [0.3, -2.0 - g**2]])
    P = sla.solve_continuous_lyapunov(A.T, -np.eye(2))
    E = sla.expm(A * 0.5)
    return np.trace(P) + E[0, 1]


def rotation_error(a):
    R = Rotation.from_rotvec([a, 0.2, -0.1]) * Rotation.from_euler("z", 0.3)
    ang = R.magnitude()
    return ang + R.apply([1.0, 0.0, 0.0])[1]


def calendar_rate(x):
    limits = [0.5, 1.5, 2.5]
    fees = (1.0, 1.8, 2.1, 0.4)
    k = bisect.bisect_left(limits, x)
    return fees[k] * x + sum(fees[:k])


PROGRAMS = (
    Program(manning_depth, 0.5, (0.3, 0.8, 0.15)),
    Program(water_hammer, 100.0, (60.0, 200.0, 333.0)),
    Program(thin_film_stack, 2.1, (1.7, 2.4, 1.45)),
    Program(
        zernike_spot,
        [0.05, 0.1, 0.02],
        ([0.2, 0.01, 0.05], [-0.1, 0.03, 0.08], [0.01, -0.05, -0.1]),
    ),
    Program(snell_stack, 30.0, (10.0, 55.0, 75.0)),
    Program(convex_hull_area, [1.5, 1.6], ([0.9, 0.5], [3.0, 2.0], [0.2, 3.1])),
    Program(marching_length, 0.4, (0.2, 0.7, 1.1)),
    Program(
        bspline_energy,
        [0.1, 0.5, -0.3, 0.8, 0.2],
        ([1.0, 0.0, 0.3, 0.2, 0.1], [-0.4, 0.2, 0.6, -0.8, 1.0], [0.3, 0.3, 0.2, 0.3, 0.4]),
    ),
    Program(terrain_path, [1.0, 0.9], ([2.0, 0.5], [0.3, 0.77], [1.4, 0.33])),
    Program(filtered_track, [0.3, 0.4], ([0.9, 0.2], [1.7, 0.8], [0.1, 0.5])),
    Program(banded_rod, [1.0, 0.3], ([2.0, 0.1], [0.5, 0.9], [3.0, 2.0])),
    Program(sparse_mesh, 1.0, (0.4, 2.5, 7.0)),
    Program(lyapunov_cost, 0.4, (1.0, -0.6, 0.1)),
    Program(rotation_error, 0.4, (1.0, -0.6, 2.0)),
    Program(calendar_rate, 1.0, (0.2, 2.0, 3.7)),
)
