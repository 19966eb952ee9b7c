"""Kernels whose operations wait for one another: several vectors are computed side by side."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.compile.compiling import assembly, in_mode, needs_compiler

pytestmark = [needs_compiler, in_mode("eager")]

RNG = np.random.default_rng(0)
LENGTHS = [1, 7, 15, 16, 17, 63, 64, 65, 250, 257, 5000, 100_001]


def horner(x, terms=24):
    """A polynomial."""
    total = x * 0
    for k in range(terms):
        total = total * x + x.dtype.type(1 / (k + 1))
    return total


def several(x):
    y = horner(x * 0.5)  # which is written over what has been computed
    return y, horner(y * 0.1, 20) * x


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_bits_are_those_of_numpys_functions(n, dtype, mode):
    x = RNG.uniform(-1, 1, size=n).astype(dtype)
    for function in (horner, several, lambda x: horner(x[::-1]), lambda x: horner(x) * (x > 0)):
        expected, found = function(x), fg.jit(lambda x, f=function: f(x))(x)
        for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums(dtype, mode):
    x = RNG.uniform(-1, 1, size=(7, 1003)).astype(dtype)
    exact = horner(x.astype("g"))
    for axis in (None, 0, 1):
        found = fg.jit(lambda x, axis=axis: fnp.sum(horner(x), axis))(x)
        np.testing.assert_allclose(found, exact.sum(axis), atol=1000 * np.finfo(dtype).eps)


def test_what_is_a_chain(mode):
    x = np.ones(1000)
    assert all("load volatile" in text for text in assembly(horner, x))
    assert not any("load volatile" in text for text in assembly(fnp.exp, x))
    assert not any("load volatile" in text for text in assembly(lambda x: horner(x, 5), x))


def test_errors_are_noticed(mode):
    x = np.ones(1000)
    x[777] = 1e300
    with pytest.warns(RuntimeWarning, match="overflow"):
        found = fg.jit(horner)(x)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, horner(x))
