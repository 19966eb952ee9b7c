"""Products by the names of `jax.lax`."""

import sys

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from tests.backends import fake_cupy
from tests.numpy.checker import cases_of, check_function

X, Y = np.arange(1.0, 7).reshape(2, 3), np.arange(3.0, 15).reshape(3, 4) / 5
STACK, OTHER = np.arange(24.0).reshape(2, 3, 4) / 7, np.arange(40.0).reshape(2, 4, 5) / 9
PAIRS = (((2,), (1,)), ((0,), (0,)))


def by_rows(x, y):
    """Multiply two rows by the first matrix, one by the second, and none of what is left."""
    return np.concatenate([x[:2] @ y[0], x[2:3] @ y[1], 0 * (x[3:] @ y[1])])


TABLE = {
    "dot": (lax.dot, np.dot, [(X, Y), (X, Y[:, 0]), (X[0], Y), (X[0], Y[:, 0]), (X * 1j, Y * 1j)]),
    "dot of integers": (lax.dot, np.dot, [(X.astype(int), Y.astype(int))]),
    "dot of nothing": (lax.dot, np.dot, [(X[:, :0], Y[:0])]),
    "dot_general": (lambda x, y: lax.dot_general(x, y, PAIRS), np.matmul, [(STACK, OTHER)]),
    "outer": (
        lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))),
        lambda x, y: np.tensordot(x, y, 0)[()],
        [(X, Y), (X[0, 0], Y), (X[0, 0], X[0, 1])],
    ),
    "dot with pairs": (
        lambda x, y: lax.dot(x, y, dimension_numbers=(((-1,), (0,)), ((), ()))),
        np.dot,
        [(X, Y)],
    ),
    "batch_matmul": (lax.batch_matmul, np.matmul, [(STACK, OTHER), (X, Y)]),
    "ragged_dot": (
        lambda x, y: lax.ragged_dot(x, y, np.array([2, 1])),
        by_rows,
        [(OTHER[0], STACK.swapaxes(1, 2)[:, :3, :2][:, [0, 1, 2, 0, 1]])],
    ),
}


@pytest.mark.parametrize(("f", "oracle", "args"), cases_of(TABLE))
def test_function(f, oracle, args):
    check_function(f, oracle, args, rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in TABLE if n != "ragged_dot"])
def test_on_a_gpu(name, monkeypatch):
    fake = fake_cupy.make_module()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    f, oracle, calls = TABLE[name]
    found = f(*[fake.asarray(x) for x in calls[0]])
    assert type(found) is fake.ndarray
    np.testing.assert_allclose(found.get(), oracle(*calls[0]))


def test_ragged_dot_on_a_gpu(monkeypatch):
    fake = fake_cupy.make_module()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    x, y = np.ones((3, 2)), np.arange(8.0).reshape(2, 2, 2)
    found = lax.ragged_dot(*[fake.asarray(a) for a in (x, y, np.array([1, 2]))])
    np.testing.assert_array_equal(found.get(), [x[0] @ y[0], x[1] @ y[1], x[2] @ y[1]])


RNG = np.random.default_rng(0)
RAGGED = {
    "rows": ((4, 5, 3), (4, 2, 3, 6), (((2,), (2,)), ((0,), (0,))), [1], [1]),
    "summed": ((4, 5, 3), (3, 5, 2), (((1, 2), (1, 0)), ((), ())), [1], []),
    "along": ((5, 4, 3), (5, 3, 2), (((2,), (1,)), ((0,), (0,))), [0], []),
}


def by_groups(kind, x, y, sizes):
    """Return what the product is, group by group, by einsum."""
    ends = np.cumsum(sizes)
    groups = [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]
    if kind == "rows":
        rows = [np.einsum("bmk,bkn->bmn", x[:, r], y[:, i]) for i, r in enumerate(groups)]
        rest = x.shape[1] - ends[-1]
        return np.concatenate([*rows, np.zeros((4, rest, 6))], 1)
    if kind == "summed":
        return np.stack([np.einsum("bkl,lkn->bn", x[:, r], y[:, r]) for r in groups])
    return np.einsum("bmk,bkn->bmn", x, y)


