"""Python's numbers that branches choose stay Python's: an array of another precision keeps its dtype."""

import numpy as np
import pytest

import fungrad as fg

SINGLE = np.ones(3, np.float32)


def by_statement(x, a):
    if x > 0:
        y = 2.0
    else:
        y = 1
    return a * y


def by_expression(x, a):
    return a * (2 if x > 0 else 1)


def of_the_argument(x, a):
    y = float(x)
    if x < 0:
        y = -y
    return a * y


def in_a_loop(x, a):
    y = 1.0
    for k in range(50):
        if x > k:
            y = y * 1.01
    return a * y


def appended(x, a):
    found = []
    for k in range(50):
        if x > k * 0.1:
            found.append(float(x) * k)
        else:
            found.append(float(k))
    assert not isinstance(found[0], np.float64)
    return a * found[3]


@pytest.mark.parametrize(
    "f",
    [by_statement, by_expression, of_the_argument, in_a_loop, appended],
    ids=lambda f: f.__name__,
)
def test_arrays_keep_their_dtype(f):
    for x in (1.5, -0.5):
        expected = f(x, SINGLE)
        for found in (
            fg.jit(f)(x, SINGLE),
            fg.vmap(f, in_axes=(0, None))(np.array([x, 2 * x]), SINGLE)[0],
        ):
            assert found.dtype == expected.dtype == np.float32
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert fg.jit(fg.jacobian(f, argnums=1))(x, SINGLE).dtype == np.float32
