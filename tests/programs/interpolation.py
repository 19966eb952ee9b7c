"""Interpolation and splines."""

import numpy as np


def table_lookup(x, table):
    return np.interp(x, np.arange(len(table)) * 0.5, table)


def grid_moved(x, xp, fp):
    return np.interp(x, xp, fp, left=-1.0, right=2.0)


def bilinear(image, y, x):
    y0, x0 = np.floor(y).astype(int), np.floor(x).astype(int)
    dy, dx = y - y0, x - x0
    top = image[y0, x0] * (1 - dx) + image[y0, x0 + 1] * dx
    bottom = image[y0 + 1, x0] * (1 - dx) + image[y0 + 1, x0 + 1] * dx
    return top * (1 - dy) + bottom * dy


def lagrange(x, nodes, values):
    total = 0.0
    for i in range(len(nodes)):
        term = values[i]
        for j in range(len(nodes)):
            if i != j:
                term = term * (x - nodes[j]) / (nodes[i] - nodes[j])
        total = total + term
    return total


def lagrange_by_products(x, nodes, values):
    d = x[:, None, None] - nodes
    scale = nodes[:, None] - nodes
    same = np.eye(len(nodes), dtype=bool)
    ratio = np.where(same, 1.0, d / np.where(same, 1.0, scale))
    return np.prod(ratio, axis=-1) @ values


def newton_divided_differences(nodes, values):
    c = values.copy()
    for k in range(1, len(c)):
        c[k:] = (c[k:] - c[k - 1 : -1]) / (nodes[k:] - nodes[:-k])
    return c


def neville(x, nodes, values):
    p = values.copy()
    n = len(p)
    for k in range(1, n):
        for i in range(n - k):
            p[i] = ((x - nodes[i + k]) * p[i] + (nodes[i] - x) * p[i + 1]) / (
                nodes[i] - nodes[i + k]
            )
    return p[0]


def thomas(lower, diagonal, upper, right):
    # Conte and de Boor, "Elementary Numerical Analysis", 1980, algorithm 4.3.
    c, d = upper.copy(), right.copy()
    n = len(diagonal)
    c[0] /= diagonal[0]
    d[0] /= diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i] * c[i - 1]
        c[i] /= m
        d[i] = (d[i] - lower[i] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def natural_cubic_spline(x, knots, values):
    h = np.diff(knots)
    slope = np.diff(values) / h
    right = 6 * np.diff(slope)
    moments = np.zeros_like(values)
    moments[1:-1] = thomas(h[:-1], 2 * (h[:-1] + h[1:]), h[1:], right)
    i = np.clip(np.searchsorted(knots, x) - 1, 0, len(h) - 1)
    a, b = (knots[i + 1] - x) / h[i], (x - knots[i]) / h[i]
    cubic = (a**3 - a) * moments[i] + (b**3 - b) * moments[i + 1]
    return a * values[i] + b * values[i + 1] + h[i] ** 2 / 6 * cubic


def catmull_rom(points, t):
    p0, p1, p2, p3 = points
    t = t[:, None]
    return 0.5 * (
        2 * p1
        + (p2 - p0) * t
        + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2
        + (3 * p1 - p0 - 3 * p2 + p3) * t**3
    )


def bezier_by_casteljau(points, t):
    p = points.copy()
    for k in range(1, len(p)):
        p[:-k] = (1 - t) * p[:-k] + t * p[1 : len(p) - k + 1]
    return p[0]


def kernel_smoother(x, data, y, width):
    w = np.exp(-(((x[:, None] - data) / width) ** 2))
    return (w * y).sum(axis=1) / w.sum(axis=1)


def inverse_distance(points, sites, values):
    d = np.linalg.norm(points[:, None] - sites, axis=-1)
    return np.average(np.broadcast_to(values, d.shape), axis=1, weights=1 / d**2)


def b_spline_basis(x, knots, degree=2):
    # de Boor 1972.
    b = ((knots[:-1] <= x) & (x < knots[1:])).astype(float)
    for k in range(1, degree + 1):
        left = (x - knots[: -k - 1]) / (knots[k:-1] - knots[: -k - 1])
        right = (knots[k + 1 :] - x) / (knots[k + 1 :] - knots[1:-k])
        b = left * b[:-1] + right * b[1:]
    return b


def inputs(rng):
    n, u = rng.normal, rng.uniform
    knots = np.array([0.0, 0.9, 1.7, 3.1, 4.0])
    return {
        "table_lookup": (np.array([0.3, 1.1, 1.9]), n(size=5)),
        "grid_moved": (np.array([-0.3, 1.1, 3.9, 4.4]), knots, n(size=5)),
        "bilinear": (n(size=(4, 4)), np.array([0.3, 1.6, 2.2]), np.array([2.7, 0.4, 1.5])),
        "lagrange": (np.float64(1.3), knots[:4], n(size=4)),
        "lagrange_by_products": (np.array([0.3, 1.1]), knots[:4], n(size=4)),
        "newton_divided_differences": (knots, n(size=5)),
        "neville": (np.float64(1.3), knots[:4], n(size=4)),
        "thomas": (n(size=4), 4 + n(size=4), n(size=4), n(size=4)),
        "natural_cubic_spline": (np.array([0.3, 1.1, 2.5, 3.9]), knots, n(size=5)),
        "catmull_rom": (n(size=(4, 2)), u(0, 1, 3)),
        "bezier_by_casteljau": (n(size=(4, 2)), np.float64(0.3)),
        "kernel_smoother": (n(size=3), n(size=4), n(size=4), np.float64(0.8)),
        "inverse_distance": (n(size=(3, 2)), n(size=(4, 2)), n(size=4)),
        "b_spline_basis": (np.float64(1.3), np.append(knots, [5.2, 6.0])),
    }


NOT_OVERRIDABLE = {}
LOOKS_AT_VALUES = {}
