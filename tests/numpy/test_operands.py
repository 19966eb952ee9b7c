"""What the operators of tracers take, what they leave to the other operand, and what plain arrays do with tracers."""

import operator

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.layout import layout_of

X = np.array([3.0, 1.0, 2.0])


class Reflected:
    """Knows what to do with an array on its left."""

    def answer(self, _other):
        """Return what tells that it was asked."""
        return "asked"

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmatmul__ = __rpow__ = __rmod__ = answer
    __rfloordiv__ = __rdivmod__ = __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = answer
    __gt__ = __ge__ = __lt__ = __le__ = answer

    def __eq__(self, _other):
        return "asked"

    def __ne__(self, _other):
        return "asked"

    __hash__ = None


class WithoutUfuncs(Reflected):
    """Asks to be asked (NEP 13)."""

    __array_ufunc__ = None


class WithPriority(Reflected):
    """Asks to be asked, as before there was `__array_ufunc__`."""

    __array_priority__ = 1000.0


class LikeAnArray(WithoutUfuncs):
    """Has what arrays have."""

    shape, dtype, nbytes, size, ndim = (3,), np.dtype(float), 24, 3, 1

    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


class HalfAnArray(Reflected):
    """Has a shape and a dtype, and no elements."""

    shape, dtype = (3,), np.dtype(float)


class AList(list):
    """A list that knows better."""

    __array_ufunc__ = None
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmatmul__ = __rpow__ = Reflected.answer
    __rmod__ = __rfloordiv__ = __rdivmod__ = Reflected.answer
    __hash__ = None


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.matmul,
    operator.pow,
]
OPERATORS += [operator.mod, operator.floordiv, divmod]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def results(f):
    """Return what a function gives for a tracer, under each kind of transform."""
    found = []

    def run(x):
        found.append(f(x))
        return x.sum()

    fg.vjp(run, X)
    fg.jit(run)(X)
    fg.vmap(run)(X[None])
    return found


@pytest.mark.parametrize(
    "other", [Reflected, WithoutUfuncs, WithPriority, LikeAnArray, HalfAnArray, AList]
)
def test_the_other_operand_is_asked(other):
    for f in OPERATORS:
        assert results(lambda x, f=f: f(x, other())) == ["asked"] * 3, f
    if other is not AList:
        for f in COMPARISONS:
            assert results(lambda x, f=f: f(x, other())) == ["asked"] * 3, f


def test_numpy_asks_it_too():
    for f in OPERATORS:
        assert f(X, WithoutUfuncs()) == f(X, WithPriority()) == f(X, LikeAnArray()) == "asked"


