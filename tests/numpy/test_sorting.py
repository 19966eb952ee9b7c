"""Sorting and searching: against NumPy."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from tests.numpy.checker import Case, check_error

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B = A[0]
V = B[0]
F = A.astype(np.float32)
I = np.array([[3, 1, 1], [2, 0, 3]])
C = B + 1j * B[::-1]
X = np.float64(0.3)
N = np.array([2.0, np.nan, -1.0, np.inf])
E = np.zeros((0, 3))
GRID = np.array([-1.0, -0.5, 0.0, 0.4, 1.0])
TIES = np.array([1, 2, 2, 2, 5])

CASES = [
    *[Case("sort", (x,)) for x in (A, F, I, C, B > 0, E)],
    Case("sort", (N,), diff_argnums=()),
    Case("sort", (A, 0)),
    Case("sort", (A, None)),
    Case("sort", (I,), {"stable": True}),
    Case("sort", (X, None)),
    *[Case("argsort", (x,), {"stable": True}) for x in (A, F, I, C, N, E)],
    Case("argsort", (B,), {"axis": 0}),
    Case("argsort", (B,), {"axis": None, "kind": "stable"}),
    Case("argsort", (X,)),
    Case("sort_complex", (V,)),
    Case("sort_complex", (I.astype(np.int8),)),
    Case("sort_complex", (C,)),
    Case("lexsort", ((I[0], V[:3]),)),
    Case("lexsort", (I,)),
    Case("lexsort", ((V[0], V[1]),)),
    Case("lexsort", ([B, B.round()],), {"axis": 0}, diff_argnums=()),
    *[
        Case("searchsorted", (grid, v), {"side": side}, static=(0,))
        for side in ("left", "right")
        for grid, v in [
            (GRID, B),
            (GRID, X),
            (GRID.astype(np.float32), F),
            (TIES, I),
            (np.sort(N), N),
            (GRID[:0], V),
            (np.arange(1000.0), V * 1000),
        ]
    ],
    Case("searchsorted", (GRID, V), vmap=False),
    Case("searchsorted", (GRID[::-1].copy(), V), {"sorter": [4, 3, 2, 1, 0]}, vmap=False),
    *[
        Case(f, (np.zeros((3, 0)), k), {"axis": -1})
        for f in ("partition", "argpartition")
        for k in (0, 5)
    ],
    *[Case(f, (np.zeros((0, 3)), -1), {"axis": 0}) for f in ("partition", "argpartition")],
    Case("partition", (np.zeros((3, 0)), 0), {"axis": None}),
    *[Case(f, (np.zeros((2, 0)),)) for f in ("sort", "argsort")],
    Case("digitize", (V, GRID), static=(1,)),
    Case("digitize", (V, GRID[::-1]), {"right": True}, static=(1,)),
    Case("digitize", (X, GRID), static=(1,)),
    Case("isin", (I, [1, 2])),
    Case("isin", (I, np.arange(0, 99, 3))),
    Case("isin", (V, B), {"invert": True}, diff_argnums=()),
    Case("isin", (V, [])),
    Case("interp", (B, GRID, GRID**2), static=(1,)),
    Case("interp", (X, GRID, GRID**2), {"left": 7.0, "right": -1}, static=(1,)),
    Case("interp", (B * 9, GRID, GRID**2), {"period": 2.5}, static=(1,)),
    Case("interp", (V, GRID, GRID * 1j), static=(1,)),
    Case("interp", (B, GRID, GRID**2), vmap=False),
    Case("interp", (B, GRID[:1], GRID[:1])),
    Case("interp", (I, GRID, GRID), diff_argnums=(2,)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


@pytest.mark.parametrize("kth", [0, 2, -1, (1, 3)])
def test_partition_puts_the_kth_in_place(kth):
    expected = np.partition(B, kth, axis=1)
    found = fg.jit(lambda x: fnp.partition(x, kth, axis=1))(B)
    places = fg.jit(lambda x: fnp.argpartition(x, kth, axis=1))(B)
    np.testing.assert_array_equal(found[:, kth], expected[:, kth])
    np.testing.assert_array_equal(np.take_along_axis(B, places, 1), found)


def test_unique_of_known_values():
    x = np.array([3.0, 1.0, 3.0, 2.0])
    result, pullback = fg.vjp(lambda x: fnp.unique(x, return_counts=True)[0], x)
    np.testing.assert_array_equal(result, [1, 2, 3])
    np.testing.assert_array_equal(pullback(np.array([1.0, 2.0, 3.0]))[0], [3, 1, 0, 2])
    results = fg.vjp(
        lambda x: fnp.unique(x, True, True, True, axis=1), np.array([[1, 1, 0], [2, 2, 1]])
    )[0]
    for found, expected in zip(
        results, np.unique([[1, 1, 0], [2, 2, 1]], True, True, True, axis=1), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    for y in (x, x * 0, x):
        np.testing.assert_array_equal(fg.jit(fnp.unique)(y), np.unique(y))
    words = "unique gives a number of elements"
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match=words):
        fg.jit(fnp.unique)(x)


def test_sort_passes_gradients_to_where_they_came_from():
    gradient = fg.grad(lambda x: fnp.sort(x)[0] + 2 * fnp.sort(x)[-1])(V)
    assert gradient[V.argmin()] == 1
    assert gradient[V.argmax()] == 2


ERRORS = [
    ("sort", (B, 2)),
    ("sort", (X,)),
    ("partition", (B, 9)),
    ("lexsort", ((V, I[0]),)),
    ("searchsorted", (B, V)),
    ("searchsorted", (GRID, V, "middle")),
    ("digitize", (V, TIES[[0, 4, 1]])),
    ("interp", (V, GRID, V)),
    ("interp", (V, B, B)),
    ("interp", (V, GRID[:0], GRID[:0])),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_numpys(name, args):
    check_error(name, args, static=(1,) if name == "digitize" else ())


def test_searchsorted_in_a_batch_of_arrays():
    grids = np.sort(A.reshape(3, 8), axis=1)
    found = fg.vmap(fnp.searchsorted)(grids, B)
    expected = [np.searchsorted(g, v) for g, v in zip(grids, B, strict=True)]
    np.testing.assert_array_equal(found, expected)


def test_interp_in_a_batch_of_functions():
    grids = np.sort(A.reshape(3, 8), axis=1)
    found = fg.vmap(fnp.interp)(B, grids, grids**2)
    expected = [np.interp(*xs) for xs in zip(B, grids, grids**2, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-15)