@pytest.mark.parametrize("kind", RAGGED)
def test_ragged_dot_general(kind):
    shape, other, pairs, axis, group = RAGGED[kind]
    x, y = RNG.normal(size=shape), RNG.normal(size=other)
    numbers = lax.RaggedDotDimensionNumbers(pairs, axis, group)
    for sizes in ([3, 2], [1, 2]):
        f = lambda x, y: lax.ragged_dot_general(x, y, np.array(sizes), numbers)  # noqa: B023
        for found in (f(x, y), fg.jit(f)(x, y), fg.vmap(f)(x[None], y[None])[0]):
            np.testing.assert_allclose(found, by_groups(kind, x, y, sizes), 1e-12, 1e-12)
        fg.test_util.check_grads(f, (x, y), 2)


def test_sizes_of_groups_along_axes():
    """Of each of a batch its own, named in another order than the axes are in."""
    x, y = RNG.normal(size=(2, 5, 3, 4)), RNG.normal(size=(3, 2, 2, 4, 6))
    sizes = RNG.integers(0, 3, (3, 2, 2))
    pairs = (((3,), (3,)), ((2, 0), (0, 1)))
    found = lax.ragged_dot_general(x, y, sizes, lax.RaggedDotDimensionNumbers(pairs, [1], [2]))
    for b in range(3):
        for c in range(2):
            expected = lax.ragged_dot(x[c, :, b], y[b, c], sizes[b, c])
            np.testing.assert_allclose(found[b, c], expected)


def test_sums_are_computed_in_the_wider_dtype():
    small = np.full((1, 3), 100, np.int8)
    assert lax.dot(small, small.T, preferred_element_type=np.int32)[0, 0] == 30000
    half = np.full((1, 2), 300, np.float16)
    found = lax.dot(half, half.T, preferred_element_type=np.float32)
    assert found.dtype == np.float32
    assert found[0, 0] == 180000  # beyond float16
    assert lax.dot(X, Y, preferred_element_type=np.float32).dtype == np.float32


def test_operands_of_eight_bits_that_share_no_dtype():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x, y = X.astype(ml_dtypes.float8_e4m3fn), Y.astype(ml_dtypes.float8_e5m2)
    found = fg.jit(lambda x, y: lax.dot(x, y, preferred_element_type=np.float32))(x, y)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, x.astype("f") @ y.astype("f"), 1e-6)
    with pytest.raises(TypeError):
        lax.dot(x, y)


def test_dtypes_are_promoted():
    assert lax.dot(X.astype("f"), Y).dtype == np.float64
    assert fg.jit(lax.dot)(X.astype(int), Y.astype("F")).dtype == np.complex128


@pytest.mark.parametrize("precision", [None, "highest", lax.Precision.HIGH, ("high", "default")])
def test_precision_makes_no_difference(precision):
    np.testing.assert_array_equal(lax.dot(X, Y, precision=precision), X @ Y)


def ragged(x, y, sizes, axis, group):
    numbers = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), axis, group)
    return lax.ragged_dot_general(x, y, sizes, numbers)


ERRORS = [
    (
        lambda: lax.dot(STACK, X),
        ValueError,
        r"float64\[2,3,4\] and float64\[2,3\]; give dimension_nu",
    ),
    (lambda: lax.dot(X, X), ValueError, r"contracting dimensions \(1,\) of lhs, float64\[2,3\]"),
    (
        lambda: lax.dot_general(X, Y, (((1,), (0,)), ((1,), (0,)))),
        ValueError,
        "summed over and a b",
    ),
    (lambda: lax.dot_general(X, Y, (((2,), (0,)), ((), ()))), ValueError, "2 is no axis"),
    (
        lambda: lax.dot_general(X, Y, (((1,), (0,)), ((), ())), out_sharding=1),
        TypeError,
        "leave it",
    ),
    (lambda: lax.batch_matmul(STACK, OTHER[:1]), ValueError, "batch dimensions"),
    (lambda: lax.batch_matmul(STACK, Y), ValueError, "fungrad.numpy.matmul broadcasts"),
    (lambda: lax.ragged_dot(X, OTHER, np.ones(2, int)), ValueError, r"lhs of shape \(m, k\)"),
    (lambda: lax.ragged_dot(X, STACK, np.ones(2)), TypeError, "group_sizes must be integers"),
    (lambda: ragged(X, Y, np.ones(2, int), [0], []), ValueError, "an axis for the groups"),
    (lambda: ragged(X, Y, np.ones(2, int), [0, 1], []), ValueError, "one axis of lhs is made of"),
    (lambda: ragged(X, Y, np.ones((3, 2), int), [1], []), ValueError, r"of shape \(g,\) or"),
    (lambda: ragged(X, Y, np.ones(2), [1], []), TypeError, "group_sizes must be integers"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
