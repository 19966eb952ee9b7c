"""Slices, gather and scatter by the names of `jax.lax`."""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit.python import python_source
from fungrad.compile.pipeline import scheduled, simplify
from tests.backends import fake_cupy
from tests.numpy.checker import cases_of, check_function

X = np.arange(12.0).reshape(3, 4)
Z = X + 1j * X[::-1]


def first_of(start, size, n):
    """Where a dynamic slice starts."""
    return min(max(int(start) + n * (int(start) < 0), 0), n - size)


def taken(x, i, j):
    """A window of 2 by 3."""
    i, j = first_of(i, 2, 3), first_of(j, 3, 4)
    return x[i : i + 2, j : j + 3]


def written(x, update, i):
    """Two rows replaced."""
    out, i = x.copy(), first_of(i, 2, 3)
    out[i : i + 2] = update
    return out


def row_set(x, row, i):
    out = x.copy()
    out[first_of(i, 1, 3)] = row
    return out


ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))
ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))
OF_ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))
PLACES = np.array([[2], [0], [2]])


def accumulated(x, updates, i):
    out = x.copy()
    np.add.at(out, i[:, 0], updates)
    return out


def multiplied(x, updates, i):
    out = x.copy()
    np.multiply.at(out, i[:, 0], updates)
    return out


TABLE = {
    "slice": (
        lambda x: lax.slice(x, (1, 0), (3, 4), (1, 3)),
        lambda x: x[1:3, 0:4:3],
        [(X,), (Z,)],
    ),
    "slice_in_dim": (lambda x: lax.slice_in_dim(x, -3, None, 2, 1), lambda x: x[:, 1::2], [(X,)]),
    "index_in_dim": (lambda x: lax.index_in_dim(x, -1, 1), lambda x: x[:, 3:], [(X,)]),
    "index dropped": (lambda x: lax.index_in_dim(x, 1, 0, False), lambda x: x[1], [(X,)]),
    "dynamic_slice": (
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
        taken,
        [
            (X, np.int64(1), np.int64(-2)),
            (Z, np.int8(9), np.int64(-9)),
            (X > 3, np.uint8(1), np.int64(0)),
        ],
    ),
    "dynamic_slice at an array": (
        lambda x, i: lax.dynamic_slice(x, i, (2, 3)),
        lambda x, i: taken(x, *i),
        [(X, np.array([-1, 1]))],
    ),
    "dynamic_slice of all": (lambda x: lax.dynamic_slice(x, (5, -5), (3, 4)), lambda x: x, [(X,)]),
    "dynamic_slice_in_dim": (
        lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, -1),
        lambda x, i: x[:, first_of(i, 2, 4) :][:, :2],
        [(X, np.int64(1)), (X[:0], np.int64(-1))],
    ),
    "dynamic_index_in_dim": (
        lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False),
        lambda x, i: x[:, first_of(i, 1, 4)],
        [(X, np.int64(-2)), (X.astype(int), np.int64(7))],
    ),
    "no negative starts": (
        lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, allow_negative_indices=False),
        lambda x, i: x[min(max(i, 0), 1) :][:2],
        [(X, np.int64(-1))],
    ),
    "dynamic_update_slice": (
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0)),
        written,
        [(X, X[1:] * 2, np.int64(1)), (X, X[:2] + 1, np.int32(-9))],
    ),
    "dynamic_update_slice_in_dim": (
        lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, -2),
        written,
        [(X, X[1:] * 2, np.int64(-2))],
    ),
    "dynamic_update_index_in_dim": (
        lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 0),
        row_set,
        [(X, X[0] * 2, np.int64(-2)), (X, X[:1] * 2, np.int64(5))],
    ),
    "index_take": (
        lambda x, i: lax.index_take(x, (i,), (1,)),
        lambda x, i: x[:, i % 4].T,
        [(X, np.array([0, -1, 5], np.int8))],
    ),
    "gather": (
        lambda x, i: lax.gather(x, i, ROWS, (1, 4)),
        lambda x, i: x[np.clip(i[:, 0], 0, 2)],
        [(X, PLACES), (Z, PLACES + 1), (X, PLACES.astype(np.uint64))],
    ),
    "gather of nothing known": (
        lambda x: lax.gather(
            x, np.zeros((2, 0), int), lax.GatherDimensionNumbers((0, 2), (), ()), (3, 4)
        ),
        lambda x: np.stack([x, x], 1),
        [(X,)],
    ),
    "gather that fills": (
        lambda x, i: lax.gather(x, i, ROWS, (1, 2), mode="fill", fill_value=7),
        lambda x, i: np.where((i >= 0) & (i < 3), x[np.clip(i[:, 0], 0, 2), :2], x.dtype.type(7)),
        [(X, PLACES - 1), (X.astype(np.uint8), PLACES + 1)],
    ),
    "scatter_add": (
        lambda x, u, i: lax.scatter_add(x, i, u, OF_ROWS),
        accumulated,
        [(X, X[::-1] / 7, PLACES), (X.astype(int), X.astype(int), PLACES)],
    ),
    "scatter_sub": (
        lambda x, u, i: lax.scatter_sub(x, i, u, OF_ROWS),
        lambda x, u, i: accumulated(x, -u, i),
        [(X, X[::-1] / 7, PLACES)],
    ),
    "scatter_mul": (
        lambda x, u, i: lax.scatter_mul(x, i, u, OF_ROWS),
        multiplied,
        [(X + 1, X[::-1] / 7 + 1, PLACES)],
    ),
    "scatter in the whole": (
        lambda x, u: lax.scatter(
            x, np.zeros(0, int), u, lax.ScatterDimensionNumbers((0, 1), (), ())
        ),
        lambda x, u: u,
        [(X, 2 * X)],
    ),
}


