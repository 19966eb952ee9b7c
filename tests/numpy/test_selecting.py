"""Selecting elements: against NumPy."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.numpy.checker import Case, check_error

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B = A[0]
V = B[0]
F = A.astype(np.float32)
I = np.array([[2, 1, 0], [0, 0, -1]])
C = B + 1j * B[::-1]
X = np.float64(0.3)
T = B > 0
P = np.array([0, 2, 1, 1])

CASES = [
    Case("take", (A, I)),
    Case("take", (A, I), {"axis": 1}),
    Case("take", (A, I), {"axis": -1}),
    Case("take", (F, np.int32(2)), {"axis": 2}),
    Case("take", (C, [0, 2]), {"axis": 0}),
    Case("take", (V, 1)),
    Case("take", (V, I + 7), {"mode": "wrap"}),
    Case("take", (V, I * 7), {"mode": "clip"}),
    Case("take", (V, np.array([True, False]))),
    Case("take", (V, I[:0])),
    Case("take_along_axis", (B, I[:1].T), {"axis": 1}),
    Case("take_along_axis", (A, np.array([[[1], [0], [2]]])), {"axis": 2}),
    Case("take_along_axis", (B, I[0]), {"axis": None}),
    Case("take_along_axis", (B[:, :3], I), {"axis": 0}),
    Case("extract", ([True, False, True], B)),
    Case("extract", (T, B), static=(0,)),
    Case("compress", ([True, False, True], B)),
    Case("compress", ([True, False, True], B), {"axis": 1}),
    Case("where", (T, B, V)),
    Case("where", (B, C, 2)),
    Case("where", (T, F[0], 2.0)),
    Case("where", (T[:, :1], X, V)),
    Case("where", ([True, False], X, 1)),
    Case("choose", (P, [V, V + 1, 2.0])),
    Case("choose", (P * 7, [V, V[:1]]), {"mode": "wrap"}),
    Case("choose", (P - 1, [V, V + 1]), {"mode": "clip"}),
    Case("choose", (P, B)),
    Case("choose", (P, [F[0, 0], 2.0, 3])),
    Case("select", ([T, B < -1], [B, C]), {"default": 7}),
    Case("select", ([T[0]], [F[0]])),
    Case("select", ([True], [V])),
    Case("piecewise", (B, [B < 0, B > 1], [lambda x: -x, lambda x: x * x, 3]), static=(1,)),
    Case("piecewise", (V, [V < 0, V > 1], [1.0, 2.0])),
    Case("piecewise", (X, X > 0, [lambda x: x * x])),
    Case("piecewise", (V, [V < 0], [lambda x, y: x * y, lambda x, y: y], 5.0)),
]
CASES += [
    Case("clip", (F[0], -1, 1), {"dtype": np.float64}),
    Case("clip", (I, X, 2), {"dtype": np.float32}, diff_argnums=()),
]

WITH_VALUES = [
    Case("nonzero", (T,), vmap=False, jit=False),
    Case("nonzero", (V,), vmap=False, jit=False),
    Case("where", (T,), vmap=False, jit=False),
    Case("flatnonzero", (B > 0.5,), vmap=False, jit=False),
    Case("argwhere", (T,), vmap=False, jit=False),
    Case("argwhere", (X,), vmap=False, jit=False),
    Case("extract", (T, B), vmap=False, jit=False),
    Case("compress", (T[0], B), {"axis": 1}, vmap=False, jit=False),
    Case("trim_zeros", (np.array([0, 0, 1.5, 0, 2, 0]),), vmap=False, jit=False, diff_argnums=()),
    Case("trim_zeros", (np.array([0, 0, 3, 0]), "f"), vmap=False, jit=False),
    Case("trim_zeros", (np.zeros(3),), vmap=False, jit=False, diff_argnums=()),
    Case("trim_zeros", (np.zeros((2, 3)),), {"axis": -1}, vmap=False, jit=False, diff_argnums=()),
]


@pytest.mark.parametrize("case", CASES + WITH_VALUES, ids=str)
def test_as_numpy(case):
    case.check()


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_nonzero_of_fixed_size(transform):
    x = np.array([[0, 3, 0], [4, 0, 5]])
    rows, columns = transform(lambda x: fnp.nonzero(x, size=5, fill_value=-7))(x)
    np.testing.assert_array_equal(rows, [0, 1, 1, -7, -7])
    np.testing.assert_array_equal(columns, [1, 0, 2, -7, -7])
    found = transform(lambda x: fnp.flatnonzero(x, size=2))(x)
    np.testing.assert_array_equal(found, [1, 3])
    found = transform(lambda x: fnp.flatnonzero(x, size=9))(x)
    np.testing.assert_array_equal(found, [1, 3, 5, 0, 0, 0, 0, 0, 0])
    found = transform(lambda x: fnp.argwhere(x, size=4, fill_value=(8, 9)))(x)
    np.testing.assert_array_equal(found, [[0, 1], [1, 0], [1, 2], [8, 9]])
    batch = fg.vmap(lambda x: fnp.flatnonzero(x, size=2, fill_value=9))(x)
    np.testing.assert_array_equal(batch, [[1, 9], [0, 2]])


@pytest.mark.parametrize("name", ["nonzero", "flatnonzero", "argwhere", "trim_zeros"])
@pytest.mark.parametrize("transform", [fg.jit, fg.vmap])
def test_values_are_needed(name, transform, as_written):
    with pytest.raises(fg.ConcretizationError, match=f"{name} gives a number of elements"):
        transform(getattr(fnp, name))(B)


def test_piecewise_sees_only_its_part_where_values_are_known():
    gradient = fg.grad(lambda x: fnp.sum(fnp.piecewise(x, [x > 0], [np.sqrt, 0.0])))
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(gradient(np.array([4.0, -1.0])), [0.25, 0])


ERRORS = [
    ("trim_zeros", (V, "x")),
    ("trim_zeros", (V, "fb", 3)),
    ("take", (V, 9)),
    ("take", (B, 0, 5)),
    ("take", (V, V)),
    ("take", (V, 0, 0, None, "other")),
    ("take_along_axis", (B, P, 0)),
    ("take_along_axis", (B, V[None], 0)),
    ("compress", (T.tolist(), B)),
    ("compress", ([True] * 9, V)),
    ("select", ([V], [V])),
    ("select", ([T, T], [B])),
    ("select", ([], [])),
    ("piecewise", (V, [V > 0], [1, 2, 3])),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_numpys(name, args):
    check_error(name, args)


def test_choose_checks_known_values():
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        fg.vjp(lambda i, x: fnp.choose(i, [x, x]), P, V)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_elements_of_fixed_size(transform):
    def f(x):
        return (
            fnp.where(x > 1, size=3, fill_value=-1)[0],
            fnp.extract(x > 1, x, size=3),
            fnp.compress(x > 1, x, size=1),
            fnp.compress(x > 1, fnp.stack([x, x]), axis=1, size=2, fill_value=-9),
            fnp.repeat(x, fnp.astype(x, int), total_repeat_length=5),
            fnp.repeat(fnp.stack([x, x]), 2, axis=1, total_repeat_length=7),
        )

    where, extracted, first, both, some, more = transform(f)(np.array([0.0, 2.0, 1.5]))
    np.testing.assert_array_equal(where, [1, 2, -1])
    np.testing.assert_array_equal(extracted, [2, 1.5, 0])
    np.testing.assert_array_equal(first, [2])
    np.testing.assert_array_equal(both, [[2, 1.5], [2, 1.5]])
    np.testing.assert_array_equal(some, [2, 2, 1.5, 1.5, 1.5])
    np.testing.assert_array_equal(more, [[0, 0, 2, 2, 1.5, 1.5, 1.5]] * 2)
    with pytest.raises(ValueError, match="size is for the condition alone"):
        transform(lambda x: fnp.where(x > 1, x, 0, size=2))(V)


def test_elements_of_fixed_size_in_a_batch_have_gradients():
    batch = fg.vmap(lambda x: fnp.extract(x > 0, x, size=2))(np.array([[1.0, -2, 3], [-1, -1, 4]]))
    np.testing.assert_array_equal(batch, [[1, 3], [4, 0]])
    gradient = fg.jit(fg.grad(lambda x: (fnp.extract(x > 0, x, size=2) * [2.0, 5.0]).sum()))
    np.testing.assert_array_equal(gradient(np.array([-1.0, 3.0, 4.0])), [0, 2, 5])
