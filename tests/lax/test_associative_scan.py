"""lax.associative_scan against a loop over the elements, under every transform."""

import collections
import math

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from tests.samples.row import reals


def affine(first, second):
    return first[0] * second[0], second[0] * first[1] + second[1]


def affine_matrices(first, second):
    a, b = second["a"], second["b"]
    return {"a": a @ first["a"], "b": fnp.einsum("kij,kj->ki", a, first["b"]) + b}


def add_all(first, second):
    return fg.tree.map(fnp.add, first, second)


OPERATIONS = {
    "add": (fnp.add, lambda n: reals(n)),
    "max": (fnp.maximum, lambda n: reals(n, 2)),
    "matmul": (fnp.matmul, lambda n: reals(n, 2, 2)),
    "affine": (affine, lambda n: (reals(n, 2), reals(n, 2, low=1.0, high=2.0))),
    "affine matrices": (affine_matrices, lambda n: {"a": reals(n, 2, 2), "b": reals(n, 2)}),
    "last": (lambda x, y: y, lambda n: reals(n)),
    "first": (lambda x, y: x, lambda n: reals(n)),
}


def loop(fn, elems, reverse=False, axis=0):
    """Combine one element after the other."""
    leaves = fg.tree.leaves(elems)
    n = leaves[0].shape[axis]
    if n == 0:
        return elems

    def element(k):
        index = (slice(None),) * (axis % leaves[0].ndim) + (slice(k, k + 1),)
        return fg.tree.map(lambda x: x[index], elems)

    order = range(n)[::-1] if reverse else range(n)
    results = [element(order[0])]
    for k in order[1:]:
        results.append(fn(results[-1], element(k)))
    results = results[::-1] if reverse else results
    return fg.tree.map(lambda *xs: fnp.concatenate(xs, axis), *results)


def equal(found, expected, rtol=1e-12):
    assert [*map(type, fg.tree.leaves(found))] == [*map(type, fg.tree.leaves(expected))]
    fg.test_util.assert_allclose(found, expected, rtol, rtol)


def total(scan, fn, reverse):
    def function(elems):
        leaves = fg.tree.leaves(scan(fn, elems, reverse))
        weights = [np.linspace(1.0, 2.0, math.prod(x.shape)).reshape(x.shape) for x in leaves]
        return sum(fnp.sum(w * fnp.sin(x)) for x, w in zip(leaves, weights))

    return function


def both(transform, name, n, reverse):
    """Apply a transformation of the scan, and of the loop."""
    fn, make = OPERATIONS[name]

    def apply(scan):
        return transform(lambda x: scan(fn, x, reverse), make(n))

    return apply(lax.associative_scan), apply(loop)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", OPERATIONS)
def test_values(name, reverse):
    for n in range(10):
        equal(*both(lambda f, x: f(x), name, n, reverse))
        found, expected = both(lambda f, x: fg.jit(f)(x), name, n, reverse)
        equal(found, expected)


def jvp(f, x):
    return fg.jvp(f, (x,), (fg.tree.map(lambda t: np.cos(3 * t), x),))


def vjp(f, x):
    value, pull = fg.vjp(f, x)
    return value, pull(fg.tree.map(np.cos, value))


def mapped(f, x):
    batch = fg.tree.map(lambda t: np.stack([t, t[::-1], 1 - t], 1), x)
    return fg.vmap(f, 1, 1)(batch)


