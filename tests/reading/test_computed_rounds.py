"""Loops of as many rounds as arguments say, and of indices computed from numbers: one loop each."""

import math

import numpy as np
import pytest

import fungrad as fg

RNG = np.random.default_rng(0)
STARTS = np.array([0, 2, 2, 5, 6])
COLUMNS = np.array([0, 2, 1, 0, 3, 2])
VALUES, X = RNG.normal(size=6), RNG.normal(size=4)


def rows(values, x, starts, columns):
    y = np.zeros(4)
    for i in range(4):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * np.sin(x[columns[k]])
    return (y**2).sum()


def total(values, x, starts, columns):
    y = 0.0
    for k in range(starts[1], starts[3]):
        y = y + values[k] * x[columns[k]] ** 2
    return y


def scaled(values, x, starts, columns):
    y = 1.0
    for k in range(starts[3]):
        y = y * values[k] + x[columns[k]]
    return y


def difference(f, *arguments, step=1e-6):
    """Return the gradient by the first argument, by central differences."""
    x, *rest = arguments
    steps = step * np.eye(len(x))
    return [(f(x + h, *rest) - f(x - h, *rest)) / (2 * step) for h in steps]


@pytest.mark.parametrize("f", [rows, total, scaled])
@pytest.mark.parametrize("starts", [STARTS, np.array([0, 0, 0, 0, 0]), np.array([0, 5, 3, 2, 1])])
def test_gradients_are_differences(f, starts):
    arguments = VALUES, X, starts, COLUMNS
    expected = difference(f, *arguments)
    for gradient in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f))):
        np.testing.assert_allclose(gradient(*arguments), expected, atol=1e-8)
    second = fg.jit(fg.hessian(f))(*arguments)
    columns = [
        difference(lambda v, i=i: fg.grad(f)(v, *arguments[1:])[i], VALUES) for i in range(6)
    ]
    np.testing.assert_allclose(second, columns, atol=1e-7)


def inner(primitive):
    body = getattr(primitive, "body", None)
    return [] if body is None else [e.primitive for e in body.expr.equations]


@pytest.mark.parametrize(("f", "is_loop"), [(rows, True), (total, True), (scaled, False)])
def test_a_loop_that_keeps_nothing_is_one_loop_backwards(f, is_loop):
    expr = fg.jit(fg.grad(f)).lower(VALUES, X, STARTS, COLUMNS).expr
    held = [p for e in expr.equations for p in (e.primitive, *inner(e.primitive))]
    found = {p.name for p in held}
    assert "counted" in found if is_loop else "guard" in found
    assert not {"counted", "guard"} <= found


def test_batches_have_rounds_of_their_own():
    gradient = fg.jit(fg.vmap(fg.grad(total), in_axes=(None, None, 0, None)))
    some = np.stack([STARTS, STARTS[::-1], np.array([0, 1, 1, 6, 6])])
    expected = [fg.grad(total)(VALUES, X, starts, COLUMNS) for starts in some]
    np.testing.assert_allclose(gradient(VALUES, X, some, COLUMNS), expected)


def histogram(data, weights):
    bins = np.zeros(9)
    for i in range(len(data)):
        place = data[i] * 8
        k = min(max(int(place), 0), 7)
        bins[k] += weights[i] * (k + 1 - place)
        bins[k + 1] += weights[i] * (place - k)
    return bins


def interpolated(x, table):
    out = np.zeros(len(x))
    for i in range(len(x)):
        k = math.floor(x[i])
        out[i] = table[k] * (k + 1 - x[i]) + table[k + 1] * (x[i] - k)
    return out


def squared(x, table):
    out = np.zeros(len(x))
    for i in range(len(x)):
        k = int(x[i])
        out[i] = k * k * table[0]
    return out


DATA, TABLE = RNG.uniform(0, 1, 40), RNG.normal(size=9)


@pytest.mark.parametrize(
    ("f", "arguments", "is_loop"),
    [
        (histogram, (DATA, RNG.normal(size=40)), True),
        (histogram, (3 * DATA - 1, RNG.normal(size=40)), True),
        (interpolated, (7 * DATA, TABLE), True),
        (interpolated, (7 * DATA - 7, TABLE), True),
        (squared, (7 * DATA, TABLE), False),
    ],
)
def test_whole_numbers_made_of_numbers(f, arguments, is_loop):
    names = [e.primitive.name for e in fg.jit(f).lower(*arguments).expr.equations]
    assert (names.count("trunc") <= 1) == is_loop
    np.testing.assert_allclose(fg.jit(f)(*arguments), f(*arguments), rtol=1e-13)
    loss = lambda *x: (f(*x) ** 2).sum()
    expected = difference(loss, *arguments)
    for gradient in (fg.grad(loss), fg.jit(fg.grad(loss))):
        np.testing.assert_allclose(gradient(*arguments), expected, atol=1e-6)


def test_indices_beyond_the_table_raise_pythons_error():
    for x in (9 * DATA, -30 * DATA):
        with pytest.raises(IndexError):
            interpolated(x, TABLE)
        with pytest.raises(IndexError):
            fg.jit(interpolated)(x, TABLE)


def test_least_and_greatest_of_whole_numbers_are_pythons():
    def f(k, x):
        return min(k, 3) * x + max(k, 3, k + 1) * x**2

    for k in (-5, 2, 7):
        assert fg.jit(f)(k, 1.5) == f(k, 1.5)