@pytest.mark.parametrize(("f", "oracle", "args"), cases_of(TABLE))
def test_function(f, oracle, args):
    check_function(f, oracle, args)


@pytest.mark.parametrize("name", [n for n in TABLE if n != "dynamic_slice at an array"])
def test_on_a_gpu(name, monkeypatch):
    fake = fake_cupy.make_module()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    f, oracle, calls = TABLE[name]
    found = f(*[fake.asarray(x) for x in calls[0]])
    assert type(found) is fake.ndarray
    np.testing.assert_array_equal(found.get(), oracle(*calls[0]))


def test_dropped_on_a_gpu(monkeypatch):
    fake = fake_cupy.make_module()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    x, u, i = [fake.asarray(a) for a in (np.zeros(2), np.array([1.0, 2.0]), np.array([[1], [5]]))]
    for kind in (lax.scatter, lax.scatter_add):
        assert kind(x, i, u, ELEMENTS).get().tolist() == [0, 1]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (lax.scatter, [0.0, 1.5, 7.0, 3.0]),
        (lax.scatter_add, [0.0, 2.5, 9.0, 3.0]),
        (lax.scatter_mul, [0.0, 1.5, 14.0, 3.0]),
        (lax.scatter_min, [0.0, 1.0, 2.0, 3.0]),
        (lax.scatter_max, [0.0, 1.5, 7.0, 3.0]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_windows_outside_are_dropped(kind, expected, traced):
    def f(x, u, i):
        return kind(x, i, u, ELEMENTS)

    args = np.arange(4.0), np.array([5.0, 1.5, 7.0, -5.0]), np.array([[4], [1], [2], [-1]])
    np.testing.assert_array_equal((fg.jit(f) if traced else f)(*args), expected)


def test_modes():
    x, i, u = np.zeros(3), np.array([[4], [-1]]), np.array([1.0, 2.0])
    assert lax.scatter(x, i, u, ELEMENTS, mode="clip").tolist() == [2, 0, 1]
    assert lax.scatter(x, i, u, ELEMENTS, mode="drop").tolist() == [0, 0, 0]
    assert lax.scatter(x, abs(i) - 2, u, ELEMENTS, mode=lax.GatherScatterMode.CLIP)[2] == 1
    with pytest.raises(IndexError):
        lax.scatter(x, i, u, ELEMENTS, mode="promise_in_bounds")
    columns = lax.GatherDimensionNumbers((), (0,), (0,))
    fills = [np.dtype(d).type(1) for d in ("f8", "i1", "u1", "?")]
    found = [lax.gather(np.array([v]), i, columns, (1,), mode="fill")[0] for v in fills]
    np.testing.assert_array_equal(found, [np.nan, -128, 255, True])


def test_numbers_take_the_dtype_of_the_array():
    small = np.zeros(3, np.float32)
    assert lax.dynamic_update_index_in_dim(small, 5.0, 1, 0).dtype == np.float32
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    assert lax.scatter(small, np.array([1]), 2, numbers).tolist() == [0, 2, 0]
    with pytest.raises(TypeError, match="update float64"):
        lax.dynamic_update_index_in_dim(np.zeros(3, int), 5.5, 1, 0)


def test_promises_of_unique_indices():
    def f(x, u, i, mode=None):
        return lax.scatter_add(x, i, u, ELEMENTS, unique_indices=True, mode=mode)

    x, u, i = np.zeros(3), np.array([1.0, 2.0, 4.0]), np.array([[2], [0], [9]])
    assert f(x, u, i).tolist() == fg.jit(f)(x, u, i).tolist() == [2, 0, 1]
    assert fg.grad(lambda u: (f(x, u, i) ** 2).sum())(u).tolist() == [2, 4, 0]


def test_scatter_apply():
    def f(x, i, unique=False):
        return lax.scatter_apply(x, i, fnp.sin, ELEMENTS, update_shape=(2,), unique_indices=unique)

    x, i = np.arange(1.0, 4), np.array([[2], [7]])
    np.testing.assert_array_equal(f(x, i), [1, 2, np.sin(3)])
    np.testing.assert_array_equal(fg.jit(lambda x, i: f(x, i, True))(x, i), [1, 2, np.sin(3)])
    np.testing.assert_allclose(fg.grad(lambda x: f(x, i).sum())(x), [1, 1, np.cos(3)])


def test_second_derivatives_at_traced_starts():
    def f(x, i):
        y = lax.dynamic_update_slice(x**2, lax.dynamic_slice(x, (i,), (2,)) ** 3, (i + 1,))
        return (y * y).sum()

    x = np.array([0.5, 1.5, -1.0, 2.0])
    hessian = fg.jit(fg.hessian(f))(x, 1)
    expected = np.diag([3 * 0.5**2 * 4, 30 * 1.5**4 + 12 * 1.5**2, 30.0, 0])
    np.testing.assert_allclose(hessian, np.where(expected, hessian, 0))
    np.testing.assert_allclose(fg.jvp(fg.grad(lambda x: f(x, 1)), (x,), (x,))[1], hessian @ x)


def source_of(f, *args):
    return python_source(scheduled(simplify(fg.make_expr(f)(*args)))).text


def test_dynamic_updates_are_written_into_what_dies():
    def f(x, u, i):
        return lax.dynamic_update_slice(fnp.sin(x), u, (i,))

    assert source_of(f, np.ones(10), np.ones(3), 2) == (
        "def program(a, b, c):\n"
        "    d = np.sin(a)\n"
        "    d[(_i := min(max(_i + 10 if (_i := int(c)) < 0 else _i, 0), 7)):_i + 3] = b\n"
        "    return [d]\n"
    )


def test_elements_are_read_and_written_without_reshapes():
    def f(x, i):
        y = fnp.sin(x)
        row = lax.dynamic_index_in_dim(y, i, keepdims=False)
        return lax.dynamic_update_index_in_dim(y, fnp.cos(row), i, 0)

    assert source_of(f, np.ones((5, 3)), 2) == (
        "def program(a, b):\n"
        "    c = np.sin(a)\n"
        "    d = c[min(max(_i + 5 if (_i := int(b)) < 0 else _i, 0), 4)]\n"
        "    e = np.cos(d)\n"
        "    c[min(max(_i + 5 if (_i := int(b)) < 0 else _i, 0), 4)] = e\n"
        "    del d, e\n"
        "    return [c]\n"
    )
    element = source_of(lambda x, i: lax.dynamic_slice(x, (i,), (1,)).reshape(()), np.ones(5), 2)
    assert "c = a[min(max(_i + 5 if (_i := int(b)) < 0 else _i, 0), 4)]\n" in element


def test_an_argument_is_not_written_into():
    def f(x, u, i):
        return lax.dynamic_update_slice(x, u, (i,))

    x = np.zeros(4)
    for g in (f, fg.jit(f)):
        assert g(x, np.ones(2), 1).tolist() == [0, 1, 1, 0]
        assert not x.any()
    assert "dynamic_update_slice0(np, a, b, c)" in source_of(f, x, np.ones(2), 1)


def test_gradients_of_reads_are_added_in_place():
    def f(x, i):
        return (
            fnp.sin(lax.dynamic_slice(x, (i,), (2,))).sum()
            + lax.dynamic_slice(x, (i + 1,), (2,)).sum()
        )

    text = source_of(fg.grad(f), np.ones(10), 2)
    assert text.count("+= ") == 1
    assert text.count("dynamic_update_slice") == 1  # where the gradient is made
    found = fg.jit(fg.grad(f))(np.zeros(5), 2)
    assert found.tolist() == [0, 0, 1, 2, 1]


def test_small_slices_read_later_are_copied():
    def f(x, i):
        y = fnp.sin(x)
        before = lax.dynamic_slice(y, (i,), (2,))
        after = lax.dynamic_update_slice(y, fnp.cos(before), (i,))
        return after, before * after[:2]

    text = source_of(f, np.ones(10), 2)
    assert ":_i + 2].copy()\n" in text
    assert ":_i + 2] = " in text
    after, before = fg.jit(f)(np.ones(4), 1)
    np.testing.assert_allclose(before, np.sin(1) * np.array([np.sin(1), np.cos(np.sin(1))]))
    np.testing.assert_allclose(after[1:3], np.cos(np.sin(1)))


ONE = np.array([[0]])
ERRORS = [
    (
        lambda: lax.slice(X, (0, 0), (4, 4)),
        ValueError,
        r"got start_indices \(0, 0\), limit_indices \(4",
    ),
    (lambda: lax.slice(X, (0,), (1,)), ValueError, r"each axis of float64\[3,4\]"),
    (
        lambda: lax.slice_in_dim(X, 2, 1),
        ValueError,
        "from 2 to 1 in steps of 1 is no slice of axis 0",
    ),
    (lambda: lax.slice_in_dim(X, 0, 1.0), TypeError, "limit_index must be an integer, got 1.0"),
    (lambda: lax.index_in_dim(X, 3), IndexError, r"3 is out of range for axis 0 of float64\[3,4\]"),
    (lambda: lax.dynamic_slice(X, (0,), (1, 1)), TypeError, "one for each of the 2 axes"),
    (lambda: lax.dynamic_slice(X, (0, 1.0), (1, 1)), TypeError, r"0-d integers, got float64\[\]"),
    (
        lambda: lax.dynamic_slice(X, (0, 0), (4, 1)),
        ValueError,
        r"\(4, 1\) does not fit into float64",
    ),
    (
        lambda: lax.dynamic_slice(X, (0, 0), (1, 1), allow_negative_indices=(True,)),
        ValueError,
        "a boolean or one for each axis",
    ),
    (
        lambda: lax.dynamic_update_slice(X, X.astype("f"), (0, 0)),
        TypeError,
        r"operand float64\[3,4\], update float32\[3,4\]; convert",
    ),
    (
        lambda: lax.dynamic_update_slice(X, X[0], (0, 0)),
        ValueError,
        r"an update of shape \(4,\) does",
    ),
    (lambda: lax.dynamic_update_slice_in_dim(X, X, 0, 2), ValueError, "axis 2 is no axis"),
    (lambda: lax.gather(X, ONE * 1.0, ROWS, (1, 4)), TypeError, r"must be integers .* got float64"),
    (lambda: lax.gather(X, ONE[0, 0], ROWS, (1, 4)), TypeError, "a last axis of length 1"),
    (lambda: lax.gather(X, ONE, ROWS, (2, 4)), ValueError, r"length 1 along the axes \(0,\)"),
    (
        lambda: lax.gather(X, ONE, OF_ROWS, (1, 4)),
        TypeError,
        "must be a lax.GatherDimensionNumbers",
    ),
    (lambda: lax.gather(X, ONE, ROWS, (1, 5)), ValueError, "must fit into float64"),
    (
        lambda: lax.gather(X, ONE, lax.GatherDimensionNumbers((), (0,), (0,)), (1, 4)),
        ValueError,
        r"offset_dims must be 1 ascending axes, .* got \(\)",
    ),
    (
        lambda: lax.gather(
            X, ONE, lax.GatherDimensionNumbers((1,), (0,), (0,), (1,), (0,)), (1, 1)
        ),
        ValueError,
        "go together and must have equal lengths",
    ),
    (
        lambda: lax.gather(
            X[:1], ONE, lax.GatherDimensionNumbers((1,), (0,), (0,), (0,), (0,)), (1, 4)
        ),
        ValueError,
        "collapsed_slice_dims and operand_batching_dims name an axis twice",
    ),
    (
        lambda: lax.gather(X, ONE, ROWS, (1, 4), mode="wrap"),
        ValueError,
        "mode must be .* got 'wrap'",
    ),
    (lambda: lax.scatter(X, ONE, X[:1].astype(int), OF_ROWS), TypeError, "updates int64"),
    (
        lambda: lax.scatter(X, ONE, X[0], OF_ROWS),
        ValueError,
        r"must have 1 axes of the indices and 1 of windows, got shape \(4,\)",
    ),
    (lambda: lax.scatter(X, ONE, X, OF_ROWS), ValueError, r"the others must be \(1,\)"),
    (
        lambda: lax.scatter(X, ONE, X[:1], lax.ScatterDimensionNumbers((), (0,), (0,))),
        ValueError,
        "update_window_dims must be 1 ascending axes",
    ),
    (
        lambda: lax.scatter_apply(X, PLACES, fnp.sin, OF_ROWS, update_shape=(3, 4)),
        ValueError,
        "windows must not overlap",
    ),
    (
        lambda: fg.jit(lambda i: lax.scatter_apply(X, i, fnp.sin, OF_ROWS, update_shape=(1, 4)))(
            ONE
        ),
        ValueError,
        "say unique_indices=True",
    ),
    (lambda: lax.index_take(X, (ONE,), (0, 1)), ValueError, r"for each of the axes \(0, 1\)"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
