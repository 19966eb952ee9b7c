"""Shapes, axes, joining, splitting, repeating, padding: against NumPy."""

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
Z = np.float64(1.5)
E = np.zeros((0, 3))
T = B > 0

SHAPE = [
    Case("reshape", (A, (4, -1))),
    Case("reshape", (A, -1)),
    Case("reshape", (F, [6, 4]), {"order": "F"}),
    Case("reshape", (E, (3, 0))),
    Case("reshape", (Z, (1, 1))),
    Case("reshape", (I, (3, 2)), {"copy": True}),
    Case("ravel", (C,)),
    Case("ravel", (B,), {"order": "F"}),
    Case("expand_dims", (A, 0)),
    Case("expand_dims", (A, (0, -1))),
    Case("squeeze", (A[:1, :, :1],)),
    Case("squeeze", (A[:1, :, :1], -1)),
    Case("atleast_1d", (Z, V, I)),
    Case("atleast_2d", (Z, V, A)),
    Case("atleast_3d", (Z, V, B, A, A[None])),
    Case("atleast_2d", (V,)),
    Case("transpose", (A,)),
    Case("transpose", (F, (1, -1, 0))),
    Case("permute_dims", (A, [2, 0, 1])),
    Case("matrix_transpose", (A,)),
    Case("moveaxis", (A, 0, -1)),
    Case("moveaxis", (A, (0, 1), (-1, 0))),
    Case("swapaxes", (A, 0, -1)),
    Case("rollaxis", (A, 2)),
    Case("rollaxis", (A, 0, 3)),
    Case("rollaxis", (A, -1, -2)),
    Case("broadcast_to", (V, (2, 3, 4))),
    Case("broadcast_to", (B[:, :1], (2, 3, 4))),
    Case("broadcast_to", (Z, (2,))),
    Case("broadcast_arrays", (V, B[:, :1], Z)),
    Case("meshgrid", (V, I[0], Z)),
    Case("meshgrid", (V, B[1]), {"indexing": "ij"}),
    Case("meshgrid", (V, B[1]), {"sparse": True}),
    Case("flip", (A,)),
    Case("flip", (A, (0, -1))),
    Case("fliplr", (I,)),
    Case("flipud", (V,)),
    *[Case("rot90", (B, k)) for k in (-1, 0, 1, 2)],
    Case("rot90", (A,), {"axes": (2, 1)}),
    Case("roll", (A, 5)),
    Case("roll", (A, -1, 1)),
    Case("roll", (A, (1, 2), (0, -1))),
    Case("roll", (A, (1, 2), (0, 0))),
    Case("roll", (E, 1)),
    Case("copy", (T,)),
    Case("astype", (B, np.float32)),
    Case("astype", (I, np.float64)),
    Case("astype", (B, np.int8)),
    Case("astype", (T, complex)),
]
JOINING = [
    Case("concatenate", ([A, A + 1],)),
    Case("concatenate", ([F, A, A[:, :, :2]],), {"axis": -1}),
    Case("concatenate", ([V, I],), {"axis": None}),
    Case("concatenate", ([F[0, 0], 2.0],), {"axis": None}),
    Case("concatenate", ((A,),)),
    Case("concatenate", (A,)),
    Case("concatenate", ([V, I[0]],), {"dtype": np.float32}),
    Case("concat", ([E, B[:, :3]],)),
    Case("stack", ([B, C],), {"axis": 1}),
    Case("stack", ([Z, 1, 2.5],)),
    Case("stack", (B,), {"axis": -1}),
    Case("vstack", ([V, B],)),
    Case("hstack", ([V, Z],)),
    Case("hstack", ([B, B],)),
    Case("dstack", ([V, V],)),
    Case("column_stack", ([V, V[:, None]],)),
    Case("append", (B, Z)),
    Case("append", (B, B), {"axis": 1}),
    Case("block", ([[B, B[:, :1]], [V, Z]],)),
    Case("block", ([V, 2.0],)),
    Case("block", (V,)),
    Case("array_split", (A, 3), {"axis": 2}),
    Case("array_split", (V, [1, 9])),
    Case("split", (A, 2), {"axis": 2}),
    Case("split", (V, [1, 3])),
    Case("split", (V, (3, 1))),
    Case("hsplit", (V, 2)),
    Case("hsplit", (A, 3)),
    Case("vsplit", (B, [2])),
    Case("dsplit", (A, 2)),
    Case("tile", (B, 2)),
    Case("tile", (B, (2, 1, 3))),
    Case("tile", (Z, (2, 2))),
    Case("tile", (I, (0, 1))),
    Case("tile", (V, ())),
    Case("repeat", (B, 2)),
    Case("repeat", (B, 3), {"axis": -1}),
    Case("repeat", (B, [1, 0, 2]), {"axis": 0}),
    Case("repeat", (np.arange(40.0), list(range(40)))),
    Case("repeat", (Z, 3)),
    Case("resize", (B, (3, 7))),
    Case("resize", (B, 2)),
    Case("resize", (E, (2,))),
    Case("delete", (B, 1)),
    Case("delete", (B, [0, -1]), {"axis": 1}),
    Case("delete", (B, slice(None, None, 2)), {"axis": 0}),
    Case("delete", (V, [True, False, True, False])),
    Case("insert", (V, 1, Z)),
    Case("insert", (B, 1, V), {"axis": 0}),
    Case("insert", (B, [1, 1, -1], B[:, :3]), {"axis": 1}),
    Case("insert", (B, 2, A[0, :, :1].T), {"axis": 1}),
    Case("insert", (I, slice(0, 2), 9)),
    Case("insert", (V, [1], [5.0, 6.0])),
    Case("insert", (V, I[0], V[:3])),
    Case("insert", (B, np.array([0, -1, 0]), B[:, :3], 1)),
    Case("insert", (B, np.int64(-2), V, 0)),
    Case("insert", (B, np.array([1]), 7.0, 1)),
    Case("delete", (B, np.int64(-1), 1)),
    Case("delete", (V, np.int32(2))),
    Case("pad", (B, 1)),
    Case("pad", (B, ((1, 2), (0, 3))), {"constant_values": ((1, 2), (3, 4))}),
    Case("pad", (V, (1, 2)), {"constant_values": Z}),
    Case("pad", (I, (1, 2)), {"constant_values": 7}),
    *[
        Case("pad", (B, ((2, 5), (0, 7))), {"mode": mode})
        for mode in ("edge", "reflect", "symmetric", "wrap")
    ],
    Case("pad", (np.arange(3.0), 40), {"mode": "reflect"}),
    Case("pad", (E, ((0, 0), (1, 1))), {"mode": "edge"}),
]


