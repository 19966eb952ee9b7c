"""Kernels of many operations on an element: their code stands once, in a loop whose last rounds overlap."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.compile.compiling import assembly, in_mode, needs_compiler

pytestmark = [needs_compiler, in_mode("eager")]

RNG = np.random.default_rng(0)
LENGTHS = [5, 8, 9, 16, 17, 31, 33, 64, 127, 8191, 8192, 8193, 16_391, 40_000, 1_000_003]


def quotients(x):
    """Eighteen operations that wait for few others."""
    y = (x * 1.5 + 2) / (x * x + 1)
    z = (x - 3) * (x + 0.25) / (x * x + 2)
    return (y + z) / (abs(x) + 0.5) * (y - z) + (x * y - z * 0.75)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_bits_are_those_of_numpys_functions(n, dtype, mode):
    x = RNG.uniform(-1, 1, size=n).astype(dtype)
    for function in (quotients, lambda x: quotients(x[::-1]), lambda x: (quotients(x), x + 1)):
        expected, found = function(x), fg.jit(lambda x, f=function: f(x))(x)
        for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(7, 33), (3, 8200), (40, 5), (2, 3, 130)])
def test_rows(shape, mode):
    x, row = RNG.uniform(-1, 1, size=shape), RNG.uniform(-1, 1, size=shape[-1])
    function = lambda x, row: quotients(x - x.max(-1, keepdims=True)) * quotients(x * row)
    np.testing.assert_array_equal(fg.jit(function)(x, row), function(x, row))


@pytest.mark.parametrize("lengths", [(17, 33), (8200, 9), (9, 8200), (20_000, 30_001)])
def test_rows_of_pieces(lengths, mode):
    x, y = [RNG.uniform(-1, 1, size=n) for n in lengths]
    function = lambda x, y: quotients(np.concatenate([x, y]))
    found = fg.jit(lambda x, y: quotients(fnp.concatenate([x, y])))(x, y)
    np.testing.assert_array_equal(found, function(x, y))


def test_the_code_stands_once(mode):
    for n in (1001, 100_003):
        x = np.ones(n)
        (text,) = assembly(quotients, x)
        calls = [line for line in text.splitlines() if "= call" in line and "fdiv" in line]
        assert len(calls) == 3
