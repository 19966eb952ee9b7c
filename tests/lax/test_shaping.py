"""Making arrays and moving their elements by the names of `jax.lax`."""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.config import setting
from tests.backends import fake_cupy
from tests.numpy.checker import cases_of, check_function

X = np.array([[1.5, 2.0, -3.0], [0.5, 4.0, 7.0]])
Z = X + 1j * X[::-1]
STACK = np.arange(24.0).reshape(2, 3, 4)


def interior(x, value):
    """What pad makes with ((1, -1, 1), (0, 2, 0))."""
    out = np.full((3, 5), value)
    out[1] = [*x[0], value, value]
    return out


# The function with its static arguments, the oracle, and the arrays.
TABLE = {
    "broadcast": (
        lambda x: lax.broadcast(x, (2, 1)),
        lambda x: np.tile(x, (2, 1, 1, 1)),
        [(X,), (Z,), (X.astype(int),)],
    ),
    "broadcast scalar": (
        lambda x: lax.broadcast(x, (2,)),
        lambda x: np.array([x, x]),
        [(X[0, 0],)],
    ),
    "broadcast_in_dim": (
        lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)),
        lambda x: np.repeat(x[:, None], 4, 1),
        [(X,), (X > 1,)],
    ),
    "broadcast_in_dim stretched": (
        lambda x: lax.broadcast_in_dim(x, (2, 3), (0, 1)),
        lambda x: np.repeat(x, 3, 1),
        [(X[:, :1],)],
    ),
    "broadcast_like": (lax.broadcast_like, lambda x, y: x + 0 * y, [(X[0], X)]),
    "broadcast_to_rank": (
        lambda x: lax.broadcast_to_rank(x, 3),
        lambda x: x[None],
        [(X,), (X.astype(np.float16),)],
    ),
    "collapse": (lambda x: lax.collapse(x, 1), lambda x: x.reshape(2, 12), [(STACK,)]),
    "collapse some": (lambda x: lax.collapse(x, 0, -1), lambda x: x.reshape(6, 4), [(STACK,)]),
    "concatenate": (
        lambda *xs: lax.concatenate(xs, 1),
        lambda *xs: np.concatenate(xs, 1),
        [(X, X[:, :0], X[:, :1])],
    ),
    "expand_dims": (
        lambda x: lax.expand_dims(x, (0, -1)),
        lambda x: x[None, ..., None],
        [(X,), (X[:0],)],
    ),
    "full": (lambda x: lax.full((2, 3), x), lambda x: np.full((2, 3), x), [(X[0, 0],)]),
    "full_like": (
        lambda x: lax.full_like(x, 7, shape=(2,)),
        lambda x: np.full(2, 7, x.dtype),
        [(X,)],
    ),
    "pad": (lambda x, v: lax.pad(x, v, ((1, -1, 1), (0, 2, 0))), interior, [(X, X[0, 0])]),
    "pad of nothing": (
        lambda x, v: lax.pad(x, v, ((1, 2, 3), (0, 0, 0))),
        lambda x, v: np.full((3, 3), v),
        [(X[:0], X[0, 0])],
    ),
    "reshape": (lambda x: lax.reshape(x, (3, 2)), lambda x: x.reshape(3, 2), [(X,), (Z,)]),
    "reshape of permuted": (
        lambda x: lax.reshape(x, (4, 6), (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1).reshape(4, 6),
        [(STACK,)],
    ),
    "rev": (lambda x: lax.rev(x, (-1,)), lambda x: x[:, ::-1], [(X,)]),
    "split": (
        lambda x: lax.split(x, (1, 0, 2), 1),
        lambda x: [x[:, :1], x[:, :0], x[:, 1:]],
        [(X,)],
    ),
    "squeeze": (lambda x: lax.squeeze(x, (-1, 0)), lambda x: x[0, ..., 0], [(X[None, ..., None],)]),
    "stack": (lambda *xs: lax.stack(xs, -1), lambda *xs: np.stack(xs, -1), [(X, 2 * X)]),
    "tile": (lambda x: lax.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3)), [(X,)]),
    "transpose": (
        lambda x: lax.transpose(x, (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1),
        [(STACK,)],
    ),
    "unstack": (
        lambda x: lax.unstack(x, 1),
        lambda x: (x[:, 0], x[:, 1], x[:, 2]),
        [(X,)],
    ),
}


@pytest.mark.parametrize(("f", "oracle", "args"), cases_of(TABLE))
def test_function(f, oracle, args):
    check_function(f, oracle, args)


@pytest.mark.parametrize("name", TABLE)
def test_on_a_gpu(name, monkeypatch):
    fake = fake_cupy.make_module()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    f, oracle, calls = TABLE[name]
    found = fg.tree.leaves(f(*[fake.asarray(x) for x in calls[0]]))
    for x, y in zip(found, fg.tree.leaves(oracle(*calls[0])), strict=True):
        assert type(x) is fake.ndarray
        np.testing.assert_array_equal(x.get(), y)


