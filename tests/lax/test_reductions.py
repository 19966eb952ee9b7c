"""Reductions, positions and cumulative operations of `lax`."""

import operator
import sys

import numpy as np
import pytest
import scipy.special

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.lax.monoids import monoid_of
from fungrad.transforms.abstract import make_expr
from tests.backends import fake_cupy
from tests.numpy.checker import check_function

X = np.array([[0.3, -0.7, 1.9], [2.2, -1.4, 0.6]])
Z = X + 1j * X[::-1]
I = np.array([[6, 3, -8], [5, 7, 1]])
B = np.array([[True, False, True], [True, True, False]])


def reverse(function):
    return lambda x, axis=0: np.flip(function(np.flip(x, axis), axis), axis)


def cumlogsumexp(x, axis=0):
    return np.log(np.cumsum(np.exp(x), axis))


TABLE = {
    "reduce_sum": [(np.sum, (X, (0,))), (np.sum, (Z, (0, 1))), (np.sum, (I, (1,)))],
    "reduce_prod": [(np.prod, (X, (1,))), (np.prod, (Z, (1, 0))), (np.prod, (I, ()))],
    "reduce_max": [(np.max, (X, (0,))), (np.max, (I, (0, 1))), (np.max, (B, (1,)))],
    "reduce_min": [(np.min, (X, (0,))), (np.min, (Z, (1,)))],
    "reduce_and": [(np.all, (B, (0,))), (np.bitwise_and.reduce, (I, (1,)))],
    "reduce_or": [(np.any, (B, (0,))), (np.bitwise_or.reduce, (I, (1, 0)))],
    "reduce_xor": [(np.logical_xor.reduce, (B, (1,))), (np.bitwise_xor.reduce, (I, (0,)))],
    "argmax": [(lambda x, axis, d: x.argmax(axis).astype(d), (X, 1, np.int32))],
    "argmin": [(lambda x, axis, d: x.argmin(axis).astype(d), (I, 0, np.uint8))],
    "cumsum": [(np.cumsum, (X, 1)), (np.cumsum, (I, 0))],
    "cumprod": [(np.cumprod, (X, 1)), (np.cumprod, (Z, 0))],
    "cummax": [(np.maximum.accumulate, (X, 1)), (np.maximum.accumulate, (I, 0))],
    "cummin": [(np.minimum.accumulate, (X, 1))],
    "cumlogsumexp": [(cumlogsumexp, (X, 1)), (cumlogsumexp, (X,))],
}
CALLS = [(name, i) for name, calls in TABLE.items() for i in range(len(calls))]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_values_and_derivatives(name, call):
    oracle, args = TABLE[name][call]
    function, static = getattr(lax, name), range(1, len(args))
    checks = ("known", "jit", "vmap", "jvp", "vjp")
    check_function(function, oracle, args, static=static, rtol=1e-12, checks=checks)
    np.testing.assert_allclose(function(*args), oracle(*args), rtol=1e-13)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
def test_reversed(name):
    oracle = reverse(TABLE[name][0][0])
    np.testing.assert_allclose(getattr(lax, name)(X, 1, reverse=True), oracle(X, 1))


def test_negative_axes_count_from_the_end():
    np.testing.assert_array_equal(lax.reduce_sum(X, (-1,)), X.sum(-1))
    np.testing.assert_array_equal(lax.cumsum(X, -1), X.cumsum(-1))
    np.testing.assert_array_equal(lax.argmax(X, -1, np.int64), X.argmax(-1))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, bool])
def test_extrema_of_no_elements(dtype):
    x = np.zeros((0, 2), dtype)
    low, high = (False, True) if dtype is bool else (-np.inf, np.inf)
    if np.dtype(dtype).kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for f in (lambda f: f, fg.jit):
        largest, least = (f(lambda x, g=g: g(x, (0,)))(x) for g in (lax.reduce_max, lax.reduce_min))
        assert largest.dtype == least.dtype == dtype
        np.testing.assert_array_equal(largest, [low, low])
        np.testing.assert_array_equal(least, [high, high])
        largest[0] = least[0]  # arrays of their own


def test_sums_keep_the_dtype():
    x = np.full(3, 100, np.int8)
    assert lax.reduce_sum(x, (0,)).dtype == lax.cumsum(x).dtype == np.int8
    assert lax.reduce(x.astype(np.float16), 0, lax.add, (0,)).dtype == np.float16