@pytest.mark.parametrize("transform", [jvp, vjp, mapped], ids=["jvp", "vjp", "vmap"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_transforms(name, transform):
    for n in (0, 1, 2, 5, 6, 9):
        equal(*both(transform, name, n, reverse=n % 2 == 0))


@pytest.mark.parametrize("name", ["add", "matmul", "affine"])
def test_gradients_of_gradients(name):
    fn, make = OPERATIONS[name]
    for n in (1, 4, 7):
        elems = make(n)

        def second(scan, fn=fn, n=n):
            g = fg.grad(total(scan, fn, n == 4))
            return fg.grad(lambda x: sum(fnp.sum(fnp.cos(t)) for t in fg.tree.leaves(g(x))))

        equal(second(lax.associative_scan)(elems), second(loop)(elems))
        equal(fg.jit(second(lax.associative_scan))(elems), second(loop)(elems))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("reverse", [False, True])
def test_axes(axis, reverse):
    x = reals(3, 4, 5)
    elems = [x, 2 * x]
    found = lax.associative_scan(add_all, elems, reverse, axis)
    equal(found, loop(add_all, elems, reverse, axis))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint32, np.float16, np.float32, np.complex64])
def test_dtypes(dtype):
    x = (10 * reals(7)).astype(dtype)
    found = lax.associative_scan(fnp.maximum, x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.maximum.accumulate(x))


def test_results_may_be_other_kinds_of_dictionaries():
    def fn(x, y):
        return collections.OrderedDict(b=x["b"] * y["b"], a=x["a"] + y["a"])

    found = lax.associative_scan(fn, {"a": np.ones(3), "b": 2 * np.ones(3)})
    equal(found, {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([2.0, 4.0, 8.0])})


def test_calls_are_few_and_never_of_nothing():
    for n in range(2, 70):
        sizes = []

        def add(x, y, sizes=sizes):
            sizes.append(len(x))
            return x + y

        lax.associative_scan(add, np.arange(n))
        assert min(sizes) > 0
        assert len(sizes) <= 2 * math.floor(math.log2(n))
        assert sum(sizes) <= 2 * n


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_results_are_arrays_of_their_own(n, reverse):
    x = np.arange(float(n))
    found = lax.associative_scan(fnp.add, x, reverse)
    assert type(found) is np.ndarray
    assert not np.shares_memory(found, x)


@pytest.mark.parametrize(
    ("fn", "elems", "axis", "error", "message"),
    [
        (3, np.ones(3), 0, TypeError, "fn must be callable, got 3"),
        (fnp.add, (), 0, ValueError, "elems holds no array"),
        (fnp.add, [1, 2], 0, ValueError, "axis 0 is no axis of an array of 0 axes"),
        (fnp.add, np.ones((2, 3)), 2, ValueError, "axis 2 is no axis of an array of 2 axes"),
        (fnp.add, {"a": "text"}, 0, TypeError, "elems['a']"),
        (fnp.add, [np.ones((2, 3)), np.ones(3)], 1, ValueError, "not all arrays have the axis 1: elems[0] f"),
        (fnp.add, {"a": np.ones(3), "b": np.ones(4)}, 0, ValueError,
         "same length along axis 0, got elems['a'] float64[3], elems['b'] float64[4]"),
        (lambda x, y: (x, y), np.ones(3), 0, TypeError,
         "return the structure it takes; at the root: expected a leaf, got a tuple of length 2"),
        (lambda x, y: {"a": x["a"]}, {"a": np.ones(3), "b": np.ones(3)}, 0, TypeError,
         "at the root: the dict lacks the keys ['b']"),
        (lambda x, y: [x[0], (1,)], [np.ones(3), np.ones(3)], 0, TypeError,
         "at [1]: expected a leaf, got a tuple of length 1"),
        (lambda x, y: fnp.sum(x), np.ones(4), 0, TypeError, "its result is float64[], for arguments float64[2]"),
        (lambda x, y: [1.5 * x[0]], [np.arange(4)], 0, TypeError,
         "its result[0] is float64[2], for arguments int64[2]"),
    ],
)  # fmt: skip
def test_errors(fn, elems, axis, error, message):
    with pytest.raises(error) as caught:
        lax.associative_scan(fn, elems, axis=axis)
    assert str(caught.value).startswith("lax.associative_scan: ")
    assert message in str(caught.value)