def test_numbers_in_order():
    np.testing.assert_array_equal(lax.iota(np.float32, 4), np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(lax.broadcasted_iota(int, (2, 3), -1), [[0, 1, 2]] * 2)
    total = fg.jit(lambda x: (x * lax.iota(float, 3)).sum())
    assert fg.grad(total)(X[0])[2] == 2


def test_values_that_are_traced_fill_arrays():
    assert fg.grad(lambda v: lax.full((3,), v).sum())(2.0) == 3
    assert fg.grad(lambda v: lax.full_like(X, v).sum())(2.0) == 6
    assert lax.full_like(X.astype(np.float32), 2).dtype == np.float32
    assert lax.full((2,), 1, np.int8).dtype == np.int8


def test_what_is_said_of_arrays():
    assert lax.dtype(1) == np.int64
    assert lax.dtype(np.float32) == lax.dtype("float32") == lax.dtype(X.astype("f")) == np.float32
    assert lax.broadcast_shapes((3, 1), (1, 4), ()) == (3, 4)
    assert lax.shape_as_value((2, 3)).tolist() == [2, 3]
    assert lax.empty((2, 0), np.int8).dtype == np.int8
    assert fg.grad(lambda x: lax.broadcast_to_rank(x, 2).sum())(X).shape == X.shape


ERRORS = [
    (lambda: lax.squeeze(X, (0,)), ValueError, r"axes \(0,\) of float64\[2,3\] must have length 1"),
    (lambda: lax.broadcast([1.0], (2,)), TypeError, r"operand is a list; .* fungrad.numpy.asarray"),
    (lambda: lax.broadcast(X, 2), TypeError, r"sizes must be a sequence .* write \(2,\)"),
    (lambda: lax.broadcast(X, (2,), out_sharding=1), TypeError, r"\['out_sharding'\] is about dev"),
    (
        lambda: lax.broadcast_in_dim(X, (3, 2), (0, 1)),
        ValueError,
        r"got \(0, 1\) for float64\[2,3\] and shape \(3, 2\)",
    ),
    (lambda: lax.broadcast_in_dim(X, (3, 2), (1, 0)), ValueError, "ascending"),
    (lambda: lax.broadcast_to_rank(X, 1), ValueError, r"float64\[2,3\] has more than 1 axes"),
    (lambda: lax.collapse(X, 1, 1), ValueError, "no axes from 1 up to 1"),
    (
        lambda: lax.concatenate([X, X.astype("f")], 0),
        TypeError,
        r"operands\[0\] float64\[2,3\], operands\[1\] float32\[2,3\]; convert",
    ),
    (lambda: lax.concatenate([], 0), ValueError, "at least one operand"),
    (
        lambda: lax.reshape(X, (3.0, 4)),
        TypeError,
        "^lax.reshape: an element of new_sizes must be an integer, got 3.0 of type float",
    ),
    (lambda: lax.concatenate([X], 2), ValueError, "dimension 2 is no axis of an array of 2 axes"),
    (lambda: lax.full((2,), X), TypeError, r"fill_value must be a scalar, got float64\[2,3\]"),
    (lambda: lax.pad(X, np.float32(0), ((0, 0, 0),) * 2), TypeError, r"padding_value float32\[\]"),
    (lambda: lax.full_like(X, X), TypeError, r"lax.full_like: fill_value must be a scalar"),
    (lambda: lax.pad(X > 0, 1, ((0, 0, 0),) * 2), TypeError, "operand bool.*padding_value int64"),
    (lambda: lax.pad(X, X, ((0, 0, 0),) * 2), TypeError, "padding_value must be a scalar"),
    (lambda: lax.pad(X, 0.0, ((0, 0, 0),)), ValueError, "for each axis of float64"),
    (lambda: lax.pad(X, 0.0, ((-2, -1, 0), (0, 0, 0))), ValueError, r"the shape \(-1, 3\)"),
    (lambda: lax.pad(X, 0.0, ((0, 0, -1), (0, 0, 0))), ValueError, "interior padding is not neg"),
    (lambda: lax.reshape(X, (-1,)), ValueError, "fungrad.numpy.reshape, which takes -1"),
    (lambda: lax.reshape(X, (4,)), ValueError, r"float64\[2,3\] cannot have the shape \(4,\)"),
    (lambda: lax.rev(X, (0, -2)), ValueError, "names an axis twice"),
    (lambda: lax.split(X, (1, 1), 1), ValueError, r"sizes \(1, 1\) must be lengths that add up"),
    (lambda: lax.tile(X, (2,)), ValueError, "fungrad.numpy.tile adds axes"),
    (lambda: lax.transpose(X, (0,)), ValueError, "does not name all axes"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda n: lax.reshape(X, (n, 3)), (2, 3)),
        (lambda n: lax.broadcast(fnp.ones(2), (n,)), (2, 2)),
    ],
)
def test_traced_lengths(f, shape):
    assert fg.jit(f)(2).shape == shape
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="static_argnames"):
        fg.jit(f)(2)