@pytest.mark.parametrize("case", SHAPE + JOINING, ids=str)
def test_as_numpy(case):
    case.check()


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy has unstack since 2.1")
@pytest.mark.parametrize(
    "case", [Case("unstack", (B,)), Case("unstack", (A,), {"axis": -1})], ids=str
)
def test_unstack(case):
    case.check()


def test_pad_by_axis():
    x = fg.jit(lambda x: fnp.pad(x, {-1: (1, 2)}))(B)
    np.testing.assert_array_equal(x, np.pad(B, ((0, 0), (1, 2))))


def test_shape_ndim_size_are_python_numbers():
    seen = []

    def f(x):
        seen.append((fnp.shape(x), fnp.ndim(x), fnp.size(x), fnp.size(x, -1), fnp.size(x, (0, 1))))
        seen.append((np.shape(x), np.ndim(x), np.size(x), np.size(x, -1), np.size(x, (0, 1))))
        seen.append((fnp.shape([x, x]), fnp.ndim([x, x])))
        return x

    fg.jit(f)(A)
    assert seen == [((2, 3, 4), 3, 24, 4, 6)] * 2 + [((2, 2, 3, 4), 4)]
    assert type(seen[0][2]) is int


def test_known_tracers_are_lengths_and_axes():
    def f(x, n):
        return fnp.sum(fnp.reshape(x, (n, -1))[n - 1] * fnp.roll(x, n, 0)[0, 0, 0])

    expected = np.sum(A.reshape(2, -1)[1] * np.roll(A, 2, 0)[0, 0, 0])
    np.testing.assert_allclose(fg.value_and_grad(f)(A, 2)[0], expected)
    assert fg.vjp(lambda n: fnp.reshape(A, (n, -1)), np.int64(6))[0].shape == (6, 4)
    np.testing.assert_allclose(fg.jit(f)(A, 2), expected)
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="static_argnums"):
        fg.jit(f)(A, 2)


