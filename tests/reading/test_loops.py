"""Loops and branches of functions that are read: which are recorded as such, and what they are beside Python's."""

import math

import numpy as np
import pytest

import fungrad as fg


def test_name_of_the_loop_that_the_body_assigns_keeps_that_after_the_loop():
    def f(x):
        for i, v in enumerate(x):  # noqa: B007
            v, w = x[0] * 2.0, v * 3.0
        return v + w * i

    x = np.linspace(0.5, 2.0, 30)
    assert fg.jit(f)(x) == pytest.approx(f(x))
    assert fg.grad(f)(x)[0] == pytest.approx(2.0)


X = np.array([0.31, 0.52, 0.23, 0.14, 0.75, 0.66, 0.47, 0.38, 0.29, 0.19])


def kinds(function, *args):
    """Return the names of the primitives of a program that hold programs."""
    expr = fg.make_expr(function)(*args)
    return [e.primitive.name for e in expr.equations if e.primitive.holds_programs]


def accumulated(x):
    total = 0
    for i in range(100):
        total += math.sin(x[0] * i)
    return total


def swept(x):
    a = np.outer(x, x)
    for i in range(1, 9):
        for j in range(1, 9):
            a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
    return a.sum()


def over_rows(x):
    best, count = -1.0, 0
    for i, (v, w) in enumerate(zip(x, x[::-1], strict=True)):
        count += 2
        if v * w > best:
            best = v * w + i * 0.01
    return best * count + i


def broken(x):
    total = 0.0
    for v in x:
        if total > 1.0:
            break
        total += v
    return total


def continued(x):
    total = 0.0
    for v in x:
        if v > 0.4:
            continue
        total += v * v
    return total


def with_view(x):
    a = np.sin(x)
    b = a[2:]
    for i in range(8):
        b[i] = b[i] * 2 + x[i]
    return a.sum()


def with_scratch(x):
    total = 0.0
    for i in range(10):
        t = x[i] * 2
        u = t + 1
        for j in range(3):
            w = u * j
            total += w
    return total


def helper(a, b):
    if a > 0.3:
        return math.sin(a) * b
    return a + b


def called(x):
    total = x[0]
    for i in range(10):
        total = helper(x[i], total)
    return total


RECORDED = {
    "accumulated": (accumulated, []),
    "swept": (swept, ["scan"]),
    "over_rows": (over_rows, ["scan"]),
    "broken": (broken, ["scan"]),
    "continued": (continued, ["scan"]),
    "with_scratch": (with_scratch, []),
    "called": (called, ["scan"]),
}


@pytest.mark.parametrize("name", RECORDED)
def test_loops_are_recorded(name):
    function, expected = RECORDED[name]
    assert kinds(function, X) == expected


# Loops that Python runs, since it would not be the same


def over_what_it_writes(x):
    a = np.sin(x)
    for v in a:
        for j in range(len(a)):
            a[j] -= v
    return a.sum()


def aliased(x):
    a = np.sin(x)
    b = a
    for i in range(10):
        b[i] = a[9 - i] + 1
    return a.sum()


def shown_elsewhere(x):
    a = np.sin(x)
    kept = [a]
    for i in range(9):
        a[i + 1] = kept[0][i] * 2
    return a.sum()


def rows_written(x):
    a = np.outer(x, x)
    for row in a:
        row[0] = 1.0
    return a.sum()


def appending(x):
    out = []
    for i in range(10):
        out.append(x[i] * i)  # noqa: PERF401
    return np.array(out).sum()


def with_attribute(x):
    class Counter:
        n = 0

    counter = Counter()
    total = 0.0
    for i in range(10):
        counter.n += 1
        total += x[i] * counter.n
    return total


def factorials(x):
    total, f = 0.0, 1
    for i in range(1, 30):
        f *= i
        total += x[0] ** i / f
    return total


def powers(x):
    total = 0.0
    for i in range(1, 60):
        total += x[0] / i**20
    return total


def triangular(x):
    a = np.outer(x, x)
    for i in range(10):
        for j in range(i):
            a[i, j] = a[j, i] * 2 + j
    return a.sum()


PYTHONS = [
    *(over_what_it_writes, aliased, shown_elsewhere, rows_written, appending, with_attribute),
    *(factorials, powers, triangular, with_view),
]


@pytest.mark.parametrize("function", [*PYTHONS, *[f for f, _ in RECORDED.values()]])
def test_loops_are_what_pythons_are(function):
    value = function(X)
    assert fg.jit(function)(X) == pytest.approx(value, rel=1e-13)
    directions = np.random.default_rng(0).normal(size=(2, 10))
    steps = [(function(X + 1e-6 * v) - function(X - 1e-6 * v)) / 2e-6 for v in directions]
    for gradient in (fg.grad(function)(X), fg.jit(fg.grad(function))(X)):
        assert directions @ gradient == pytest.approx(steps, rel=1e-6, abs=1e-7)
    batch = np.stack([X, X * 0.9, X[::-1]])
    assert fg.vmap(function)(batch) == pytest.approx([function(x) for x in batch], rel=1e-13)


