"""Python around arrays: classes, closures, generators, built-in functions, buffers in lists."""

import copy
import functools
import itertools

import numpy as np


class Accumulator:
    """Running first and second moments, updated in place."""

    def __init__(self, n):
        self.count, self.total, self.squares = 0, np.zeros(n), np.zeros(n)

    def add(self, x):
        self.count += 1
        self.total += x
        self.squares += x**2

    @property
    def variance(self):
        return self.squares / self.count - (self.total / self.count) ** 2


def class_with_state(m):
    state = Accumulator(m.shape[1])
    for row in m:
        state.add(row)
    return state.variance * state.count


def ring_buffer(x, width=3):
    ring, out = np.zeros(width), np.empty(len(x))
    for i, v in enumerate(x):
        ring[i % width] = v
        out[i] = ring.sum() / min(i + 1, width)
    return out


def delay_line(x):
    taps, out = np.zeros(3), []
    for v in x:
        taps[1:] = taps[:-1]
        taps[0] = v
        out.append(taps @ np.array([0.5, 0.3, 0.2]))
    return np.stack(out)


def one_buffer_kept_many_times(m):
    # The list holds the same array again and again, so all of its rows are the last one.
    row, rows = np.zeros(m.shape[1]), []
    for r in m:
        row[:] = 2 * r
        rows.append(row)
    return np.array(rows) + m


def buffers_in_a_list(m):
    sums = [np.zeros(m.shape[1]) for _ in range(2)]
    for i, row in enumerate(m):
        sums[i % 2] += row * row
    return sums[0] * sums[1]


def closure_that_writes(m):
    out = np.zeros(len(m))

    def put(i, value):
        out[i] = value

    for i, row in enumerate(m):
        put(i, row @ row)
    return out


def folds(x):
    last = functools.reduce(lambda a, b: a * b + 1, x)
    return np.stack([*itertools.accumulate(x)]) * last + sum(x)


def unpacked(m):
    first, *others = m
    a, b, *_ = first
    return np.stack([u * v for u, v in zip(others, reversed(others))]) * a - b


def dictionary_of_arrays(m):
    groups = {}
    for key, row in zip("abab", m):
        groups[key] = groups.get(key, 0) + row
    return {key: np.tanh(value) for key, value in groups.items()}


def copies_of_views(m):
    a = m * 2
    shallow, deep = copy.copy(a), copy.deepcopy(a[1])
    alias = a[1]
    a[1] = 0
    shallow[0] = 1
    return a + shallow * deep - alias


def generator_of_rows(m):
    pairs = (row * other for row, other in itertools.pairwise(m))
    return np.array([value for row in pairs for value in row])


def built_in_functions(x):
    ordered = np.stack(sorted(x, key=abs))
    return ordered * max(x) - min(x) ** 2 + divmod(x, 0.7)[1] + round(x[0], 9) * 0 + pow(x, 3)


def recursion(x):
    if len(x) == 1:
        return x
    even, odd = recursion(x[::2]), recursion(x[1::2])
    return np.concatenate([even + odd, even * odd])


def early_return(x):
    total = 0.0
    for v in x:
        if v < 0:
            continue
        total = total + v**2
        if total > 2:
            return total
    return -total


def inputs(rng):
    n = rng.normal
    return {
        "class_with_state": (n(size=(4, 2)),),
        "ring_buffer": (n(size=5),),
        "delay_line": (n(size=5),),
        "one_buffer_kept_many_times": (n(size=(3, 2)),),
        "buffers_in_a_list": (n(size=(4, 2)),),
        "closure_that_writes": (n(size=(3, 2)),),
        "folds": (n(size=4),),
        "unpacked": (n(size=(3, 3)),),
        "dictionary_of_arrays": (n(size=(4, 2)),),
        "copies_of_views": (n(size=(3, 2)),),
        "generator_of_rows": (n(size=(3, 2)),),
        "built_in_functions": (np.array([0.9, -1.3, 0.2, 1.9]),),
        "recursion": (n(size=4),),
        "early_return": (np.array([0.9, -1.3, 0.2, 1.9, 0.4]),),
    }


NOT_OVERRIDABLE = {
    "class_with_state": "assigns to np.zeros",
    "ring_buffer": "assigns to np.zeros",
    "delay_line": "assigns to np.zeros",
    "one_buffer_kept_many_times": "assigns to np.zeros",
    "buffers_in_a_list": "assigns to np.zeros",
    "closure_that_writes": "assigns to np.zeros",
    "generator_of_rows": "np.array",
}
LOOKS_AT_VALUES = {"built_in_functions": "max", "early_return": "if"}
