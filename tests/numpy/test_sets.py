"""Sets: against NumPy, and of fixed size where values are not known."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from tests.numpy.checker import Case, check_error

V = np.array([3.0, 1.0, 3.0, 2.0, -1.0])
D = np.array([3.0, 1.0, 0.5, 2.0, -1.0])
U = np.array([2.0, 5.0, 3.0])
APART = np.array([2.5, 5.0, 0.1])
I = np.array([[3, 1, 1], [2, 0, 3]])
N = np.array([np.nan, 1.0, np.nan, 2.0])
ROWS = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
KNOWN = {"jit": False, "vmap": False}

CASES = [
    Case("isin", (I, [1, 2])),
    Case("isin", (I, np.arange(0, 99, 3))),
    Case("isin", (V, U), {"invert": True}, diff_argnums=()),
    Case("isin", (V, [])),
    *[
        Case(name, args, **KNOWN)
        for name, args in [
            *[(name, (D,)) for name in ("unique", "unique_all", "unique_counts", "unique_inverse")],
            ("union1d", (D, APART)),
            ("intersect1d", (D, APART)),
            ("setdiff1d", (D, APART)),
            ("setdiff1d", (D, APART, True)),
            ("setxor1d", (D, APART)),
            ("unique", (I,)),
            ("unique", (V[:0],)),
            ("unique_counts", (I,)),
            ("unique_inverse", (I,)),
        ]
    ],
    *[
        Case(name, args, kwargs, diff_argnums=(), **KNOWN)
        for name, args, kwargs in [
            *[
                (name, (x, U), {})
                for x in (V, I)
                for name in ("union1d", "intersect1d", "setxor1d")
            ],
            ("setdiff1d", (V, U), {}),
            ("setdiff1d", (V, U, True), {}),
            ("setxor1d", (V, U[:0]), {}),
            ("unique", (N,), {}),
            ("unique", (N, True, True, True), {"equal_nan": False}),
            ("unique", (ROWS, True, True, True), {"axis": 0}),
            ("unique", (I,), {"return_inverse": True, "axis": -1}),
            ("unique_counts", (N,), {}),
            ("union1d", (N, U), {}),
            ("intersect1d", (N, V), {}),
            ("intersect1d", (V, U), {"return_indices": True}),
            ("setdiff1d", (N, V), {}),
            ("setxor1d", (N[:2], N[1:3]), {}),
        ]
    ],
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


SIZED = [
    ("unique", (V,)),
    ("unique", (I,)),
    ("union1d", (V, U)),
    ("intersect1d", (V, U)),
    ("setdiff1d", (V, U)),
    ("setxor1d", (V, U)),
]


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(("name", "args"), SIZED)
def test_of_fixed_size(name, args, transform):
    expected = getattr(np, name)(*args)
    n = len(expected)
    for size in (0, n - 1, n, n + 2):
        f = lambda *xs, size=size: getattr(fnp, name)(*xs, size=size, fill_value=-9)
        found = transform(f)(*args)
        assert found.dtype == expected.dtype
        wanted = np.concatenate([expected, [-9, -9]])[:size]
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("size", [2, 4, 7])
@pytest.mark.parametrize(
    ("x", "axis"), [(V, None), (I, None), (N, None), (ROWS, 0), (ROWS.T, 1), (V[:0], None)]
)
def test_unique_of_fixed_size_with_all_it_tells(x, axis, size, transform):
    expected = np.unique(x, True, True, True, axis=axis)
    found = transform(lambda x: fnp.unique(x, True, True, True, axis=axis, size=size))(x)
    rest = axis or 0
    n = min(size, expected[0].shape[rest])
    take = lambda y: np.moveaxis(y, rest, 0)[:n]
    np.testing.assert_array_equal(take(found[0]), take(expected[0]))
    assert found[0].shape[rest] == size
    np.testing.assert_array_equal(found[1][:n], expected[1][:n])
    np.testing.assert_array_equal(found[2], expected[2])
    np.testing.assert_array_equal(found[3], [*expected[3][:n], *[0] * (size - n)])


def test_unique_values_are_sorted():
    expected, pullback = fg.vjp(fnp.unique_values, V)
    np.testing.assert_array_equal(expected, np.sort(np.unique_values(V)))  # NumPy's in any order
    np.testing.assert_array_equal(pullback(np.arange(4.0))[0], [3, 1, 0, 2, 0])
    found = fg.jit(lambda x: fnp.unique_values(x, size=5, fill_value=9))(V)
    np.testing.assert_array_equal(found, [*expected, 9])


def test_unique_functions_of_fixed_size():
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        expected = getattr(np, name)(I)
        found = fg.jit(lambda x, name=name: tuple(getattr(fnp, name)(x, size=4)))(I)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)


def test_intersection_with_indices_of_fixed_size():
    found = fg.jit(lambda x, y: fnp.intersect1d(x, y, return_indices=True, size=3))(V, U)
    np.testing.assert_array_equal(found[0], [2, 3, 2])
    np.testing.assert_array_equal(found[1], [3, 0, 5])
    np.testing.assert_array_equal(found[2], [0, 2, 3])


def test_of_fixed_size_in_a_batch():
    x = np.array([[1, 2, 1], [3, 3, 3]])
    found = fg.vmap(lambda x: fnp.unique(x, size=2, fill_value=0))(x)
    np.testing.assert_array_equal(found, [[1, 2], [3, 0]])


@pytest.mark.parametrize(("name", "args"), SIZED)
def test_values_are_needed(name, args):
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="a fixed size=n"):
        fg.jit(getattr(fnp, name))(*args)
    np.testing.assert_array_equal(fg.jit(getattr(fnp, name))(*args), getattr(np, name)(*args))


def test_gradient_of_unique_values():
    result, pullback = fg.vjp(lambda x: fnp.unique(x, return_counts=True)[0], V)
    np.testing.assert_array_equal(result, [-1, 1, 2, 3])
    np.testing.assert_array_equal(pullback(np.arange(4.0))[0], [3, 1, 0, 2, 0])
    sized = fg.jit(fg.grad(lambda x: (fnp.unique(x, size=4) * np.arange(4)).sum()))(V)
    np.testing.assert_array_equal(sized, [3, 1, 0, 2, 0])


def test_gradient_of_an_intersection_goes_to_the_first():
    first, second = fg.vjp(fnp.intersect1d, D, U)[1](np.array([1.0, 2.0]))
    np.testing.assert_array_equal(first, [2, 0, 0, 1, 0])
    np.testing.assert_array_equal(second, [0, 0, 0])


@pytest.mark.parametrize("kind", ["other", "table"])
def test_errors_are_numpys(kind):
    check_error("isin", (V, U), {"kind": kind})
