"""Joining by indexing, indices of several axes, bits, sliding windows, conversions: against NumPy."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from tests.numpy.checker import Case, check_error, check_function

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B = A[0]
V = B[0]
F = V.astype(np.float32)
Z = V + 1j * V[::-1]
X = np.float64(1.5)
I = np.array([[3, 1, 1], [2, 0, 3]])
T = B > 0
BYTES = np.arange(250, 256, dtype=np.uint8).reshape(2, 3)
KNOWN = {"jit": False, "vmap": False}

CASES = [
    Case("ix_", (I[0], [0, 2])),
    Case("ix_", (V, I[0])),
    Case("ix_", (np.zeros(0), I[0])),
    Case("ix_", (T[0], I[0]), **KNOWN),
    *[Case("ravel_multi_index", ((I[0], I[1]), (4, 4)), {"order": order}) for order in "CF"],
    Case("ravel_multi_index", (I, (4, 4))),
    Case("ravel_multi_index", (tuple(I * 3 - 4), (4, 5)), {"mode": "wrap"}),
    Case("ravel_multi_index", (tuple(I * 3 - 4), (4, 5)), {"mode": ("clip", "wrap")}),
    Case("ravel_multi_index", ((np.int64(1), 2), (3, 4))),
    *[Case("unravel_index", (I, (2, 3)), {"order": order}) for order in "CF"],
    Case("unravel_index", (np.int32(3), 4)),
    *[Case("packbits", (x,)) for x in (T, I, I[:, :0], np.arange(16) % 3)],
    Case("packbits", (T,), {"axis": 0}),
    Case("packbits", (T,), {"axis": -1, "bitorder": "little"}),
    Case("unpackbits", (BYTES,)),
    Case("unpackbits", (BYTES,), {"axis": 1}),
    Case("unpackbits", (BYTES,), {"axis": 0, "bitorder": "little"}),
    *[Case("unpackbits", (BYTES,), {"axis": 1, "count": n}) for n in (5, 30, -3, 0)],
    Case("real_if_close", (V,)),
    Case("real_if_close", (Z,), **KNOWN),
    Case("real_if_close", (V + 1e-15j,), diff_argnums=(), **KNOWN),
    Case("asarray_chkfinite", (V,)),
    Case("asarray_chkfinite", (I,), {"dtype": float}),
    Case("asarray_chkfinite", ([X, 1.0],), **KNOWN),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


JOINED = {
    "arrays": lambda r, x, y: r[x, y, x],
    "numbers": lambda r, x, y: r[1, x, 2.5],
    "slices": lambda r, x, y: r[0:3, x, -1:1:4j],
    "alone": lambda r, x, y: r[x],
    "along the last axis": lambda r, x, y: r["-1", x[None], y[None]],
    "with more axes": lambda r, x, y: r["0,2", x, y],
    "columns": lambda r, x, y: r["1,2,0", x, y],
    "in the middle": lambda r, x, y: r["0,3,1", x, y],
}


@pytest.mark.parametrize("how", JOINED)
@pytest.mark.parametrize("name", ["r_", "c_"])
@pytest.mark.parametrize(("x", "y"), [(V, V * 2), (F, V), (I[0], I[1]), (F[:3], I[0])])
def test_joining_by_indexing(name, how, x, y):
    try:
        JOINED[how](getattr(np, name), x, y)
    except ValueError:  # numbers do not go beside columns
        with pytest.raises(ValueError):  # noqa: PT011
            fg.jit(lambda *xs: JOINED[how](getattr(fnp, name), *xs))(x, y)
        return
    ours, numpys = (lambda *xs, of=of: JOINED[how](getattr(of, name), *xs) for of in (fnp, np))
    check_function(ours, numpys, (x, y))


def test_joining_with_traced_bounds():
    values, pullback = fg.vjp(lambda x: fnp.r_[x:4.0, 0:x:3j], 2.0)
    np.testing.assert_array_equal(values, np.r_[2.0:4.0, 0:2.0:3j])
    assert pullback(np.ones(5))[0] == 2 + 0 + 0.5 + 1
    with pytest.raises(ValueError, match=r"makes a numpy.matrix"):
        fg.jit(lambda x: fnp.r_["r", x])(V)
    with pytest.raises(ValueError, match="unknown special directive"):
        fg.jit(lambda x: fnp.r_["row", x])(V)
    with pytest.raises(ValueError, match="must be the first entry"):
        fg.jit(lambda x: fnp.r_[x, "0"])(V)


WINDOWS = [
    ((A, 2), {"axis": 1}),
    ((A, (2, 3)), {"axis": (0, 2)}),
    ((A, (1, 2)), {"axis": (1, 1)}),
    ((V, 3), {}),
    ((B, (2, 2)), {}),
    ((I, (2, 0)), {}),
]


@pytest.mark.parametrize(("args", "kwargs"), WINDOWS)
def test_sliding_windows(args, kwargs):
    check_function(sliding_window_view, sliding_window_view, args, kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs"), [((V, 9), {}), ((B, 2), {}), ((V, (1, 1)), {"axis": 0})]
)
def test_sliding_windows_must_fit(args, kwargs):
    with pytest.raises(ValueError) as expected:  # noqa: PT011
        sliding_window_view(*args, **kwargs)
    with pytest.raises(ValueError, match=str(expected.value).split(",")[0][:30]):
        fg.jit(lambda x: sliding_window_view(x, *args[1:], **kwargs))(args[0])


def test_ndenumerate_and_ndindex():
    def f(x):
        total = 0.0
        for (i, j), element in fnp.ndenumerate(x):
            total = total + i * j * element
        for index in fnp.ndindex(*x.shape):
            total = total + x[index]
        return total

    np.testing.assert_array_equal(fg.grad(f)(B), np.outer(range(3), range(4)) + 1.0)
    assert list(fnp.ndenumerate(np.arange(2))) == [((0,), 0), ((1,), 1)]


def test_what_depends_on_values_needs_them():
    with setting(reading=False):
        with pytest.raises(fg.ConcretizationError, match=r"Write fungrad.numpy.real\(x\)"):
            fg.jit(fnp.real_if_close)(Z)
        with pytest.raises(fg.ConcretizationError, match="asarray_chkfinite depends on values"):
            fg.jit(fnp.asarray_chkfinite)(V)
    for z in (Z, Z.real + 0j):
        found = fg.jit(fnp.real_if_close)(z)
        assert found.dtype == np.real_if_close(z).dtype
        np.testing.assert_array_equal(found, np.real_if_close(z))
    checked = fg.jit(fnp.asarray_chkfinite)
    np.testing.assert_array_equal(checked(V), V)
    with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
        checked(V * np.inf)
    with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
        fg.vjp(fnp.asarray_chkfinite, np.array([np.nan]))


def test_common_type():
    seen = []
    fg.jit(lambda *xs: seen.append(fnp.common_type(*xs)) or xs[0])(F, Z)
    assert seen == [np.complex128]
    with pytest.raises(TypeError, match="can't get common type for non-numeric array"):
        fg.jit(fnp.common_type)(T)


def test_text():
    texts = []

    def f(x):
        texts.append([fnp.array_repr(x), fnp.array_str(x), fnp.array2string(x, precision=2)])
        return x

    fg.vjp(f, V)
    assert texts.pop() == [np.array_repr(V), np.array_str(V), np.array2string(V, precision=2)]
    fg.jit(f)(V)
    assert texts.pop() == ["Tracer<float64[4]>"] * 3


ERRORS = [
    ("ix_", (B,)),
    ("ravel_multi_index", ((I[0], I[1]), (4, 4, 4))),
    ("ravel_multi_index", ((V, V), (4, 4))),
    ("ravel_multi_index", ((I[0], I[1]), (4, 4), "other")),
    ("unravel_index", (V, (2, 2))),
    ("unravel_index", (I, (2, 3), "K")),
    ("packbits", (V,)),
    ("packbits", (T, 2)),
    ("packbits", (T, None, "other")),
    ("unpackbits", (I,)),
    ("unpackbits", (BYTES, None, -99)),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_numpys(name, args):
    check_error(name, args)


def test_known_indices_are_checked():
    with pytest.raises(ValueError, match="index 6 is out of bounds for array with size 6"):
        fg.vjp(lambda i: fnp.unravel_index(i, (2, 3)), np.array([0, 6]))
    with pytest.raises(ValueError, match="invalid entry in coordinates array"):
        fg.vjp(lambda i: fnp.ravel_multi_index((i, i), (2, 3)), np.array([0, 2]))
