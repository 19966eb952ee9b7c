"""Idioms of Python and NumPy that students' programs are full of."""

import math

import numpy as np

from tests.reading.programs.program import Program


def as_scalar_or_array(x):
    """A function that takes numbers as well as arrays, by asking which it has got."""
    scalar = np.isscalar(x)
    values = np.atleast_1d(x).astype(float)
    y = np.where(values > 1, values**2, values)
    return float(y[0]) if scalar else y.sum()


def checked_root(x):
    """A root by Heron's method, with the type checked and a bad argument refused."""
    if isinstance(x, (int, float)) and x < 0:
        raise ValueError("no root of a negative number")
    guess = x / 2 if x > 1 else 1.0
    while abs(guess * guess - x) > 1e-13 * x:
        guess = 0.5 * (guess + x / guess)
    return guess


def growing_array(x):
    """np.append in a loop, as people do it who come from lists."""
    series = np.array([])
    term = 1.0
    for k in range(1, 8):
        term = term * x / k
        series = np.append(series, term)
    return np.sum(series) - series[-1] + len(series)


def list_of_lists(x):
    """A matrix as nested lists, multiplied by hand."""
    A = [[x[0], 1.0], [0.5, x[1]]]
    P = [[1.0, 0.0], [0.0, 1.0]]
    for _ in range(3):
        P = [[sum(P[i][k] * A[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
    return P[0][0] * P[1][1] - abs(P[0][1])


def vectorized(x):
    """np.vectorize of a function with a branch."""

    def activation(v):
        if v > 0:
            return v
        return 0.2 * (math.exp(v) - 1)

    return np.sum(np.vectorize(activation)(x) ** 2)


def along_axis(x):
    """np.apply_along_axis of a function of rows."""
    A = np.outer(x, [1.0, -0.5, 2.0]) + np.arange(3)

    def spread(row):
        return np.max(row) - np.mean(row)

    return np.apply_along_axis(spread, 1, A).sum()


def item_and_float(x):
    """Numbers taken out of arrays with item and float, as for printing."""
    total = np.sum(x**2)
    largest = np.max(x).item()
    first = float(x[0])
    text = f"{total:.3f} {largest:.3f}"
    assert len(text.split()) == 2
    return float(total) * largest + first


def dictionary_of_parameters(x):
    """Parameters in a dictionary, updated in place by several functions."""
    params = dict(zip(["mass", "speed", "drag"], x))
    params["energy"] = 0.5 * params["mass"] * params["speed"] ** 2

    def brake(p, steps):
        for _ in range(steps):
            p["speed"] -= p["drag"] * p["speed"]
        p.update(energy=0.5 * p["mass"] * p["speed"] ** 2)

    before = params["energy"]
    brake(params, steps=4)
    lost = before - params["energy"]
    return lost if lost > 1 else lost**2


def counts_in_closure(x):
    """A closure with nonlocal that sums a penalty for each violation."""
    penalty = 0.0
    violations = 0

    def require(ok, amount):
        nonlocal penalty, violations
        if not ok:
            violations += 1
            penalty += amount**2

    require(x[0] + x[1] <= 1, x[0] + x[1] - 1)
    require(x[0] >= 0, x[0])
    require(-1 < x[1] < 0.5, x[1] - 0.5)
    return np.dot(x, x) + 10 * penalty + violations


def early_return(x):
    """Many cases and early returns, with and, or and not."""
    a, b = x
    if a > 0 and b > 0:
        return math.sqrt(a * b)
    if a < 0 and b < 0:
        return -math.sqrt(a * b)
    if not (a > 0 or b < -2):
        return a * b**2
    return math.atan(a - b)


def swap_sort(x):
    """Bubble sort, and weights by rank."""
    v = list(x)
    for i in range(len(v)):
        for j in range(len(v) - 1 - i):
            if v[j] > v[j + 1]:
                v[j], v[j + 1] = v[j + 1], v[j]
    return sum((k + 1) * e**2 for k, e in enumerate(v))


def masked_update(x):
    """Boolean masks, assignments through them, and a count."""
    y = np.sin(np.arange(6) * x)
    high = y > 0.4
    y[high] = 0.4 + 0.1 * (y[high] - 0.4)
    y[~high & (y < 0)] *= 0.5
    if high.any():
        y /= 1 + np.count_nonzero(high)
    return np.sum(y * np.arange(6))


def continued_fraction(x):
    """A continued fraction from the bottom up, by reversed, and a nested function that calls itself."""
    value = 0.0
    for k in reversed(range(1, 9)):
        value = k * x / (1 + value)

    def tower(v, depth):
        if depth == 0 or v > 3:
            return v
        return tower(math.exp(0.3 * v), depth - 1)

    return tower(1 + value, 4)


def try_fallback(x):
    """A formula that can fail, and another in its place."""
    try:
        y = math.log(x - 1)
    except ValueError:
        y = -math.log(2 - x)
    try:
        z = {"near": 1.0}["near" if y > -5 else "far"]
    except KeyError:
        z = 2.0
    finally:
        y = y + 0.5
    return y * abs(y) + z * x


def power_of_digits(x):
    """round and int of a value that steers, and the value itself."""
    n = round(x)
    k = int(x)
    frac = x - k
    poly = 1.0
    for i in range(max(n, 0)):
        poly = poly * frac + 1.0 / (i + 1)
    return poly if n % 2 == 0 else -poly


def zip_longest_path(x):
    """Distances along a path of tuples, the longest leg found by max with a key."""
    path = list(zip(x[::2], x[1::2]))
    legs = []
    for (x0, y0), (x1, y1) in zip(path, path[1:]):  # noqa: RUF007
        legs.append(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
    longest = max(range(len(legs)), key=lambda k: legs[k])
    return sum(legs) + legs[longest] ** 2


PROGRAMS = (
    Program(as_scalar_or_array, 1.7, (0.4, -2.0, 3.0)),
    Program(checked_root, 5.0, (0.3, 1.7, 80.0)),
    Program(growing_array, 0.7, (-1.2, 2.0, 0.1)),
    Program(list_of_lists, [0.8, -0.3], ([2.0, 1.0], [-1.0, 0.2], [0.1, 0.4])),
    Program(vectorized, [0.5, -0.8, 1.2], ([1.0, 2.0, 3.0], [-1, -2.0, -3], [-0.1, 0.6, -0.7])),
    Program(along_axis, [0.5, -0.8, 1.2], ([1, 2, 3], [-1, -2, -3], [4.1, -5, 0.2])),
    Program(item_and_float, [0.5, -0.8, 1.2], ([1, 2, 3], [3, -2, -3], [4.1, -5, 0.2])),
    Program(
        dictionary_of_parameters, [2.0, 3.0, 0.1], ([1.0, 1, 0.1], [5, -2, 0.3], [0.1, 2, 0.05])
    ),
    Program(counts_in_closure, [0.8, 0.6], ([0.2, 0.1], [-0.3, -1.5], [-0.4, 0.9])),
    Program(early_return, [1.5, 0.7], ([-1.0, -2.0], [-0.5, 1.5], [2.0, -1.0])),
    Program(swap_sort, [0.5, -0.8, 1.2, 0.1], ([1, 2, 3, 4], [4, 3, 2, 1], [0.3, 0.1, -0.2, 5])),
    Program(masked_update, 0.9, (0.2, 2.4, -1.3)),
    Program(continued_fraction, 0.6, (0.1, 1.5, 4.0)),
    Program(try_fallback, 1.9, (0.4, 1.2, 3.0)),
    Program(power_of_digits, 3.3, (0.3, 2.7, 4.8)),
    Program(
        zip_longest_path,
        [0, 0.1, 1, 0.4, 2.5, 1.1],
        ([0, 0.2, 3, 1, 3, 2], [1, 1, 0, 0.3, 0, -2], [5, 4, 3, 2, 1, 0.5]),
    ),
)