class Converts:
    """Has elements, and no operators."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 4.0, 2.0])


SEQUENCES = [(1, 4, 2), [1, 4, 2], Converts(), range(3)]


@pytest.mark.parametrize("other", SEQUENCES[:3], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("f", [*OPERATORS, *COMPARISONS], ids=lambda f: f.__name__)
def test_sequences_are_arrays(f, other):
    for g in (lambda x: f(x, other), lambda x: f(other, x)):
        try:
            expected = g(X)
        except TypeError:  # of what has no operators
            continue
        for transformed in (lambda x, g=g: fg.vjp(g, x)[0], fg.jit(g)):
            for a, b in zip(np.atleast_1d(transformed(X)), np.atleast_1d(expected), strict=True):
                np.testing.assert_array_equal(a, b)


def test_membership_among_arrays():
    def f(x):
        y = x + 1
        assert None not in (x, y)
        assert x in (x, y)
        assert y in [y, x]
        assert "name" not in (x,)
        assert (x == None) is False  # noqa: E711
        assert (x != None) is True  # noqa: E711
        return y.sum()

    fg.grad(f)(X)
    fg.jit(f)(X)


def test_what_nobody_knows_is_refused():
    for other in (None, "a", {}, object(), fg.ShapeDtypeStruct((3,), float)):
        for f in (operator.add, operator.mul, divmod, operator.matmul):
            with pytest.raises(TypeError):
                fg.jit(lambda x, f=f, other=other: f(x, other))(X)


def test_matrix_products_in_place():
    def f(x):
        a = x[:, None] * x
        b, row = a, a[1]
        b @= np.eye(3)[::-1]
        row @= x[:, None] + np.ones(3)
        return a + b

    expected = f(X)
    np.testing.assert_allclose(fg.vjp(f, X)[0], expected)
    np.testing.assert_allclose(fg.jit(f)(X), expected)
    with pytest.raises(TypeError, match=r"an argument of `jit.*changed in place"):
        fg.jit(lambda x: x.__imatmul__(np.eye(3)))(np.eye(3))


def test_limits_of_the_dtype_of_an_array():
    for f in (lambda x: fnp.finfo(x).eps, lambda x: fnp.iinfo(x.astype(np.int16)).max):
        assert f(X) == fg.jit(f)(X) == fg.vjp(f, X)[0]
    assert fnp.finfo(np.float32) == fnp.finfo("f4") == np.finfo(np.float32)
    assert fnp.finfo(np.zeros(2, np.float16)).eps == np.finfo(np.float16).eps
    assert fnp.iinfo(np.int8(3)).max == fnp.iinfo(int).max // (1 << 56) == 127


# Plain arrays made inside, and their methods


def test_clip_of_a_plain_array_with_traced_bounds():
    def f(x):
        return np.arange(5.0).clip(x[1], x[0]) * np.ones(5).clip(min=x[1])

    np.testing.assert_array_equal(fg.vjp(f, X)[0], f(X))
    np.testing.assert_array_equal(fg.jit(f)(X), f(X))
    gradient = fg.grad(lambda x: np.arange(5.0).clip(x[1], x[0]).sum())(X)
    np.testing.assert_array_equal(gradient, [1.5, 1.5, 0])


A, M = np.arange(3.0), np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("f", "instead"),
    [
        (lambda x: A.dot(x), "fungrad.numpy.dot(A, ...)"),
        (lambda x: A.searchsorted(x), "fungrad.numpy.searchsorted(A, ...)"),
        (lambda x: M.dot(x * 2), "fungrad.numpy.array(M).dot(...)"),
        (lambda x: A.take(x.argmax()), "fungrad.numpy.take(A, ...)"),
        (lambda x: A.repeat(x.argmax()), "fungrad.numpy.repeat(A, ...)"),
        (lambda x: A.compress(x > 1), "fungrad.numpy.compress(A, ...)"),
        (lambda x: A.max(initial=x[0]), "fungrad.numpy.max(A, ...)"),
        (lambda x: A.fill(x[0]), "A = fungrad.numpy.array(A)"),
        (lambda x: A.put(0, x[0]), "A = fungrad.numpy.array(A)"),
        (lambda x: M[x.argmax()], "fungrad.numpy.array(a)[index] in place of a[index]"),
        (lambda x: M[x.argmax(), 1], "fungrad.numpy.take(a, index, axis=0)"),
        (lambda x: A[x > 1], "fungrad.numpy.where"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_methods_of_plain_arrays_name_what_to_write(f, instead, as_written):
    with pytest.raises((fg.LostDerivativeError, fg.ConcretizationError)) as caught:
        fg.jit(f)(X)
    assert instead in str(caught.value)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: A.dot(x),
        lambda x: A.searchsorted(x),
        lambda x: M.dot(x * 2),
        lambda x: A.take(x.argmax()),
        lambda x: A.repeat(x.argmax()),
        lambda x: A.compress(x > 1),
        lambda x: A.max(initial=x[0]),
        lambda x: M[x.argmax()],
        lambda x: M[x.argmax(), 1],
        lambda x: A[x > 1],
    ],
)
def test_methods_of_plain_arrays_of_values_that_jit_knows(f):
    jitted = fg.jit(f)
    for x in (X, X[::-1].copy(), X):
        np.testing.assert_array_equal(jitted(x), f(x))


def test_what_the_messages_say_works():
    def f(x):
        i = x.argmax()
        return fnp.dot(A, x) + fnp.array(M)[i, 1] + fnp.take(M, i, axis=0)[0] + fnp.array(A).dot(x)

    assert fg.jit(f)(X) == f(X) == fg.vjp(f, X)[0]


def test_sorting_in_place():
    def f(x):
        a = x[:, None] * x - 3
        a.sort()
        a[1:].sort(axis=0)
        a[0, ::-1].sort()
        a[2].partition(1)
        return a

    np.testing.assert_array_equal(fg.vjp(f, X)[0], f(X))
    np.testing.assert_array_equal(fg.jit(f)(X), f(X))
    with pytest.raises(TypeError, match=r"x = fungrad\.numpy\.sort\(x\) in place of x\.sort"):
        fg.grad(lambda x: x.sort())(X)


OTHERS = [2.0, 2, np.float64(2.0), np.arange(3.0), np.arange(3), np.arange(6.0).reshape(2, 3)]
OTHERS += [np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(3, dtype=np.float32), [1.0, 2.0, 3.0]]  # fmt: skip


@pytest.mark.parametrize("other", OTHERS, ids=range(len(OTHERS)))
@pytest.mark.parametrize(
    "call", [np.multiply, fnp.multiply, fnp.greater, operator.mul, operator.sub]
)
def test_operands_of_two(call, other):
    """On either side: values, types and layouts are NumPy's."""

    def results(x):
        square = x[:, None] * x[None]
        for y in (x, x[1], square, square.T, fnp.exp(square).T):
            for pair in ((y, other), (other, y)):
                if type(other) is not list or call in (np.multiply, fnp.multiply, fnp.greater):
                    yield call(*pair) if np.shape(other) != (2, 3) or y is x else y

    def check(x):
        for found, expected in zip(results(x), results(X), strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            if expected.ndim > 1:
                assert (layout_of(found) == "C") == expected.flags.c_contiguous
            np.testing.assert_array_equal(fg.stop_gradient(found) + 0, expected)
        return fnp.sum(x)

    fg.grad(check)(X)


def test_numbers_beside_lists_of_tracers():
    f = lambda x: fnp.sum(fnp.multiply(2.0, [x, x * x])) + fnp.sum(fnp.add(np.ones(2), [x, x]))
    assert [fg.grad(f)(3.0) for _ in range(3)] == [16.0] * 3


def test_elements_at_traced_indices():
    x = np.arange(12.0).reshape(3, 4)
    i, j = np.array([[0, 2], [1, -1]]), np.array([[3, 0], [0, 1]])

    def f(x, i, j, check):
        y, z = x[i, j], x[i]
        check(y, z)
        y[0, 0] = 7.0  # an array of its own
        return fnp.sum(y * y) + fnp.sum(z) + fnp.sum(x[i, j])

    def check(y, z):
        assert (y.shape, z.shape) == ((2, 2), (2, 2, 4))

    traced = fg.make_expr(lambda x, i, j: x[i, j])(x, i, j)
    assert [e.primitive.name for e in traced.equations] == ["gather"]
    for _ in range(3):
        value, gradient = fg.value_and_grad(lambda x: f(x, fnp.floor(x[0, 0]).astype(int) + i, i * 0 + j, check))(x)  # fmt: skip
        assert value == f(x.copy(), i, j, check)
        expected = np.zeros((3, 4))
        np.add.at(expected, (i, j), 2 * x[i, j] + 1)
        expected[0, 3] -= 2 * x[0, 3]
        np.add.at(expected, i, 1.0)
        np.testing.assert_array_equal(gradient, expected)
    with pytest.raises(IndexError):
        fg.grad(lambda x: fnp.sum(x[fnp.floor(x[0]).astype(int) + 3]))(x)
