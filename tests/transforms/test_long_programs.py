"""Programs of 20,000 equations, of which the stack has room for 400 calls: no recursion over the graph anywhere.

Traces and gradients are of 40,000, so that none takes longer than in proportion.
"""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

N = 20_000
LONG = 40_000


def chain(x, n=N):
    """n equations; the derivative is 1."""
    for _ in range(n // 2):
        x = (x + 1.0) - 1.0
    return x


@pytest.fixture(autouse=True)
def shallow_stack():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield
    sys.setrecursionlimit(limit)


def test_trace(as_written):
    expr = fg.make_expr(lambda x: chain(x, LONG))(2.0)
    assert len(expr.equations) >= LONG


def test_grad_twice():
    g = fg.grad(lambda x: chain(x, LONG))
    assert g(2.0) == 1
    assert g(2.0) == 1  # now from the cache of programs


def test_jvp():
    assert fg.jvp(chain, (2.0,), (3.0,)) == (2, 3)


def test_vjp():
    value, pullback = fg.vjp(chain, 2.0)
    assert (value, pullback(4.0)) == (2, (4,))


def test_jit():
    f = fg.jit(chain)
    assert f(2.0) == 2
    assert f(3.0) == 3
    assert f.cache_info().misses == 1


def test_vmap():
    f = fg.vmap(lambda x: chain(x, N // 2))
    np.testing.assert_array_equal(f(np.arange(3.0)), np.arange(3.0))


def test_nonlinear_chain():
    def f(x):
        for _ in range(N // 4):
            x = x * x * 0.5 + 0.5  # 1 stays 1
        return x

    assert fg.value_and_grad(f)(1.0) == (1, 1)


def test_data_dependent_loop():
    def f(x):
        n = 0
        while n < 2000:
            x = x * 1.0 if x > 0 else -x
            n += 1
        return x

    assert fg.grad(f)(2.0) == 1


def test_wide_program():
    x = np.arange(3000.0)
    g = fg.grad(lambda x: sum([x[i] * i for i in range(3000)]))(x)
    np.testing.assert_array_equal(g, x)


def test_deep_nesting_of_transforms():
    f = lambda x: x**12
    expected = 1.0
    for k in range(6):
        f = fg.grad(f)
        expected *= 12 - k
    assert f(1.0) == expected
    g = lambda x: x * 2
    for _ in range(20):
        g = fg.jit(g)
    assert g(3.0) == 6
    h = fnp.negative
    for _ in range(12):
        h = fg.vmap(h)
    assert h(np.ones((1,) * 12)).shape == (1,) * 12
