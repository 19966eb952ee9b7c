"""Indices that leave an array in some round of a loop: Python's error, whether or not the element is used."""

import numpy as np
import pytest

import fungrad as fg

X = np.ones(12)


def read_and_forgotten(x):
    for k in range(20):
        x[k]
    return x.sum()


def read_and_used(x):
    total = 0.0
    for k in range(20):
        total += x[k]
    return total


def written_and_forgotten(x):
    z = np.zeros(20)
    for k in range(20):
        z[k + 1] = x[0]
    return x.sum()


def from_the_end(x):
    total = 0.0
    for k in range(20):
        total += x[-k]
    return total


def second_axis(x):
    z = np.zeros((20, 4))
    for k in range(20):
        z[2:4, 2 * k - 35] = x[0]
    return x.sum()


@pytest.mark.parametrize(
    "f",
    [read_and_forgotten, read_and_used, written_and_forgotten, from_the_end, second_axis],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize(
    "transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f))], ids=["grad", "jit", "jit(grad)"]
)
def test_error_is_pythons(f, transform):
    with pytest.raises(IndexError) as plain:
        f(X)
    with pytest.raises(IndexError) as error:
        transform(f)(X)
    assert str(error.value).startswith(str(plain.value))


def caught(x):
    total = 0.0
    try:
        for k in range(20):
            total += x[k] ** 2
    except IndexError:
        total += 1.0
    return total


@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_error_is_caught(transform):
    assert fg.jit(caught)(X) == caught(X)
    np.testing.assert_allclose(transform(caught)(X), 2 * X)


def within(x):
    """Indices that stay within by a branch, a minimum, a remainder or an end of the loop."""
    total = 0.0
    for k in range(30):
        total += x[min(k + 1, 11)] + x[(5 * k) % 12]
        if k < 11:
            total += x[k + 1]
    return total


def ended(x):
    total = 0.0
    for k in range(30):
        if k >= len(x):
            break
        total += x[k] ** 2
    return total


@pytest.mark.parametrize("f", [within, ended], ids=lambda f: f.__name__)
def test_indices_that_stay_within_make_loops(f):
    assert len(fg.make_expr(f)(X).equations) < 20
    assert fg.jit(f)(X) == f(X)
