"""Small functions that ask for values, as users of NumPy write them, with arguments that go different ways: no tests."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize


class Case(NamedTuple):
    """A function, and arguments of calls, one after the other; whether it has a derivative by the first of these."""

    function: Callable[..., Any]
    calls: tuple[Any, ...]
    smooth: bool = True


X = np.array([0.5, -1.5, 2.0])
Y = np.array([-0.5, 1.5, -2.5])
Z = np.array([1.5, 2.5, 0.25])
ABOVE = (2.125, 3.25, -1.5, 2.125, -0.875, 2.5)
ROWS = (X, Y, X, Z, Y)
PAIRS = ((2.0, 3), (2.0, 4), (1.5, 3), (2.0, 0), (2.0, 4))


def branch(x):
    if x > 0:
        return x * x
    return -3.0 * x


def chain(x):
    if x > 2.2:
        return np.exp(-x)
    elif x > 0:
        return np.sin(x)
    elif x > -1.2:
        return x**3
    return 1 / x


def nested(x):
    y = 2.0 * x
    if y > 0:
        z = y * y
        if z > 17:
            return z - x
        return z + x
    return y if np.abs(y) > 2.5 else y * y


def truth_of_a_number(x):
    return x * 2 if x else x + 1


def conditional(x):
    return x**2 if x > 0 and x < 2.2 else x**3


def either(x):
    return x * 2 if x > 2.2 or x < -1.2 else x * 5


def negation(x):
    return x * 2 if not x > 0 else x * 3


def clipped(x):
    return max(x, 1.75) * min(x, 2.25)


def asserted(x):
    assert np.isfinite(x)
    return x * 3


def any_of(x):
    return x * 2 if np.any(x > 1.75) else np.sin(x)


def all_of(x):
    if (x > 0).all():
        return np.sqrt(x).sum()
    return (x * x).sum()


def norm_test(x):
    n = np.linalg.norm(x)
    return x / n if n > 2.75 else x * n


def largest(x):
    i = int(np.argmax(x))
    return x[i] * x[0]


def index_by_maximum(x):
    return x[np.argmax(x)] * 2.0


def first_above(x):
    for i in range(len(x)):
        if x[i] > 1:
            return x[i] * (i + 1)
    return 0.0 * x[0]


def loop_with_choice(x):
    total = 0.0
    for v in x:
        if v > 0:
            total = total + v * v
        else:
            total = total - v
    return total


def halving(x):
    rounds = 0
    while abs(x) > 0.9:
        x = x / 2
        rounds += 1
    return x * (1 + rounds)


def newton(x):
    a = x * x + 1.0
    y = a
    while abs(y * y - a) > 1e-9:
        y = (y + a / y) / 2
    return y


def broken_out(x):
    y = x
    for _ in range(20):
        y = y * y / 4 + 0.5
        if abs(y - 1) < 0.6:
            break
    else:
        y = y + 100
    return y


def continued(x):
    total = 0.0
    for v in x:
        if v < 0:
            continue
        total = total + np.exp(v)
    return total


def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def counted_shape(x, n):
    return np.sum(np.ones(int(n)) * x)


def arange_of(x, n):
    return (x * np.arange(n)).sum()


def reshaped(x, n):
    return np.reshape(x * np.ones(12), (n + 1, -1))[0].sum()


def sliced(x, n):
    return np.sum((x * np.arange(6.0))[: int(n)])


def row_of_list(x, n):
    functions = [np.sin, np.cos, np.exp, np.tanh, np.sinh]
    return functions[n](x)


def kept(x):
    return np.sum(x[x > 0] ** 2)


def kept_of_another(x):
    y = np.cos(x)
    return y[x > 0].sum() * 2


def split(x):
    low, high = x[x < 0], x[x >= 0]
    return low.sum() - high.sum() ** 2


def mean_if_any(x):
    chosen = x[x > 1.75]
    return chosen.mean() if chosen.size else x.sum()


def positions(x):
    (where,) = np.nonzero(x > 0)
    return (x[where] * where).sum()


def counted(x):
    n = np.count_nonzero(x > 0)
    return x.sum() / n if n else x.sum()


def unique_signs(x):
    return x * len(np.unique(np.sign(x)))


def text_key(x):
    table = {True: 2.0, False: 3.0}
    return x * table[bool(x > 0)]


def sorted_numbers(x):
    a, b = sorted([x, 0.5 * x + 1.0])
    return a - 2 * b


def rounded(x):
    return x * int(x)


def item_of(x):
    return x * np.sign(x).item()


def listed(x):
    signs = np.sign(x).tolist()
    return (x * np.array([s + 1 for s in signs])).sum()


def checked_length(x):
    if len(x) > 2 and x[0] > 1:
        return x[1:].sum()
    return x[:1].sum()


def caught(x):
    try:
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)
    except ValueError:
        return -x


def floors(x):
    return x * math.floor(np.abs(x))


def recursive(x, depth=0):
    if abs(x) < 0.6 or depth > 5:
        return x + depth
    return recursive(x / 2, depth + 1) * 1.5


def generator(x):
    return sum(v * v for v in x if v > 0)


def comprehension(x):
    return np.sum(np.stack([v * v if v > 0 else v for v in x]))


def of_tree(tree):
    if tree["a"] > tree["b"][0]:
        return tree["a"] * tree["b"][1]
    return tree["b"][0] ** 2


def root(x):
    p = float(np.abs(x))
    return optimize.brentq(lambda y: y**3 - p, -1, 3)


def bisection(x):
    low, high = 0.0 * x, 0.0 * x + 4.0
    while high - low > 0.3:
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 < abs(x) else (low, middle)
    return low


def two_results(x):
    return (x * 2, "a" == "b") if x > 0 else (x * 3, True)


def other_shapes(x):
    return np.ones(3) * x if x > 0 else x


def bands(x):
    y = np.zeros(3)
    y[1] = 2.0
    return y * x if x > 0 else y - x


def pivoted(x):
    m = np.array([[1.0, 2.0, 0.5], [3.0, 1.0, 0.25], [0.5, 0.0, 2.0]]) * x
    for k in range(2):
        p = k + np.argmax(np.abs(m[k:, k]))
        if p != k:
            m = np.concatenate(
                [m[p : p + 1], m[k : k + 1], m[[i for i in range(3) if i not in (p, k)]]]
            )
            break
    return m[0].sum()


SCALARS = [
    branch, chain, nested, truth_of_a_number, conditional, either, negation, clipped, asserted, halving,
    newton, broken_out, text_key, sorted_numbers, rounded, item_of, caught, floors, recursive, other_shapes, bands,
]  # fmt: skip
ARRAYS = [
    any_of, all_of, norm_test, largest, index_by_maximum, first_above, loop_with_choice, continued, kept, kept_of_another,
    split, mean_if_any, positions, counted, unique_signs, listed, checked_length, generator, comprehension, pivoted,
]  # fmt: skip
COUNTS = [power, counted_shape, arange_of, row_of_list, sliced]
TREES = tuple(
    {"a": a, "b": [b, 2.0 * b]} for a, b in ((1.0, 2.0), (3.0, 2.0), (1.5, 2.5), (4.0, 0.5))
)

CASES = {
    **{f.__name__: Case(f, tuple((x,) for x in ABOVE)) for f in SCALARS},
    **{f"{f.__name__} float32": Case(f, tuple((np.float32(x),) for x in ABOVE), False) for f in SCALARS[:9]},
    **{f"{f.__name__} 0-d": Case(f, tuple((np.array(x),) for x in ABOVE), False) for f in SCALARS[:9]},
    **{f.__name__: Case(f, tuple((x,) for x in ROWS)) for f in ARRAYS},
    **{f.__name__: Case(f, PAIRS) for f in COUNTS},
    "reshaped": Case(reshaped, ((2.0, 1), (2.0, 2), (3.0, 1), (2.0, 3))),
    "kept, of none": Case(kept, ((np.zeros(0),), (X,), (np.zeros(0),)), False),
    "mean of none": Case(mean_if_any, ((np.zeros(3),), (X,), (np.zeros(3),)), False),
    "of tree": Case(of_tree, tuple((t,) for t in TREES)),
    "root": Case(root, ((1.0,), (8.0,), (1.0,)), False),
    "bisection": Case(bisection, tuple((x,) for x in (1.0, 2.5, 6.0, 1.0)), False),
    "two results": Case(two_results, tuple((x,) for x in ABOVE), False),
    "int": Case(halving, ((5,), (6,), (5,), (40,)), False),
    "NaN": Case(branch, ((np.nan,), (1.0,), (np.nan,)), False),
}  # fmt: skip
