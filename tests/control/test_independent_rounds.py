"""Loops of Python's whose rounds are made at once: those are, those that may not be are not, and all are Python's."""

import numpy as np
import pytest

import fungrad as fg
from fungrad.programs.loops import independent
from tests.control.random_nests import Nest

N = 24
X = np.linspace(0.3, 1.4, N)
SQUARE = np.sin(np.arange(N * N, dtype=float)).reshape(N, N) + 2.0


def held_programs(function, *args):
    expr = fg.make_expr(function)(*args)
    return [e.primitive.name for e in expr.equations if e.primitive.holds_programs]


def check(function, *args, rtol=1e-12):
    """Hold a function against Python under transforms; its gradient against differences."""
    expected = function(*args)
    np.testing.assert_allclose(fg.jit(function)(*args), expected, rtol=rtol)
    batch = fg.vmap(function)(*[np.stack([x, 1.1 * x]) for x in args])
    np.testing.assert_allclose(batch[1], function(*[1.1 * x for x in args]), rtol=rtol)
    rng = np.random.default_rng(0)
    weights, directions = rng.normal(size=expected.shape), [rng.normal(size=x.shape) for x in args]

    def loss(*args):
        return (weights * function(*args)).sum()

    shifted = [
        loss(*[x + h * d for x, d in zip(args, directions, strict=True)]) for h in (1e-6, -1e-6)
    ]
    slope, every = (shifted[0] - shifted[1]) / 2e-6, tuple(range(len(args)))
    for gradient in (fg.grad(loss, every), fg.jit(fg.grad(loss, every))):
        terms = [g * d for g, d in zip(gradient(*args), directions, strict=True)]
        scale = 1e-12 + sum(abs(x).sum() for x in terms)
        assert abs(sum(x.sum() for x in terms) - slope) < 1e-5 * scale
    tangent = fg.jvp(function, args, directions)[1]
    assert abs((weights * tangent).sum() - sum(x.sum() for x in terms)) < 1e-9 * scale


def matrix_product(a, b):
    c = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(N):
                c[i, j] += a[i, k] * b[k, j]
    return c


def product_of_rows(a, b):
    c = a.copy()
    for i in range(N):
        for k in range(N):
            c[i, :] -= 0.5 * a[i, k] * b[k]
    return c


def stencil(a, b):
    b = b.copy()
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            b[i, j] = a[i - 1, j] + a[i + 1, j] * a[i, j - 1] - a[i, j + 1]
    return b


def turned(a, b):
    b = b.copy()
    for i in range(N):
        b[i] = a[:, N - 1 - i] * a[-1 - i]
    return b


def scratch(a, b):
    c, row = a.copy(), np.zeros(N)
    for i in range(N):
        for j in range(N):
            row[j] = a[i, j] * b[j, i]
        for j in range(N):
            c[i, j] = row[N - 1 - j] + row[j]
    return c * row[0]


def diagonal(a, b):
    a = a.copy()
    for i in range(N):
        a[i, i] = a[i, i] * b[i, N - 1 - i]
        a[i, 2] += b[i, i]
    return a


def gathered(a, b):
    order, out = (7 * np.arange(N)) % N, np.zeros(N)
    for i, k in enumerate(order):
        out[i] = a[k, i] * b[i, k]
    return out


def two_sums(a, b):
    x, y = np.zeros(N), np.zeros(N)
    for i in range(N):
        for j in range(N):
            x[j] = x[j] + a[i, j] * b[j, j]
            y[i] = y[i] - a[i, j] * b[i, j] - 0.5
    return x * y


AT_ONCE = [
    matrix_product,
    product_of_rows,
    stencil,
    turned,
    scratch,
    diagonal,
    gathered,
    two_sums,
]


@pytest.mark.parametrize("function", AT_ONCE, ids=lambda f: f.__name__)
def test_independent_rounds_are_made_at_once(function):
    assert not held_programs(function, SQUARE, SQUARE.T)
    check(function, SQUARE, 0.1 * SQUARE.T)