@pytest.mark.parametrize("function", [factorials, powers])
def test_whole_numbers_that_may_not_fit_are_pythons(function):
    assert kinds(function, X) == []


def test_whole_numbers_that_fit_are_counted():
    def f(x):
        n = 7
        total = 0.0
        for i in range(50):
            n += 3
            total += x * n * (i * i - 2 * i + 1) % 5
        return total + n

    assert not kinds(f, 0.5)  # all rounds at once
    assert fg.jit(f)(0.5) == pytest.approx(f(0.5), rel=1e-14)


# Branches


def early(x):
    if x > 0.5:
        return x * x
    z = x + 1
    if (z > 1.2 and x < 3) or not x > 0.1:
        return z
    return z if x > 0 else -z


def nested(x):
    y = 1.0
    if x > 0:
        if x > 0.5:
            y = math.sin(x)
        else:
            y += x
    elif -1 < x < -0.5:
        y = -x
    return y * x


def in_place(x):
    a = np.array([x, 2.0, 3.0])
    if x > 0:
        a[1] = x * x
    else:
        a *= 2.0
    return a.sum()


def across(x):
    total, seen = 0.0, 0

    def note(v):
        nonlocal total, seen
        if v > 0.3:
            total += v
            seen += 1

    for k in (0.5, 1.0, 2.0):
        note(x * k)
    return total * seen


@pytest.mark.parametrize("function", [early, nested, in_place, across])
def test_branches_are_what_pythons_are(function):
    points = [-0.7, -0.2, 0.05, 0.17, 0.45, 0.8, 4.0]
    jitted = fg.jit(function)
    assert [jitted(x) for x in points] == pytest.approx([function(x) for x in points])
    assert "cond" in " ".join(kinds(function, 0.3))
    for x in points:
        difference = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
        assert fg.jit(fg.grad(function))(x) == pytest.approx(difference, abs=1e-8)
    assert fg.vmap(function)(np.array(points)) == pytest.approx([function(x) for x in points])


def test_the_way_that_is_not_taken_is_not_computed():
    def f(x):
        return math.sqrt(x) if x > 0 else 0.0 * x

    assert fg.jit(fg.grad(f))(0.0) == 0.0
    assert fg.vmap(fg.grad(f))(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]


def recursive(x):
    if abs(x) < 0.5:
        return x
    return recursive(x / 2) + 1


@pytest.mark.parametrize("nested", [False, True])
def test_functions_that_call_themselves(nested):
    points = np.array([0.3, 1.7, 9.0])
    f = (lambda x: recursive(x) * 2) if nested else recursive
    expected = [f(x) for x in points]
    assert [fg.jit(f)(x) for x in points] == expected
    assert fg.vmap(f)(points).tolist() == expected
    slopes = [(1 + nested) * s for s in (1.0, 0.25, 0.03125)]
    assert fg.vmap(fg.grad(f))(points).tolist() == slopes
    assert fg.grad(lambda x: fg.vmap(f)(x).sum())(points).tolist() == slopes


# While


def newton(a):
    x, k = a, 0
    while abs(x * x - a) > 1e-12 and k < 50:
        x = (x + a / x) / 2
        k += 1
    return x + 0.0 * k


def normalised(a):
    v, error = np.ones(2), 1.0
    matrix = np.array([[2.0, a], [a, 3.0]])
    while error > 1e-10:
        w = matrix @ v
        w = w / np.linalg.norm(w)
        error, v = np.abs(w - v).max(), w
    return v @ matrix @ v


@pytest.mark.parametrize("function", [newton, normalised])
def test_while_is_a_loop_where_nothing_is_differentiated(function):
    assert kinds(function, 2.0) == ["while"]
    jitted = fg.jit(function)
    points = [2.0, 0.5, 7.0]
    assert [jitted(x) for x in points] == pytest.approx([function(x) for x in points])
    for transformed in (fg.grad(function), fg.grad(jitted), fg.jit(fg.grad(function))):
        for x in points:
            difference = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
            assert transformed(x) == pytest.approx(difference, rel=1e-5)
    assert fg.vmap(function)(np.array(points)) == pytest.approx([function(x) for x in points])
    assert fg.vmap(jitted)(np.array(points)) == pytest.approx([function(x) for x in points])


def test_an_index_that_was_asked_for_fails_in_its_try():
    def f(x, n):
        total = 0.5
        try:
            text = f"{n}"
            total += x[n]
        except IndexError:
            return -1.0 * len(text)
        return total

    jitted = fg.jit(f)
    for n in (3, 12, 9, 10, 3):
        assert jitted(X, n) == f(X, n)
