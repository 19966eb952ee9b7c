"""Boolean indexing by masks whose values are not known: under `jit` and `vmap`."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

X = np.array([[0.3, -1.2, 0.7, 2.1], [1.5, 0.4, -0.6, 0.9], [-0.2, 1.1, 0.8, -1.7]])


def scaled(x):
    a = x * 1
    a[a < 0] *= 0.1
    a[x > 1] -= x[0, 0]
    return a


def mirrored(x):
    a = x * 1
    a[a < 0] = -(a[a < 0] ** 2)
    return a


def square_roots(x):  # no derivative of what is left out
    a = np.zeros_like(x)
    positive = x > 0
    a[positive] = np.sqrt(x[positive]) + 1 / x[positive]
    return a


def both_sides(x):
    mask = x > 0.5
    a, b = x * 2, np.sin(x)
    a[mask] = b[mask] * a[mask] - x[mask] / (1 + a[mask])
    b[~mask] **= 2
    return a + b


def rows(x):
    a = x * 1
    long = x[:, 0] > 0
    a[long] += x[0]
    a[long] = a[long] * a[:, :1][long]
    return a


def reductions(x):
    mask = x > 0
    row = x[:, 1] < 1
    total = x[mask].sum() + np.mean(x[mask] ** 2) + (x[mask] > 1).any() + np.count_nonzero(x[mask])
    return total * x[row].sum(axis=0) + np.prod(1 + np.abs(x[mask])) + x[mask].mean()


def reflected(x):
    a = x * 1
    a[x > 0] = 1 / (2 - np.exp(-a[x > 0])) + x[0, 1] * a[x > 0]
    return a


PROGRAMS = [scaled, mirrored, square_roots, both_sides, reductions, reflected]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f):
    batch = np.stack([X, X + 0.01, -X])
    np.testing.assert_allclose(fg.jit(f)(X), f(X), rtol=1e-13)
    np.testing.assert_allclose(fg.vmap(f)(batch), [f(x) for x in batch], rtol=1e-13)

    def scalar(x):
        return np.sum(np.cos(f(x)))

    expected = fg.grad(scalar)(X)  # with values known
    step = 1e-6
    v = np.random.default_rng(0).normal(size=X.shape)
    central = (scalar(X + step * v) - scalar(X - step * v)) / (2 * step)
    np.testing.assert_allclose(np.sum(expected * v), central, rtol=1e-6)
    np.testing.assert_allclose(fg.jit(fg.grad(scalar))(X), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(fg.grad(fg.jit(scalar))(X), expected, rtol=1e-12, atol=1e-13)
    each = [fg.grad(scalar)(x) for x in batch]
    np.testing.assert_allclose(fg.vmap(fg.grad(scalar))(batch), each, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[x > 0],
        lambda x: len(x[x > 0]),
        lambda x: x[x > 0][0],
        lambda x: list(x[x > 0]),
        lambda x: x[x > 0].shape,
        lambda x: np.sort(x[x > 0]),
        lambda x: fnp.concatenate([x[x > 0], x[0]]),
        lambda x: x[x > 0] + x[x > 1],
        lambda x: x[x > 0] * x,
        lambda x: x[x > 0] + np.ones(3),
        lambda x: (x * 1).__setitem__(x > 1, x[x > 0]),
        lambda x: (x * 1).__setitem__(x > 0, (x * 2)[:, ::-1][x > 1]),
        lambda x: (x * 1).__setitem__(0, x[x > 0]),
        lambda x: np.add.reduce(x[x > 0]),
        lambda x: np.max(x[x > 0]),
        lambda x: float(x[x > 0]),
        lambda x: complex(x[x > 0]),
        lambda x: round(x[x > 0]),
        lambda x: divmod(x[x > 0], 0.9),
        lambda x: divmod(2, x[x > 0]),
        lambda x: x.T @ x[x > 0],
        lambda x: x[x > 0] @ x,
        lambda x: x[x > 0].sum(axis=0),
        lambda x: x[(x > 0)[0]],
        lambda x: x[x > 0, None],
    ],
)
def test_what_needs_the_number_of_elements_says_so(f, as_written):
    with pytest.raises((fg.ConcretizationError, IndexError), match=r"boolean mask|boolean index"):
        fg.jit(f)(X)


def test_shifts():
    def f(n):
        m = n * 1
        m[m > 2] = (m[m > 2] << 3) >> 1
        return m

    n = np.arange(6)
    np.testing.assert_array_equal(fg.jit(f)(n), f(n))


def test_rows(as_written):
    np.testing.assert_allclose(
        fg.jit(lambda x: np.sum(x[x[:, 0] > 0] * 2, axis=0))(X), (X[X[:, 0] > 0] * 2).sum(0)
    )
    with pytest.raises(fg.ConcretizationError):
        fg.jit(rows)(X)  # of an array of another shape
