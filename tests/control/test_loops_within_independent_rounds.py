"""Loops whose rounds are independent and hold loops: the inner loops stay, each of their rounds for all outer ones."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from tests.control.test_independent_rounds import SQUARE, N, check


def depth(expr):
    """Return how deep loops are nested in a program."""
    deepest, pending = 0, [(expr, 0)]
    while pending:
        expr, level = pending.pop()
        deepest = max(deepest, level)
        loops = [e.primitive for e in expr.equations if e.primitive.holds_programs]
        pending += [(loop.body.expr, level + 1) for loop in loops]
    return deepest


def triangle_in_place(a, b):
    b = b.copy()
    for i in range(N):
        for j in range(N):
            for k in range(i + 1, N):
                b[i, j] += a[k, i] * b[k, j]
            b[i, j] = 0.1 * b[i, j]
    return b


def symmetric(a, b):
    c = b * 0.5
    for i in range(N):
        for j in range(N):
            total = 0.0
            for k in range(i):
                c[k, j] += 0.1 * b[i, j] * a[i, k]
                total += b[k, j] * a[i, k]
            c[i, j] = 0.3 * c[i, j] + b[i, j] * a[i, i] + 0.1 * total
    return c


def sums_over_a_triangle(a, b):
    c = b * 0.5
    for i in range(N):
        for k in range(N):
            for j in range(i + 1):
                c[i, j] += a[j, k] * 0.2 * b[i, k] + b[j, k] * a[i, k]
    return c


def filtered_rows(a, b):
    out = np.zeros((N, N))
    for i in range(N):
        before = 0.0
        for j in range(N):
            before = 0.5 * before + a[i, j] * b[j, j]
            out[i, j] = before
    return out


def two_loops_within(a, b):
    out = b.copy()
    for i in range(2, N):
        row = np.zeros(N)
        for j in range(1, N):
            row[j] = 0.5 * row[j - 1] + a[i, j]
            for k in range(j):
                out[i, j] += 0.1 * row[k] * a[j, k] * out[i, k]
    return out


def scans_within(a, b):
    out, last = b.copy(), np.zeros(N)
    for i in range(N):
        last[i], out[i] = lax.scan(lambda c, x: (0.5 * c + x * b[0, 1], c * x), 0.1, a[i])
    return out + last


def columns_from_the_first(a, b):
    out = b.copy()
    for j in range(0, N, 2):
        for i in range(1, N):
            out[i, j] = 0.5 * out[i - 1, j] + a[i, N - 1 - j]
    return out


def a_sum_of_loops(a, b):
    total = np.zeros(N)
    for i in range(N):
        x = 1.0
        for k in range(N):
            x = 0.3 * x + a[i, k]
            total[k] += x * b[i, k]
    return total


WITHIN = {
    triangle_in_place: 2,
    symmetric: 2,
    sums_over_a_triangle: 2,
    filtered_rows: 1,
    two_loops_within: 2,
    scans_within: 1,
    columns_from_the_first: 1,
    a_sum_of_loops: 1,
}
"""Functions, and how deep their loops remain."""


@pytest.mark.parametrize("function", WITHIN, ids=lambda f: f.__name__)
def test_outer_rounds_are_made_at_once(function):
    a, b = 0.3 * SQUARE, 0.2 * SQUARE.T
    assert depth(fg.make_expr(function)(a, b)) == WITHIN[function]
    check(function, a, b, rtol=1e-11)


def another_column(a, b):
    b = b.copy()
    for j in range(1, N):
        for k in range(1, N):
            b[k, j] = 0.5 * b[k - 1, j - 1] + a[k, j]
    return b


def rows_and_columns(a, b):
    b = b.copy()
    for j in range(N):
        for k in range(1, N):
            b[j, k] = 0.5 * b[k - 1, j] + a[k, j]
    return b


def as_many_as_the_round(a, b):
    b = b.copy()
    for j in range(N):
        for k in range(j):
            b[j, j] += a[j, k] * b[j, k]
    return b


def read_while_added_to(a, b):
    total = np.zeros(N)
    for i in range(N):
        for k in range(1, N):
            total[k] += 0.1 * total[k - 1] + a[i, k] * b[i, k]
    return total


def the_last_of_the_round_before(a, b):
    last, out = 0.0, b.copy()
    for i in range(N):
        for k in range(N):
            last = 0.5 * last + a[i, k]
            out[i, k] = last
    return out


@pytest.mark.parametrize(
    "function",
    [
        another_column,
        rows_and_columns,
        as_many_as_the_round,
        read_while_added_to,
        the_last_of_the_round_before,
    ],
    ids=lambda f: f.__name__,
)
def test_rounds_that_depend_on_each_other_stay(function):
    a, b = 0.3 * SQUARE, 0.2 * SQUARE.T
    assert depth(fg.make_expr(function)(a, b)) == 2
    check(function, a, b, rtol=1e-11)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rounds(rows):
    def f(a, b):
        b = b.copy()
        for i in range(rows):
            for k in range(1, rows):
                b[i, k] += a[i, k] * b[i, k - 1]
        return b

    a, b = SQUARE[: max(rows, 1), : max(rows, 1)], SQUARE.T[: max(rows, 1), : max(rows, 1)]
    np.testing.assert_allclose(fg.jit(f)(a, b), f(a, b))


def test_elements_that_no_round_reads_may_be_anything():
    a, b = SQUARE.copy(), SQUARE.T.copy()
    a[np.triu_indices(N, 1)] = np.nan
    gradient = fg.jit(fg.grad(lambda a, b: symmetric(a, b).sum(), (0, 1)))(0.1 * a, 0.1 * b)
    assert all(np.isfinite(x).all() for x in gradient)
    with np.errstate(all="raise"):
        np.testing.assert_allclose(fg.jit(symmetric)(a, b), symmetric(a, b))
