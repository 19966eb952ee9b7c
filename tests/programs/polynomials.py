"""Polynomials, by NumPy's functions and by hand."""

import numpy as np


def evaluated(c, x):
    return np.polyval(c, x) - np.polyval(np.polyder(c), x) * np.polyval(np.polyint(c), x)


def horner(c, x):
    total = np.zeros_like(x)
    for a in c[::-1]:
        total *= x
        total += a
    return total


def chebyshev_series(c, x):
    # Clenshaw 1955.
    b1 = b2 = np.zeros_like(x)
    for a in c[:0:-1]:
        b1, b2 = 2 * x * b1 - b2 + a, b1
    return x * b1 - b2 + c[0]


def chebyshev_table(x, n=5):
    t = np.empty((n, len(x)))
    t[0], t[1] = 1, x
    for k in range(2, n):
        t[k] = 2 * x * t[k - 1] - t[k - 2]
    return t


def legendre_table(x, n=4):
    p = [np.ones_like(x), x]
    for k in range(1, n):
        p.append(((2 * k + 1) * x * p[k] - k * p[k - 1]) / (k + 1))
    return np.stack(p, axis=1)


def roots_of_a_cubic(c):
    return np.sort(np.abs(np.roots(c)))


def fitted(x, y):
    return np.polyfit(x, y, 2)


def products_and_quotients(a, b):
    product = np.polymul(a, b)
    quotient, remainder = np.polydiv(product, a)
    return np.polyadd(product, quotient), remainder[-1] + np.polysub(a, b)


def vandermonde_solve(x, y):
    return np.linalg.solve(np.vander(x, increasing=True), y)


def newton_for_a_root(c, x):
    for _ in range(20):
        step = np.polyval(c, x) / np.polyval(np.polyder(c), x)
        x = x - step
        if abs(step) < 1e-13:
            break
    return x


def companion_matrix(c):
    m = np.diag(np.ones(len(c) - 2), -1)
    m[0] = -c[1:] / c[0]
    return np.linalg.matrix_power(m, 3)


def products_of_roots(r):
    return np.poly(r)


def power_series_reciprocal(a):
    b = np.zeros_like(a)
    b[0] = 1 / a[0]
    for n in range(1, len(a)):
        b[n] = -np.dot(a[1 : n + 1], b[:n][::-1]) / a[0]
    return b


def durand_kerner(c, steps=3):
    z = (0.4 + 0.9j) ** np.arange(len(c) - 1)
    for _ in range(steps):
        d = z[:, None] - z + np.eye(len(z))
        z = z - np.polyval(c / c[0], z) / np.prod(d, axis=1)
    return z


def inputs(rng):
    n = rng.normal
    x = np.array([-0.8, 0.1, 0.5, 0.9])
    return {
        "evaluated": (n(size=4), x),
        "horner": (n(size=4), x),
        "chebyshev_series": (n(size=4), x),
        "chebyshev_table": (x,),
        "legendre_table": (x,),
        "roots_of_a_cubic": (np.array([1.0, -3.5, -2.0, 4.0]),),
        "fitted": (x, n(size=4)),
        "products_and_quotients": (n(size=3), n(size=3)),
        "vandermonde_solve": (x, n(size=4)),
        "newton_for_a_root": (np.array([1.0, 0.3, -1.0]), np.float64(1.5)),
        "companion_matrix": (np.array([1.5, -3.5, -2.0, 4.0]),),
        "products_of_roots": (x,),
        "power_series_reciprocal": (n(size=4) + 2,),
        "durand_kerner": (np.array([1.0, -3.5, -2.0, 4.0]),),
    }


NOT_OVERRIDABLE = {
    "chebyshev_table": "assigns to np.empty",
    "companion_matrix": "assigns to np.diag",
}
LOOKS_AT_VALUES = {
    "newton_for_a_root": "if",
    "roots_of_a_cubic": "np.roots strips leading zeros",
}