def test_ties_share_the_derivative():
    x = np.array([1.0, 3.0, 3.0])
    np.testing.assert_array_equal(fg.grad(lambda x: lax.reduce_max(x, (0,)))(x), [0, 0.5, 0.5])
    np.testing.assert_array_equal(fg.grad(lambda x: lax.cummax(x)[-1])(x), [0, 0.5, 0.5])


def test_cumlogsumexp_is_stable():
    x = np.array([-np.inf, -1000.0, 1000.0, 1000.0])
    np.testing.assert_allclose(lax.cumlogsumexp(x), [-np.inf, -1000, 1000, 1000 + np.log(2)])
    np.testing.assert_allclose(fg.grad(lambda x: lax.cumlogsumexp(x)[-1])(x), [0, 0, 0.5, 0.5])
    p = scipy.special.softmax(X[0])
    second = fg.hessian(lambda x: lax.cumlogsumexp(x)[-1])(X[0])
    np.testing.assert_allclose(second, np.diag(p) - np.outer(p, p))


# reduce

MONOIDS = {
    "lax.add": (lax.add, 0, np.sum),
    "np.add": (np.add, 0, np.sum),
    "operator.mul": (operator.mul, 1, np.prod),
    "fnp.maximum": (fnp.maximum, -np.inf, np.max),
    "lambda min": (lambda x, y: lax.min(y, x), np.inf, np.min),
    "jitted": (fg.jit(lambda x, y: x + y), 0, np.sum),
}


@pytest.mark.parametrize("name", MONOIDS)
def test_reduction_by_an_operation_of_numpy(name):
    computation, start, oracle = MONOIDS[name]
    reduced = lambda x: lax.reduce(x, start, computation, (1,))
    np.testing.assert_allclose(reduced(X), oracle(X, 1))
    primitives = [e.primitive.name for e in make_expr(reduced)(X).equations]
    assert len(primitives) == 1, primitives


def test_reduction_of_integers_and_booleans():
    for computation, start, oracle in [
        (operator.and_, -1, np.bitwise_and),
        (lax.bitwise_or, 0, np.bitwise_or),
        (lambda x, y: x ^ y, 0, np.bitwise_xor),
    ]:
        found = lax.reduce(I, start, computation, (0, 1))
        assert found == oracle.reduce(I, (0, 1))
    np.testing.assert_array_equal(lax.reduce(B, False, np.logical_or, (0,)), B.any(0))
    np.testing.assert_array_equal(lax.reduce(B, True, operator.and_, (0,)), B.all(0))


def test_start_is_part_of_the_result():
    np.testing.assert_allclose(lax.reduce(X, 1.0, lax.add, (0,)), 1 + X.sum(0))
    slope = fg.grad(lambda start: lax.reduce(X, start, lax.mul, (0, 1)))
    np.testing.assert_allclose(slope(1.0), X.prod())
    above = fg.grad(lambda x: lax.reduce(x, 2.0, lax.max, (1,)).sum())(X)
    np.testing.assert_array_equal(above, [[0, 0, 0], [1, 0, 0]])


def logaddexp(x, y):
    top = lax.max(x, y)
    return top + lax.log(lax.exp(x - top) + lax.exp(y - top))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), ()], ids=str)
@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_reduction_by_any_function(axes, length):
    x = np.random.default_rng(0).normal(size=(length, 3))
    reduced = lambda x: lax.reduce(x, -1e300, logaddexp, axes)
    oracle = lambda x: scipy.special.logsumexp(x, axes) if axes else x
    check_function(reduced, oracle, (x,), rtol=1e-12, checks=("known", "jit", "vmap", "jvp", "vjp"))
    np.testing.assert_allclose(reduced(x), oracle(x), rtol=1e-12)


def test_order_is_kept():
    """Products of matrices are associative, but do not commute."""
    matrices = np.random.default_rng(0).normal(size=(7, 2, 2))

    def product(a, b):
        (a, b, c, d), (e, f, g, h) = a, b
        return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h

    parts = tuple(matrices.reshape(7, 4).T)
    found = lax.reduce(parts, (1.0, 0.0, 0.0, 1.0), product, (0,))
    np.testing.assert_allclose(np.reshape(found, (2, 2)), np.linalg.multi_dot(matrices))
    grid = tuple(p[:6].reshape(2, 3) for p in parts)
    found = lax.reduce(grid, (1.0, 0.0, 0.0, 1.0), product, (0, 1))
    np.testing.assert_allclose(np.reshape(found, (2, 2)), np.linalg.multi_dot(matrices[:6]))


