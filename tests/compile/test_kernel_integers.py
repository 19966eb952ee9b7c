"""Divisions of integers, and integers made of floating-point numbers, in kernels."""

import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import compilation
from tests.compile.compiling import in_mode, needs_compiler

pytestmark = [needs_compiler, in_mode("eager")]

INTEGERS = [np.dtype(c) for c in "bhilBHIL"]


def jitted(f):
    """Return a function that is to be called with kernels, and the same without."""
    return {mode: fg.jit(lambda *x: f(*x)) for mode in ("eager", "off")}


def both(functions, *args):
    """Return what `jitted` functions give with kernels and without, and what they warn of."""
    found = []
    for mode, f in functions.items():
        token = compilation.set(mode)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append((f(*args), [str(w.message) for w in caught]))
        compilation.reset(token)
    return found


def same(f, *args):
    return same_of(jitted(f), *args)


def same_of(functions, *args):
    (a, warned), (b, expected) = both(functions, *args)
    np.testing.assert_array_equal(a, b)
    assert (a.dtype, warned) == (b.dtype, expected)
    return warned


def limits(dtype):
    info = np.iinfo(dtype)
    numbers = {
        info.min,
        info.min + 1,
        info.min // 2,
        -7,
        -3,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        100,
        info.max - 1,
        info.max,
    }
    return np.array(sorted(n for n in numbers if info.min <= n <= info.max), dtype)


DIVISIONS = {
    "remainder": lambda x, y: x % y + (x ^ y),
    "quotient": lambda x, y: x // y + (x ^ y),
    "both": lambda x, y: fnp.add(*fnp.divmod(x, y)) - x,
}


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_divisions(name, dtype, mode, made):
    x, y = (a.reshape(-1) for a in np.meshgrid(limits(dtype), limits(dtype)))
    fine = (y != 0) & ~((x == np.iinfo(dtype).min) & (y.astype(float) == -1))
    assert same(DIVISIONS[name], x[fine], y[fine]) == []
    assert [tier.failures for tier in made if tier.native is not None] == [0]


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_divisions_that_numpy_warns_of(name, dtype, mode, made):
    one = np.ones(9, dtype)
    assert same(DIVISIONS[name], one, one - one)
    if dtype.kind == "i":
        same(DIVISIONS[name], one * np.iinfo(dtype).min, -one)


@pytest.mark.parametrize("to", INTEGERS, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_integers_of_floats(dtype, to, mode, made):
    info = np.iinfo(to)
    x = np.array([0.0, -0.0, 0.5, 0.99, 1.0, 1.5, 99.9, info.max // 2, info.min // 2], dtype)
    last = np.nextafter(np.array(info.max + 1, dtype), np.array(0, dtype))
    x = np.append(x, [last, np.array(info.min, dtype)])
    assert same(lambda x: (x * 1).astype(to) ^ 1, x) == []
    assert [tier.failures for tier in made if tier.native is not None] == [0]


@pytest.mark.parametrize("to", INTEGERS, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1e30, -1.0, -0.5])
def test_floats_that_no_integer_is(value, to, mode):
    same(lambda x: (x * 1).astype(to) ^ 1, np.array([1.0, value, 2.0] * 7))


def test_in_loops(mode, made):
    def f(x):
        def step(i, x):
            return x.at[i % 3].add((x[(2 * i + 1) % 3] * 10).astype(int) // 3)

        return fg.lax.fori_loop(0, 20, step, x)

    assert same(f, np.array([0.25, 0.5, -0.75])) == []
    assert all(tier.failures == 0 for tier in made)
    assert "{ routine" in str(fg.jit(lambda x: f(x)).lower(np.zeros(3)).kernels)
