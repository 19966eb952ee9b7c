"""`fungrad.random` against `jax.random`: the same key gives the same numbers."""

import functools

import jax
import ml_dtypes
import numpy as np
import pytest

import fungrad as fg
from fungrad import random

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
SEEDS = [0, 42, -1, 2**40 + 3]


def check_bits(mine, theirs):
    theirs = np.asarray(theirs)
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
    assert np.asarray(mine).tobytes() == theirs.tobytes()


def ulps(mine, theirs):
    """Return by how many units of the last place numbers differ, at most."""
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs))
    whole = np.dtype(f"i{mine.dtype.itemsize}")
    ordered = []
    for x in (mine, theirs):
        i = np.atleast_1d(x).view(whole).astype(object)
        ordered.append(np.where(i < 0, int(np.iinfo(whole).min) - i, i))
    return max(abs(ordered[0] - ordered[1]).ravel(), default=0)


@pytest.fixture(params=[True, False], ids=["partitionable", "in halves"])
def layout(request):
    with fg.threefry_partitionable(request.param), jax.threefry_partitionable(request.param):
        yield request.param


@pytest.mark.parametrize("seed", SEEDS)
def test_keys(layout, seed):
    mine, theirs = random.key(seed), jax.random.key(seed)
    check_bits(random.key_data(mine), jax.random.key_data(theirs))
    raw = random.PRNGKey(seed)
    check_bits(raw, jax.random.PRNGKey(seed))
    for number in (2, 1, 3, (2, 3), 0):
        split = random.split(mine, number)
        check_bits(random.key_data(split), jax.random.key_data(jax.random.split(theirs, number)))
        check_bits(random.split(raw, number), random.key_data(split))
    for data in (0, 1, 77, 2**32 - 1, np.int8(-3), np.int64(2**40)):
        folded = random.fold_in(mine, data)
        check_bits(random.key_data(folded), jax.random.key_data(jax.random.fold_in(theirs, data)))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (0,), (10001,)])
def test_bits(layout, dtype, shape):
    for seed in SEEDS:
        mine = random.bits(random.key(seed), shape, dtype)
        check_bits(mine, jax.random.bits(jax.random.key(seed), shape, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bounds", [(), (-1, 1), (0.3, 1.7), (-0.1, 0.7), (5.0, 2.0), (0, 3)])
@pytest.mark.parametrize("shape", [(), (3, 4), (50000,)])
def test_uniform(layout, dtype, bounds, shape):
    mine = random.uniform(random.key(7), shape, dtype, *bounds)
    check_bits(mine, jax.random.uniform(jax.random.key(7), shape, dtype, *bounds))


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_between_arrays(dtype):
    low, high = np.linspace(-1, 1, 300).astype(dtype), np.linspace(3, 1, 20)[:, None].astype(dtype)
    mine = random.uniform(random.key(7), (20, 300), dtype, low, high)
    check_bits(mine, jax.random.uniform(jax.random.key(7), (20, 300), dtype, low, high))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_randint(layout, dtype):
    info = np.iinfo(dtype)
    bounds = [
        (0, 10),
        (3, 3),
        (5, 2),
        (0, 2**40),
        (info.min, min(info.max, 2**63 - 2) + 1),
        (0, 127),
    ]
    bounds += [] if dtype[0] == "u" else [(-5, 100), (-(2**31), 2**31)]
    for low, high in bounds:
        mine = random.randint(random.key(1), (100,), low, high, dtype)
        check_bits(mine, jax.random.randint(jax.random.key(1), (100,), low, high, dtype))
    low, high = np.arange(5), np.array([[3], [100]])
    mine = random.randint(random.key(1), (2, 5), low, high, dtype)
    check_bits(mine, jax.random.randint(jax.random.key(1), (2, 5), low, high, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ["low", "high"])
def test_bernoulli(layout, dtype, mode):
    draw = functools.partial(random.bernoulli, mode=mode)
    theirs = functools.partial(jax.random.bernoulli, mode=mode)
    key, other = random.key(2), jax.random.key(2)
    p = np.linspace(0, 1, 1000).astype(dtype)
    check_bits(draw(key, p), theirs(other, p))
    check_bits(draw(key, dtype(0.25), (3, 4)), theirs(other, dtype(0.25), (3, 4)))


def test_rademacher():
    for dtype in (None, np.int8, np.float32):
        mine = random.rademacher(random.key(2), (99,), dtype)
        check_bits(mine, jax.random.rademacher(jax.random.key(2), (99,), dtype))


# JAX's logarithms in double precision are wrong by up to 128 ulp near arguments of -0.41.
NORMAL_ULPS = {np.float16: 0, ml_dtypes.bfloat16: 0, np.float32: 4, np.float64: 32}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (3, 4), (200000,)])
def test_normal(layout, dtype, shape):
    mine = random.normal(random.key(5), shape, dtype)
    assert ulps(mine, jax.random.normal(jax.random.key(5), shape, dtype)) <= NORMAL_ULPS[dtype]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_normal(dtype):
    mine = random.normal(random.key(5), (1000,), dtype)
    theirs = np.asarray(jax.random.normal(jax.random.key(5), (1000,), dtype))
    assert mine.dtype == theirs.dtype
    most = NORMAL_ULPS[mine.real.dtype.type] + 1
    assert ulps(mine.real.copy(), theirs.real.copy()) <= most
    assert ulps(mine.imag.copy(), theirs.imag.copy()) <= most