def test_a_matrix_product_is_one():
    expr = fg.make_expr(matrix_product)(SQUARE, SQUARE)
    assert [e.primitive.name for e in expr.equations].count("dot_general") == 1
    assert len(expr.equations) <= 2


def recurrence(x):
    x = x.copy()
    for i in range(1, N):
        x[i] = x[i] + 0.5 * x[i - 1]
    return x


def shift(x):
    x = x.copy()
    for i in range(N - 1):
        x[i] = x[i + 1] * 0.9
    return x


def smoothed(x):
    total, out = 0.0, np.zeros(N)
    for i in range(N):
        total = 0.5 * total + x[i]
        out[i] = total
    return out


def running(x):
    total, out = 0.0, np.zeros(N)
    for i in range(N):
        total += x[i]
        out[i] = total
    return out


def crossing(x):
    x = x.copy()
    for i in range(N):
        x[i] = 0.5 * x[N - 1 - i] + x[i]
    return x


def one_place(x):
    x = x.copy()
    for i in range(N):
        x[3] = 0.5 * x[3] + x[i]
    return x


def wrapping(x):
    x, out = x.copy(), np.zeros(N)
    for i in range(N):
        out[i - 3] = 2.0 * x[i - 3]
    return out


def column_read_by_all(x):
    a = np.outer(x, x)
    for i in range(N):
        for j in range(N):
            a[i, j] += 0.1 * a[i, 3] * a[2, j]
    return a


@pytest.mark.parametrize(
    "function",
    [recurrence, shift, smoothed, running, crossing, one_place, wrapping, column_read_by_all],
    ids=lambda f: f.__name__,
)
def test_dependent_rounds_stay_a_loop(function):
    assert held_programs(function, X) == ["scan"]
    check(function, X)


@pytest.mark.parametrize("seed", range(12))
def test_random_nests_are_pythons(seed):
    nest = Nest(seed)
    check(nest.function(), *nest.arguments(seed), rtol=1e-9)


def test_places_outside_of_an_array_raise():
    def f(x):
        y = np.zeros(N)
        for i in range(N):
            y[i] = x[i + 1]
        return y

    with pytest.raises(IndexError):
        fg.jit(f)(X)


@pytest.mark.parametrize("dtype", ["f4", "c16", "i8", "i4", "?"])
def test_dtypes_of_sums(dtype):
    def f(a, b):
        total, out = np.zeros(N, dtype), np.zeros((N, N), dtype)
        for i in range(N):
            for j in range(N):
                total[i] += a[i, j] * b[j, i]
                out[i, j] = a[j, i]
        return total, out

    a, b = (3 * SQUARE).astype(dtype), (2 * SQUARE.T).astype(dtype)
    for found, expected in zip(fg.jit(f)(a, b), f(a, b), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_large_parts_stay_in_a_loop():
    def f(x, y):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = np.sin(x[i] + y).sum()
        return out

    x = np.linspace(0.0, 1.0, 600)
    assert held_programs(f, x, x) == ["scan"]  # 2.9 MB at once
    np.testing.assert_allclose(fg.jit(f)(x, x), f(x, x))


def test_a_loop_is_looked_at_once_also_if_its_rounds_depend_on_each_other(monkeypatch):
    looked = []
    made = independent.Plans.__init__
    monkeypatch.setattr(independent.Plans, "__init__", lambda *a: looked.append(a) or made(*a))

    def chain(x):
        for _ in range(50):
            x = np.sin(x) * 1.0123
        return np.sum(x)

    first, *others = [fg.grad(chain)(np.ones(3)) for _ in range(4)]
    for x in others:  # the last ones are Python's, which multiplies in another order
        np.testing.assert_allclose(x, first, rtol=1e-13)
    assert len(looked) == 1
