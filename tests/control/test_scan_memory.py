"""The gradient of a loop takes memory in proportion to what the loop hands on, however long its body is."""

import tracemalloc

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.ad_checkpoint import checkpoint
from fungrad.settings import memory_limit

STEPS, WIDTH = 10_000, 10
CARRIES = STEPS * WIDTH * 8
RNG = np.random.default_rng(0)
W, B = RNG.normal(size=(WIDTH, WIDTH)) / 4, RNG.normal(size=WIDTH)


def recurrent(w, b):
    return lambda c, _: (fnp.tanh(w @ c + b), None)


def long(w, b):
    def step(c, _):
        y = fnp.sin(c) * b
        z = fnp.exp(-y * y) + 0.1 * c
        u = fnp.cos(z) * y + b
        v = u / (1 + u * u)
        return 0.9 * fnp.tanh(v + z) - 0.01 * c * v, None

    return step


def gradient(body, wrap):
    def loss(w, b):
        c, _ = lax.scan(wrap(body(w, b)), fnp.full(WIDTH, 0.1), None, length=STEPS)
        return fnp.sum(c * c)

    return fg.jit(fg.grad(loss, (0, 1)))


@pytest.mark.parametrize(
    ("body", "wrap", "limit"),
    [(recurrent, lambda f: f, 5), (long, lambda f: f, 5), (recurrent, checkpoint, 1.5)],
    ids=["recurrent", "long", "checkpoint"],
)
def test_peak_in_multiples_of_the_carries(body, wrap, limit):
    f = gradient(body, wrap)
    f(W, B)
    tracemalloc.start()
    f(W, B)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < limit * CARRIES


# A limit by choice.


def summed(reverse, length):
    """Return a function with carries, rows that are taken and given, and a constant; and its arguments."""
    rng = np.random.default_rng(length)

    def f(x, rows, w):
        def step(c, row):
            y = fnp.sin(c * row + w)
            return y, fnp.sum(c * y)

        c, ys = lax.scan(step, x, rows, reverse=reverse)
        return fnp.sum(c) + fnp.sum(ys * ys)

    return f, (rng.normal(size=20), rng.normal(size=(length, 20)), rng.normal(size=20))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [1, 3, 5, 500, 503])
@pytest.mark.parametrize("limit", [1, 20_000, 60_000])
def test_gradients_within_a_limit_are_the_same(reverse, length, limit):
    f, args = summed(reverse, length)
    every = (0, 1, 2)
    expected = fg.jit(fg.grad(f, every))(*args)
    forward = fg.jvp(f, args, args)[1]
    with memory_limit(limit):
        for h in (fg.jit(fg.grad(f, every)), fg.grad(f, every)):
            for x, y in zip(h(*args), expected):
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(fg.jvp(f, args, args)[1], forward)
        batch = fg.vmap(fg.grad(f), (0, None, None))(np.stack([args[0], args[0]]), *args[1:])
        np.testing.assert_allclose(batch[1], expected[0], rtol=1e-9, atol=1e-10)


def test_a_second_derivative_within_a_limit():
    f, (x, rows, w) = summed(False, 200)
    slope = lambda x: fnp.sum(fg.grad(f)(x, rows, w) ** 2)
    expected = fg.jit(fg.grad(slope))(x)
    with memory_limit(20_000):
        np.testing.assert_allclose(fg.jit(fg.grad(slope))(x), expected, rtol=1e-8, atol=1e-8)


def test_only_some_operands_with_a_derivative_within_a_limit():
    f, (x, rows, w) = summed(False, 301)
    for which in range(3):
        expected = fg.jit(fg.grad(f, which))(x, rows, w)
        with memory_limit(20_000):
            found = fg.jit(fg.grad(f, which))(x, rows, w)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("limit", "most"), [(CARRIES // 4, 0.3), (CARRIES // 20, 0.1)])
def test_a_limit_is_kept(limit, most):
    """The steps of a loop with carries alone take CARRIES; a program is made for the limit that is in force."""

    def loss(x):
        return fnp.sum(lax.fori_loop(0, STEPS, lambda i, c: c * (1.0 - 1e-6 * c), x))

    x = np.linspace(0.5, 1.0, WIDTH)
    f = fg.jit(fg.grad(loss))
    expected = f(x)
    with memory_limit(limit):
        np.testing.assert_allclose(f(x), expected, rtol=1e-12)
        tracemalloc.start()
        f(x)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < most * CARRIES


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (-5, ValueError), (2e9, TypeError)])
def test_limits_that_are_none(size, error):
    with pytest.raises(error, match="memory_limit: a number of bytes"):
        memory_limit(size)
    with pytest.raises(error, match="memory_limit: a number of bytes"):
        fg.config.update("memory_limit", size)
