"""Comprehensions with conditions that `sum`, `all` or `any` takes: loops, which leave elements out by a choice."""

import math

import numpy as np
import pytest

import fungrad as fg
from tests.reading.one_loop import check_one_loop, check_results

X = np.linspace(-1.02, 1.31, 41)


def of_squares(x):
    return sum(v * v for v in x if v > 0)


def of_logarithms(x):
    """Elements that are left out are not computed."""
    return sum([math.log(v) for v in x if v > 0])


def two_conditions(x):
    return sum(v * i for i, v in enumerate(x) if v > 0 if i % 2 == 0)


def of_pairs(x):
    return sum(max(v, w) for v, w in zip(x, x[::-1]) if v + w > 0.1)


def all_of(x):
    return x[0] * all(v < 2 for v in x if v > 0.3)


def any_of(x):
    return x[0] * (1 + any(v * v > 1 for v in x if v < 0))


LOOPS = (of_squares, of_logarithms, two_conditions, of_pairs, all_of, any_of)


def counted(x):
    n = sum(1 for v in x if v > 0)
    total = sum(v for v in x if v > 0)
    return total / n + x[n - 1] + sum(x[:n]) * 0.1 if n else 0.0


def of_rows(x):
    rows = np.outer(x, x)
    return sum(row * 2 for row in rows if row.sum() > 0).sum() if x.sum() else 0.0


def kept(x):
    chosen = [v**3 for v in x if v > 0]
    return np.sum(chosen) / len(chosen) + max(v for v in x if v > -0.5)


class Money:
    """A number that adds to itself, and to 0 at the beginning of a sum."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Money(self.value + other.value)

    def __radd__(self, other):
        return self


def of_objects(x):
    return sum(Money(v) for v in x if v > 0.2).value


FUNCTIONS = (*LOOPS, counted, of_rows, kept, of_objects)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_they_are_one_loop(f):
    check_one_loop(f, X)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_are_pythons(f):
    check_results(f, X)


def test_more_than_eight_patterns_have_one_program():
    """A ninth one would be warned of, which is an error in tests."""
    jitted, rng = fg.jit(of_squares), np.random.default_rng(0)
    for _ in range(12):
        x = rng.normal(size=41)
        assert jitted(x) == pytest.approx(of_squares(x))
