"""Making arrays from tracers and like tracers; diagonals and triangles: against NumPy."""

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
I = np.arange(6).reshape(2, 3)
C = B + 1j * B[::-1]
X, Y = np.float64(1.5), np.float64(4.0)
S = np.float32(2.5)
E = np.zeros((0, 3))
SMALL = np.array([[1, 100], [2, 100]], np.int8)

CASES = [
    Case("array", ([X, Y],)),
    Case("array", ([[X, 1], [2, Y]],)),
    Case("array", ([V, (1, 2, 3, 4)],)),
    Case("array", ([S, 1.0],)),
    Case("array", ([X, 1],), {"dtype": np.float32}),
    Case("array", (V,), {"ndmin": 3}),
    Case("array", (C,), {"dtype": complex}),
    Case("asarray", ([X, 2.5],)),
    Case("asarray", (I,), {"dtype": float}),
    Case("asanyarray", (B,)),
    Case("ascontiguousarray", (X,)),
    Case("asfortranarray", (B,)),
    Case("full", ((2, 3), X)),
    Case("full", (2, S), {"dtype": float}),
    Case("full", ((3, 4), V)),
    Case("full_like", (F, 2)),
    Case("full_like", (I, -1.25)),
    Case("full_like", (I, X)),
    Case("full_like", (B, V), {"shape": (2, 4)}),
    Case("zeros_like", (A,)),
    Case("zeros_like", (F,), {"dtype": int, "shape": (3,)}),
    Case("ones_like", (C,)),
    Case("ones_like", ([X, 1],)),
    Case("linspace", (X, Y, 5)),
    Case("linspace", (X, 4, 5), {"endpoint": False}),
    Case("linspace", (0, Y, 1)),
    Case("linspace", (X, Y, 0)),
    Case("linspace", (S, np.float32(7), 4)),
    Case("linspace", (V, B, 3)),
    Case("linspace", (V, 1.0, 3), {"axis": -1}),
    Case("linspace", (X, Y, 6), {"retstep": True}),
    Case("linspace", (X, 9.9, 4), {"dtype": int}),
    Case("logspace", (X, Y, 5)),
    Case("logspace", (1.0, 2.0, 3), {"base": Y}),
    Case("geomspace", (X, Y, 5)),
    Case("geomspace", (-X, -1000.0, 4), {"endpoint": False}),
    Case("geomspace", (V * V + 1, Y, 3)),
    Case("vander", (V,)),
    Case("vander", (SMALL[0],), {"N": 3}),
    Case("vander", (V, 3), {"increasing": True}),
    Case("vander", (V, 0)),
    *[Case(name, (B, k)) for name in ("tril", "triu") for k in (0, 1, -2)],
    Case("tril", (A,)),
    Case("tril", (I > 1,)),
    Case("triu", (V,)),
    Case("triu", (I,)),
    *[Case("diag", (x, k)) for x in (V, B, E) for k in (0, 2, -1)],
    Case("diag", (V[:0],)),
    Case("diag", (B, 9)),
    Case("diagflat", (B, 1)),
    Case("diagflat", (X,)),
    Case("diagonal", (A,)),
    Case("diagonal", (A, 1, -1, 0)),
    Case("diagonal", (A, -2, 1, 2)),
    Case("trace", (A,)),
    Case("trace", (SMALL,)),
    Case("trace", (SMALL > 2,)),
    Case("trace", (C, 1), {"dtype": np.complex64}),
    Case("tril_indices_from", (B,), vmap=False),
    Case("triu_indices_from", (B, 1), vmap=False),
    Case("diag_indices_from", (SMALL,), vmap=False),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


RANGES = [
    (np.float64(2.5),),
    (X, Y),
    (1, Y, 0.5),
    (Y, X, np.float64(-0.5)),
    (np.int64(3),),
    (np.int64(2), 9, 3),
    (np.float32(0), np.float32(1), np.float32(0.25)),
]


@pytest.mark.parametrize("args", RANGES, ids=str)
def test_arange_of_known_tracers(args):
    which = [i for i, x in enumerate(args) if isinstance(x, np.generic)]

    def f(*xs):
        filled = list(args)
        for i, x in zip(which, xs, strict=True):
            filled[i] = x
        return fnp.arange(*filled)

    expected = np.arange(*args)
    result = fg.vjp(f, *[args[i] for i in which])[0]
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected)
    jitted = fg.jit(f)(*[args[i] for i in which])
    assert jitted.dtype == expected.dtype
    np.testing.assert_allclose(jitted, expected)
    with setting(reading=False), pytest.raises(fg.ConcretizationError):
        fg.jit(f)(*[args[i] for i in which])


def test_gradient_of_arange():
    start, step = fg.vjp(lambda a, h: fnp.arange(a, 10.0, h), 1.0, 2.0)[1](np.ones(5))
    assert (start, step) == (5, 10)


def test_empty_like_has_the_type():
    x = fg.jit(fnp.empty_like)(F)
    assert (x.shape, x.dtype) == (F.shape, F.dtype)


def test_weak_numbers_become_arrays_as_in_numpy():
    # A Python number in a list is a float64; alone in full() it gives the dtype.
    found = fg.vjp(lambda x: fnp.array([x, np.float32(1)]), 2.0)[0]
    assert found.dtype == np.float64
    assert fg.vjp(lambda x: fnp.stack([x, np.float32(1)]), 2.0)[0].dtype == np.float64
    assert fg.jit(lambda x: fnp.full(3, x) * np.float32(1))(2.0).dtype == np.float64


def test_types_of_tracers():
    seen = []

    def f(x, z):
        seen.extend(
            [
                fnp.result_type(x, np.float32),
                fnp.result_type(z, 1.0),
                fnp.can_cast(x, np.float32),
                fnp.iscomplexobj(z),
                fnp.iscomplexobj(x),
                fnp.isrealobj(x),
            ]
        )
        return x

    fg.jit(f)(B, C.astype(np.complex64))
    assert seen == [np.float64, np.complex64, False, True, False, True]


def test_numpys_own_take_known_lengths():
    def f(n):
        return fnp.zeros((n, 2)).sum() + fnp.eye(n)[0, 0] + n

    assert fg.vjp(f, 3)[0] == 4
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="static_argnums"):
        fg.jit(f)(3)
    assert fg.jit(f, static_argnums=0)(3) == 4
    assert [fg.jit(f)(n) for n in (3, 5)] == [4, 6]


ERRORS = [
    ("array", ([V, B],)),
    ("full", (3, V)),
    ("diag", (A,)),
    ("diag", (X,)),
    ("diagonal", (V,)),
    ("diagonal", (B, 0, 0, 0)),
    ("diagonal", (B, 0, 0, 2)),
    ("vander", (B,)),
    ("linspace", (X, Y, -1)),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_numpys(name, args):
    check_error(name, args)
