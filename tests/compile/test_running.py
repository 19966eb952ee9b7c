"""Running sums, recurrences and positions of extrema in routines, and remainders of floating-point numbers in kernels."""

import itertools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from tests.compile.compiling import check, compare, emitting, needs_compiler, routines, run
from tests.compile.test_kernel_integers import both, jitted, same, same_of

pytestmark = needs_compiler

RNG = np.random.default_rng(3)
SHAPES = [(7,), (1,), (3, 4), (4, 1, 5), (2, 3, 2)]
FLOATS = ["f4", "f8", "f2", "bfloat16"]
CUMULATIVE = {
    "cumsum": lambda x, a: fnp.cumsum(x + x, a, x.dtype),
    "cumprod": lambda x, a: fnp.cumprod(x + x, a, x.dtype),
    "reversed": lambda x, a: lax.cumsum(x + x, a, reverse=True),
    "product, reversed": lambda x, a: lax.cumprod(x + x, a, reverse=True),
}
ORDERED = {
    "cummax": lambda x, a: lax.cummax(x + x, a),
    "cummin, reversed": lambda x, a: lax.cummin(x + x, a, reverse=True),
    "argmax": lambda x, a: fnp.argmax(x + x, a),
    "argmin": lambda x, a: fnp.argmin(x + x, a),
}


def numbers(shape, dtype, spread=3):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    return np.round(RNG.normal(size=shape) * spread * 4).astype(dtype) / np.dtype(dtype).type(4)


def along_all(f, ndim):
    """Return a loop whose steps go along each axis."""

    def body(x):
        return [f(x, a) for a in range(ndim)]

    return emitting(body)


@pytest.mark.parametrize("dtype", [*FLOATS, "c8", "c16", "i1", "u4", "i8"])
@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative_operations(made, name, dtype):
    for shape in SHAPES:
        x = numbers(shape, dtype)
        if dtype == "f2":  # a product of seven, to which 2 has been added, must not overflow
            x = np.clip(x, -2.0, 0.25)
        check(made, along_all(CUMULATIVE[name], len(shape)), x)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u8"])
@pytest.mark.parametrize("name", ORDERED)
def test_order(made, name, dtype):
    for shape in SHAPES:
        check(made, along_all(ORDERED[name], len(shape)), numbers(shape, "f8", 1).astype(dtype))


@pytest.mark.parametrize("name", ORDERED)
def test_order_of_what_has_none(made, name):
    for at in ([], [0], [-1], [2, 5], range(7)):
        x = numbers((7,), "f8")
        x[list(at)] = np.nan
        check(made, along_all(ORDERED[name], 1), x)
    x[:] = [0.0, -0.0, np.inf, -np.inf, np.inf, -np.inf, 0.0]
    check(made, along_all(ORDERED[name], 1), x)


def test_ties_and_truths():
    x = np.array([[1, 3, 3], [3, 1, 1], [1, 1, 3]])
    f = emitting(lambda x: [fnp.argmax(x, 0), fnp.argmin(x, 1), fnp.argmax(x > 2, 1)])
    compare(f, (x,), 0)


def test_recurrences(made):
    losses = [
        lambda x: fnp.sum(fnp.cumprod(x, 0) * fnp.sin(x)),
        lambda x: fnp.sum(lax.cummax(x, 0) * fnp.sin(x)),
        lambda x: fnp.sum(lax.cumlogsumexp(x, 0) * fnp.sin(x)),
    ]
    x = RNG.normal(size=(5, 3))
    for loss in losses[:2]:
        check(made, emitting(lambda x, loss=loss: fg.grad(loss)(x)), x, ulps=8)
    compare(emitting(fg.grad(losses[2])), (x,), 16)


