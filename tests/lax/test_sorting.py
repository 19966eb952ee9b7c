"""Sorting and the greatest elements of `lax`."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from tests.numpy.checker import check_function

X = np.array([[0.3, -0.7, 1.9, 1.1], [2.2, -1.4, 0.6, -0.2]])
Y = np.arange(8.0).reshape(2, 4)
KEYS = np.array([2, 1, 2, 1])
TIES = np.array([1.0, 3.0, 2.0, 3.0, 1.0])
NANS = np.array([1.0, np.nan, 5.0, 2.0, np.nan])
TRACED = ("known", "jit", "vmap", "jvp", "vjp")


def largest(x, k, axis=-1):
    """Sort by Python: from the greatest on, of equals the first."""
    rows = np.moveaxis(x, axis, -1)
    order = [sorted(range(len(row)), key=lambda i: -row[i])[:k] for row in rows]
    values = np.take_along_axis(rows, np.array(order), -1)
    return np.moveaxis(values, -1, axis), np.moveaxis(np.array(order, np.int32), -1, axis)


def in_order_of(x, y):
    order = np.argsort(x, -1)
    return np.take_along_axis(x, order, -1), np.take_along_axis(y, order, -1)


@pytest.mark.parametrize(
    ("function", "oracle", "args"),
    [
        (lax.sort, np.sort, (X,)),
        (lambda x: lax.sort(x, 0), lambda x: np.sort(x, 0), (X,)),
        (lambda x: lax.sort(x), np.sort, (X + 1j * Y,)),
        (lambda x, y: lax.sort((x, y)), in_order_of, (X, Y)),
        (lambda x, y: lax.sort_key_val(x, y), in_order_of, (X, Y)),
        (lambda x: lax.top_k(x, 2), lambda x: largest(x, 2), (X,)),
        (lambda x: lax.top_k(x, 1, axis=0), lambda x: largest(x, 1, 0), (X,)),
        (lambda x: lax.approx_max_k(x, 3), lambda x: largest(x, 3), (X,)),
        (lambda x: lax.approx_min_k(x, 2)[0], lambda x: np.sort(x)[:, :2], (X,)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_values_and_derivatives(function, oracle, args):
    check_function(function, oracle, args, rtol=1e-13, checks=TRACED)
    for x, y in zip(fg.tree.leaves(function(*args)), fg.tree.leaves(oracle(*args)), strict=True):
        np.testing.assert_array_equal(x, y)


def test_several_keys():
    keys, second, third = KEYS, np.array([1.0, 5.0, 0.0, 4.0]), np.arange(4)
    found = lax.sort([keys, second, third], num_keys=2)
    assert isinstance(found, tuple)
    np.testing.assert_array_equal(found[2], [3, 1, 2, 0])
    stable = lax.sort((keys, second, third))
    np.testing.assert_array_equal(stable[2], [1, 3, 0, 2])
    slope = fg.grad(lambda x: lax.sort((keys, x), num_keys=2)[1] @ np.arange(4.0))(second)
    np.testing.assert_array_equal(slope, [3, 1, 2, 0])


def test_greatest_of_equals_and_nans():
    values, indices = lax.top_k(TIES, 3)
    np.testing.assert_array_equal(values, [3, 3, 2])
    np.testing.assert_array_equal(indices, [1, 3, 2])
    assert indices.dtype == np.int32
    values, indices = lax.top_k(NANS, 4)
    np.testing.assert_array_equal(values, [np.nan, np.nan, 5, 2])
    np.testing.assert_array_equal(indices, [1, 4, 2, 3])
    values, indices = lax.approx_min_k(TIES, 3)
    np.testing.assert_array_equal(indices, [0, 4, 2])
    assert lax.top_k(TIES, 0)[0].shape == (0,)
    assert lax.top_k(np.array([True, False]), 1)[0].dtype == bool
    assert lax.top_k(np.array([3, 200], np.uint8), 1)[0] == [200]


def test_second_derivatives():
    f = lambda x: (lax.top_k(x, 2)[0] ** 3).sum() + (lax.sort((x, x * x))[1] ** 2)[0]
    x = np.array([1.0, 3.0, 2.0])
    np.testing.assert_allclose(fg.hessian(f)(x), np.diag([12.0, 18.0, 12.0]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.sort(()), TypeError, "lax.sort needs an array"),
        (lambda: lax.sort((X, X[0])), TypeError, r"one shape, got operand 0: .*, operand 1: "),
        (lambda: lax.sort(X, 2), ValueError, "^lax.sort: dimension 2 is no axis"),
        (
            lambda: lax.sort((X, Y), num_keys=3),
            ValueError,
            "num_keys must be between 1 and .* got 3",
        ),
        (lambda: lax.sort(1.0), ValueError, "is no axis of an array of 0 axes"),
        (lambda: lax.top_k(X, 5), ValueError, "k must be from 0 to 4, the length of axis 1"),
        (
            lambda: lax.top_k(X, 1.0),
            TypeError,
            "^lax.top_k: k must be an integer, got 1.0 of type float",
        ),
        (lambda: lax.top_k(X, -1), ValueError, "got -1"),
        (lambda: lax.top_k(X + 0j, 1), TypeError, "lax.top_k takes boolean, integer or floating"),
        (lambda: lax.approx_max_k(KEYS, 1), TypeError, "takes floating-point numbers"),
        (
            lambda: lax.approx_max_k(X, 1, aggregate_to_topk=False),
            ValueError,
            "results are whole here",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_equal_keys_of_long_arrays_keep_their_order():
    keys = np.random.default_rng(0).integers(0, 3, 1000)
    _, places = lax.sort_key_val(keys, np.arange(1000))
    np.testing.assert_array_equal(places, np.argsort(keys, kind="stable"))
