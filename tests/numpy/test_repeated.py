"""Changed copies of arrays, where integers are as large as they can be, and where indices repeat."""

import functools
import itertools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

METHODS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "power": np.power,
}
KEYS = [0, np.array([0]), slice(1), np.array([True, False])]


def changed(name, key, value, x):
    return getattr(fg.at(x)[key], name)(value)


def ends(dtype):
    """Return integers of a dtype that doubles do not hold, and its bounds."""
    info = np.iinfo(dtype)
    inner = [2**60 + 1, 2**53 + 1] if info.bits == 64 else []
    return [int(info.min), int(info.max), int(info.max) - 1, *inner]


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("dtype", "bBhHiIqQ")
def test_integers_keep_all_their_bits(dtype):
    """Beside Python's numbers, and integers of other dtypes."""
    for end, (name, ufunc), key in itertools.product(ends(dtype), METHODS.items(), KEYS):
        x = np.array([end, 3], dtype)
        for value in (0, 1, 2, np.array(1, dtype), np.int64(1), np.uint64(1)):
            expected = np.array([ufunc(x[:1], np.array(value).astype(dtype))[0], 3], dtype)
            change = functools.partial(changed, name, key, value)
            for f in (change, fg.jit(change)):
                found = f(x)
                assert found.dtype == x.dtype
                np.testing.assert_array_equal(found, expected, f"{end} {name} {value!r} at {key}")


@pytest.mark.parametrize("jit", [False, True])
def test_extrema_with_integers_of_another_sign(jit):
    transform = fg.jit if jit else lambda f: f
    big = np.array([2**63 + 5], np.uint64)
    assert transform(lambda x: fg.at(x)[0].max(np.int64(-1)))(big)[0] == 2**63 + 5
    small = np.array([-5])
    assert transform(lambda x: fg.at(x)[0].min(np.uint64(2**64 - 1)))(small)[0] == -5
    assert transform(lambda x: fg.at(x)[0].max(np.uint64(2**64 - 1)))(small)[0] == 2**63 - 1


@pytest.mark.parametrize("number", [300, -1])
def test_numbers_that_do_not_fit_are_errors(number):
    x = np.array([5, 1], np.uint8)
    for f in (lambda x: fg.at(x)[0].add(number), fg.jit(lambda x: x.at[0].add(number))):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            f(x)


X = np.arange(1.0, 7.0)
INDICES = [[1, 1, 4, 1], [0, 5], [-1, 5, -1], [[1, 1], [2, 1]]]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_apply_is_repeated(index):
    index = np.array(index)
    expected = X.copy()
    np.sin.at(expected, index)
    by_known, by_traced = lambda x: x.at[index].apply(np.sin), lambda x, i: x.at[i].apply(np.sin)
    for found in (
        fg.at(X)[index].apply(np.sin),
        fg.jit(by_known)(X),
        fg.jit(by_traced)(X, index),
        fg.vmap(by_traced, (0, None))(np.stack([X, X]), index)[1],
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    slopes = [
        fg.grad(lambda x, f=f: fnp.sum(f(x)))(X)
        for f in (by_known, lambda x: fg.jit(by_traced)(x, index))
    ]
    np.testing.assert_allclose(*slopes, rtol=1e-13)


@pytest.mark.parametrize("traced", [False, True])
def test_apply_of_several_indices_and_of_none_that_is_there(traced):
    x, i, j = np.arange(1.0, 13).reshape(3, 4), np.array([0, 0, 2]), np.array([1, 1, 1])
    apply = lambda x, *key, **how: fg.at(x)[key].apply(np.sqrt, **how)
    run = fg.jit(apply, static_argnames="mode") if traced else apply
    expected = x.copy()
    np.sqrt.at(expected, (i, j))
    np.testing.assert_allclose(run(x, i, j), expected)
    expected = x.copy()
    np.sqrt.at(expected, (slice(None), i))
    rows = lambda x, i: fg.at(x)[:, i].apply(np.sqrt)
    np.testing.assert_allclose((fg.jit(rows) if traced else rows)(x, i), expected)
    expected = X.copy()
    np.sqrt.at(expected, [1, 1])
    np.testing.assert_allclose(run(X, np.array([1, 9, 1, -9]), mode="drop"), expected)


UFUNCS = [
    *(np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.power),
    *(np.arctan2, np.hypot, np.logaddexp, np.fmod),
]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [np.array([5, 7, 9]), np.array([5.5, 7, 9])], ids=["i8", "f8"])
def test_at_of_every_ufunc(ufunc, x):
    """Of integers, each result is rounded before the next operation."""
    for index, values in itertools.product(([0, 0, 2], [0, 1], [2, 2, 2]), ("1.6", "each", "ints")):
        index = np.array(index)
        b = {"1.6": 1.6, "each": np.array([1.6, 2.7, 0.3]), "ints": np.array([2, 1, 3])}[values]
        b = b[: len(index)] if values != "1.6" else b

        def changed(x, index, b=b):
            y = fnp.array(x)
            ufunc.at(y, index, b)
            return y

        expected = x.copy()
        ufunc.at(expected, index, b)
        for found in (
            fg.jit(changed)(x, index),
            fg.jit(lambda x, index=index, f=changed: f(x, index))(x),
            fg.vjp(lambda x, index=index, f=changed: f(x, index), x)[0],
        ):
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-14)