@pytest.mark.parametrize("order", [np.asfortranarray, lambda x: x[::-1, ::-1], lambda x: x.T])
def test_memory_order(order):
    x = order(RNG.normal(size=(3, 5)))
    f = lambda x: [
        g for a in (0, 1) for g in (fnp.cumsum(x * 2, a), lax.cummax(-x, a), fnp.argmax(x * x, a))
    ]
    g = fg.grad(lambda x: fnp.sum(fnp.cumprod(x, 1) ** 2) + fnp.sum(fnp.cumprod(x, 0) ** 2))
    for function in (f, g):
        for a, b in zip(run(function, (x,), "eager")[0], fg.tree.leaves(function(x)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
            assert a.strides == b.strides


def test_warnings_are_numpys():
    with np.errstate(all="warn"):
        x = np.array([1e308, 1e308, 1.0])
        assert same(lambda x: fnp.cumsum(x * 1.0) * 2 + 1, x)
        assert not same(lambda x: lax.cummax(x * 1.0) - 1, np.array([1.0, np.nan, 2.0]))
        assert not same(lambda x: fnp.argmax(x * 1.0) - 1, np.array([1.0, np.nan, 2.0]))


def test_what_is_left_to_numpy():
    half = np.ones(5, np.float16)
    assert not routines(lambda x: lax.cummax(x + x) * 2, (half,))
    assert not routines(lambda x: fnp.argmax(x + x) * 2, (half,))
    assert not routines(lambda x: fnp.argmax(x + x) * 2, (half + 1j,))


DIVISIONS = {"remainder": np.remainder, "fmod": np.fmod, "floor_divide": np.floor_divide}


def hard_pairs(dtype):
    """Return numbers of which many are nearly multiples of the others, or the numbers themselves."""
    y = numbers((20_000,), dtype, 2)
    y[y == 0] = 3
    y = (y * y.dtype.type(0.1)).astype(y.dtype)
    times = np.round(RNG.normal(size=y.size) * 100).astype(y.dtype)
    x = (times * y).astype(y.dtype)
    up, down = (np.nextafter(x, y.dtype.type(s)) for s in (np.inf, -np.inf))
    return np.concatenate([x, up, down, times, -y]), np.concatenate([y, y, -y, y, y])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", DIVISIONS)
def test_remainders_are_numpys_bit_for_bit(name, dtype):
    x, y = hard_pairs(dtype)
    f = lambda x, y: fnp.copysign(getattr(fnp, name)(x, y), getattr(fnp, name)(x, y)) * 1
    (found,), _ = run(f, (x, y), "eager")
    expected = DIVISIONS[name](x, y)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("name", DIVISIONS)
def test_remainders_at_the_edges(name, made):
    inf, nan, tiny, huge = np.inf, np.nan, 5e-324, 1.7e308
    edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        3.0,
        -3.0,
        0.1,
        inf,
        -inf,
        nan,
        tiny,
        -tiny,
        huge,
        -huge,
        2.0**53,
    ]
    function = getattr(fnp, name)
    alone, within = jitted(function), jitted(lambda x, y: function(x, y) * 1.0 + 0.0)
    for pair in itertools.product(edges, edges):
        x, y = [np.full(5, number) for number in pair]
        for tier in made:
            tier.failures = 0  # many pairs warn, and kernels would be given up
        same_of(within, x, y)
        with np.errstate(all="ignore"):
            (a, _), (b, _) = both(alone, x, y)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    assert made[0].native is not None


def test_remainders_of_far_apart_numbers_are_computed_by_numpy(made):
    x = np.linspace(1e17, 1e18, 1000)
    f = lambda x: fnp.sin(x % 0.3)
    np.testing.assert_array_equal(run(f, (x,), "eager")[0][0], np.sin(x % 0.3))
    assert any(tier.failures for tier in made)


def test_periodic_steps_are_a_routine(made):
    box = np.array([3.0, 4.0, 5.0])
    f = emitting(lambda x: [(x + 0.37) % box, fnp.mod(x * x, -2.5), fnp.fmod(x, 0.3), x // 0.7])
    check(made, f, RNG.uniform(0, 3, (6, 3)))