def test_closures_are_differentiated():
    def reduced(c, x):
        return lax.reduce(x, 0.0, lambda a, b: a + b + c * a * b, (0,))

    # (1 + c a) (1 + c b) = 1 + c (a + b + c a b)
    closed = lambda c, x: (np.prod(1 + c * x) - 1) / c
    np.testing.assert_allclose(reduced(0.5, X[0]), closed(0.5, X[0]))
    h = 1e-6
    slope = (closed(0.5 + h, X[0]) - closed(0.5 - h, X[0])) / (2 * h)
    for f in (fg.grad(reduced), fg.jit(fg.grad(reduced))):
        np.testing.assert_allclose(f(0.5, X[0]), slope, rtol=1e-7)
    batch = fg.vmap(reduced, (0, None))(np.array([0.5, 2.0]), X[0])
    np.testing.assert_allclose(batch, [closed(c, X[0]) for c in (0.5, 2.0)])


def test_empty_reductions_are_the_start():
    x = np.zeros((0, 2))
    found = lax.reduce(x, 2.0, lambda a, b: a * b + 1, (0,))
    np.testing.assert_array_equal(found, [2, 2])
    found[0] = 3  # an array of its own
    assert lax.reduce(x, 0.0, logaddexp, (1,)).shape == (0,)
    assert lax.reduce((), (), lambda a, b: (), (0,)) == ()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.reduce(x, 1.0, lax.add, (0,)),
        lambda x: lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (0, 1)),
        fg.grad(lambda x: lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (0, 1))),
        lambda x: lax.reduce(x[:0], 2.0, lambda a, b: a + b + a * b, (0,)),
        lambda x: lax.reduce_max(x[:0], (0,)),
        lambda x: lax.cumlogsumexp(x, 1),
        lambda x: lax.argmin(x, 0, np.int32),
        lambda x: lax.sort((x, x), 0),
        lambda x: lax.top_k(x, 2),
        lambda x: lax.reduce_xor(lax.bitcast_convert_type(x, np.int16), (0, 2)),
    ],
    ids=range(10),
)
def test_on_the_device(monkeypatch, function):
    cupy = fake_cupy.make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    found, expected = fg.tree.leaves(function(cupy.asarray(X))), fg.tree.leaves(function(X))
    for x, y in zip(found, expected, strict=True):
        assert isinstance(x, cupy.ndarray)
        np.testing.assert_allclose(x.get(), y)


def test_what_is_no_monoid():
    closed = lambda f: fg.programs.closing.close("f", f, 1.0, 1.0).program
    assert monoid_of(closed(lambda x, y: x + y)) is not None
    for f in (lambda x, y: x, lambda x, y: x + x, lambda x, y: x - y, lambda x, y: 2 * (x + y)):
        assert monoid_of(closed(f)) is None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.reduce_sum(X, 0), TypeError, r"axes must be a sequence of integers, got 0"),
        (lambda: lax.reduce_sum(X, (2,)), ValueError, "^lax.reduce_sum: axes 2 is no axis"),
        (lambda: lax.reduce_sum(X, (0, 0)), ValueError, "names an axis twice"),
        (lambda: lax.reduce_sum(B, (0,)), TypeError, "lax.reduce_sum takes integer, floating"),
        (lambda: lax.reduce_and(X, (0,)), TypeError, "takes boolean or integer"),
        (
            lambda: lax.reduce(X, 0.0, None, (0,)),
            TypeError,
            "computation takes a function, not None",
        ),
        (lambda: lax.argmax(X, 0, float), TypeError, "index_dtype is a dtype of integers"),
        (lambda: lax.argmax(X[:0], 0, int), ValueError, "has no elements along axis 0"),
        (lambda: lax.cumsum(X, 2), ValueError, "^lax.cumsum: axis 2 is no axis"),
        (lambda: lax.cumlogsumexp(Z), TypeError, "takes floating-point numbers, got operand"),
        (lambda: lax.reduce(X, (0.0,), lax.add, (0,)), ValueError, "the structure of operands"),
        (lambda: lax.reduce(X, X[0], lax.add, (0,)), ValueError, "init_values are numbers, got"),
        (
            lambda: lax.reduce((X, X[0]), (0.0, 0.0), lambda a, b: a, (0,)),
            TypeError,
            "arrays of one shape",
        ),
        (
            lambda: lax.reduce(X, 0.0, lambda a, b: (a, b), (0,)),
            TypeError,
            "computation must return numbers like those it takes",
        ),
        (lambda: lax.reduce(X, 0.0, lambda a, b: a < b, (0,)), TypeError, "it returned"),
        (
            lambda: lax.reduce(X, 0.0, lambda a, b: a if a > b else b, (0,)),
            fg.ConcretizationError,
            "lax.reduce",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