ERRORS = [
    ("reshape", (B, (5, 5))),
    ("reshape", (B, (5, -1))),
    ("reshape", (V, (3,))),
    ("reshape", (B, (-1, -1))),
    ("reshape", (B, (2.5, 2))),
    ("expand_dims", (B, 3)),
    ("expand_dims", (B, (0, 0))),
    ("squeeze", (B, 1)),
    ("squeeze", (B, 2)),
    ("transpose", (B, (0,))),
    ("transpose", (B, (0, 0))),
    ("transpose", (B, (0, 2))),
    ("moveaxis", (B, 0, 2)),
    ("moveaxis", (B, 2, 0)),
    ("moveaxis", (B, (0, 1), 0)),
    ("swapaxes", (B, 0, 2)),
    ("rollaxis", (B, 0, 3)),
    ("broadcast_to", (B, (4,))),
    ("broadcast_to", (B, (2, 3, 5))),
    ("broadcast_arrays", (B, I)),
    ("flip", (B, 2)),
    ("fliplr", (V,)),
    ("flipud", (Z,)),
    ("rot90", (V,)),
    ("rot90", (B, 1, (0, 2))),
    ("roll", (B, (1, 2, 3), (0, 1))),
    ("concatenate", ([B, V],)),
    ("concatenate", ([B, Z],)),
    ("concatenate", ([B, B[:, :2]],)),
    ("concatenate", ([B, B], 2)),
    ("stack", ([B, V],)),
    ("stack", ([B, B], 3)),
    ("split", (B, 2)),
    ("hsplit", (Z, 1)),
    ("dsplit", (B, 1)),
    ("array_split", (B, 0)),
    ("tile", (B, -1)),
    ("repeat", (V, -1)),
    ("repeat", (V, [1, 2])),
    ("delete", (V, 9)),
    ("insert", (V, 9, 1.0)),
    ("pad", (V, -1)),
    ("pad", (V, 1, "nothing")),
    ("pad", (B, ((1, 1), (1, 1), (1, 1)))),
    ("pad", (E, 1, "edge")),
    ("matrix_transpose", (V,)),
    ("meshgrid", (V, V)),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_numpys(name, args):
    check_error(name, args, {"indexing": "xx"} if name == "meshgrid" else {})


def test_out_is_refused():
    with pytest.raises(TypeError, match="cannot be written into `out`"):
        fg.jit(lambda x: fnp.concatenate([x, x], out=np.zeros(8)))(V)


def test_roll_by_a_few_places_is_one_equation_along_all_axes():
    expr = fg.make_expr(lambda x: fnp.roll(x, (1, -2, 4), (0, 1, 1)))(A)
    assert [e.primitive.name for e in expr.equations] == ["roll"]


def test_roll_by_many_places_is_by_slices_which_may_start_elsewhere():
    x = np.arange(60.0)
    for by in (-100, -30, -9, -8, 8, 9, 30, 51, 52, 59, 61):
        np.testing.assert_array_equal(fg.jit(lambda x, by=by: fnp.roll(x, by))(x), np.roll(x, by))


def test_a_copy_is_another_tracer():
    def f(x):
        for copy in (
            fnp.copy(x),
            fnp.array(x),
            fnp.roll(x, 0),
            fnp.tile(x, 1),
            fnp.astype(x, float),
        ):
            assert copy is not x
        return x

    fg.jit(f)(V)


@pytest.mark.parametrize(
    ("shift", "axis"),
    [
        (2, None),
        (-5, None),
        (1, 0),
        (7, 1),
        ((1, 2), (0, 1)),
        ((1, 2), 1),
        ([3], (0, 1)),
        (2, (0, 0)),
    ],
)
def test_roll_by_what_is_not_known(shift, axis):
    x, weights = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4) ** 2
    given = fg.tree.map(np.asarray, shift)
    rolled = lambda x, shift: fnp.roll(x, shift, axis)
    expected = np.roll(x, shift, axis)
    np.testing.assert_array_equal(fg.jit(rolled)(x, given), expected)
    gradient = fg.grad(lambda x, shift: (rolled(x, shift) * weights).sum())
    back = np.roll(weights, fg.tree.map(np.negative, shift), axis)
    np.testing.assert_array_equal(gradient(x, given), back)
    np.testing.assert_array_equal(fg.jit(gradient)(x, given), back)


def test_roll_by_another_number_for_each_row():
    x, shifts = np.arange(12.0).reshape(3, 4), np.array([0, 5, -1])
    expected = [np.roll(row, k) for row, k in zip(x, shifts, strict=True)]
    np.testing.assert_array_equal(fg.vmap(fnp.roll)(x, shifts), expected)
    assert fg.jit(fnp.roll)(np.zeros((0, 3)), np.array(2)).shape == (0, 3)
    with pytest.raises(TypeError, match="integers"):
        fg.jit(fnp.roll)(x, 2.5)
