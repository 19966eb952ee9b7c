"""Slices, reversed and transposed arrays, and arrays that are put together, as what kernels read."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.kernels.access import Access, inside
from fungrad.compile.kernels.fuse import fuse
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.kernel import Kernel, Output
from fungrad.compile.kernels.operations import BOOL, Node
from fungrad.compile.kernels.reads import after, parts, straight, through
from fungrad.compile.kernels.views import DEEPEST, Views
from fungrad.compile.pipeline import simplify
from fungrad.compile.targets import host_kernels
from fungrad.core.config import compilation
from fungrad.core.errors import ExprError
from fungrad.core.evaluate import evaluate
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.shaping import Broadcast, Permute, Reshape
from fungrad.primitives.slices import Pad, Reverse, Slice
from tests.compile import random_kernels as rk
from tests.compile.compiling import compare, needs_compiler

F8 = np.dtype("f8")
X = np.random.default_rng(0).normal(size=(23, 37))

VIEWS = [
    Broadcast((4, 5, 3, 6), (0, 2)),
    Slice((1, 0), (5, 6), (1, 2)),
    Slice((4, 3), (5, 6), (3, 1), (0,)),
    Slice((2, 0), (3, 6), (1, 1)),
    Permute((1, 0)),
    Reverse((1,)),
    Reverse((0, 1)),
    Reshape((5, 1, 6)),
    Reshape((1, 5, 6, 1)),
]


@pytest.mark.parametrize("primitive", VIEWS, ids=str)
def test_where_the_elements_of_views_lie(primitive):
    x = np.arange(30.0).reshape(5, 6)
    expected = primitive.impl(np, x)
    lines = through(primitive, type_of(x))
    access = Access(
        type_of(x), tuple(n.axis for n in lines), None,
        tuple(n.start for n in lines), tuple(n.step for n in lines),
    )  # fmt: skip
    assert access.fits(expected.shape)
    found = np.broadcast_to(access.of(x, expected.shape), expected.shape)
    np.testing.assert_array_equal(found, expected)


def test_views_of_views():
    x = np.arange(120.0).reshape(4, 5, 6)
    lines, found = straight(2), x
    views = [Slice((1, 4, 0), (4, 5, 6), (2, 1, 1), (1,)), Reverse((1,)), Permute((1, 0))]
    types = []
    for view in views:
        types.append(type_of(found))
        found = view.impl(np, found)
    for view, type_ in zip(reversed(views), reversed(types), strict=True):
        lines = after(lines, through(view, type_))
    i, j = np.indices(found.shape)
    places = [n.start + n.step * ((i, j)[n.axis] if n.axis is not None else 0) for n in lines]
    np.testing.assert_array_equal(x[tuple(places)], found)


def test_other_reshapes_are_not_read_through():
    assert through(Reshape((6, 5)), ArrayType((5, 6), F8)) is None
    assert through(Reshape((30,)), ArrayType((5, 6), F8)) is None


JOINS = [
    (Pad((1, 0), (2, 3), (0, 0)), [(5, 6), ()]),
    (Pad((-1, 2), (2, -3), (0, 0)), [(5, 6), ()]),
    (Pad((2, 1), (1, 0), (0, 0), (0,)), [(6,), ()]),
    (Concatenate(1), [(5, 6), (5, 0), (5, 1), (5, 4)]),
    (Stack(1), [(5, 6), (5, 6)]),
    (Roll((2,), (1,)), [(5, 6)]),
    (Roll((-6,), (1,)), [(5, 6)]),
    (Roll((-1,), (0,)), [(5, 6)]),
    (UpdateSlice((1, 2), (4, 6), (1, 1)), [(5, 6), (3, 4)]),
    (UpdateSlice((1, 2), (4, 3), (1, 4), "add", (1,)), [(5, 6), (3,)]),
]


@pytest.mark.parametrize(("primitive", "shapes"), JOINS, ids=str)
def test_what_arrays_are_put_together_of(primitive, shapes):
    rng = np.random.default_rng(1)
    operands = [rng.normal(size=shape) for shape in shapes]
    expected = primitive.impl(np, *operands)
    shape = expected.shape
    *first, last = parts(primitive, [type_of(x) for x in operands], shape)

    def read(part):
        lines = part.lines
        access = Access(
            type_of(operands[part.operand]), tuple(n.axis for n in lines), None,
            tuple(n.start for n in lines), tuple(n.step for n in lines), part.box,
        )  # fmt: skip
        assert access.fits(shape)
        return access.of(operands[part.operand], shape)

    found = read(last)
    for part in reversed(first):
        value = found + read(part) if part.added else read(part)
        found = np.where(inside(part.box, shape), value, found)
    np.testing.assert_array_equal(np.broadcast_to(found, shape), expected)


@pytest.mark.parametrize(
    ("primitive", "shapes"),
    [
        (Pad((1, 0), (2, 3), (1, 0)), [(5, 6), ()]),
        (Pad((0, 0), (0, 3), (0, 0)), [(5, 6), (5,)]),
        (Pad((-5, 0), (2, 0), (0, 0)), [(5, 6), ()]),
        (Roll((1, 1), (0, 1)), [(5, 6)]),
        (UpdateSlice((0, 1), (5, 6), (1, 2)), [(5, 6), (5, 3)]),
    ],
    ids=str,
)
def test_what_is_left_to_numpy(primitive, shapes):
    types = [ArrayType(shape, F8) for shape in shapes]
    assert parts(primitive, types, primitive.abstract_eval(*types).shape) is None


# Accesses


@pytest.mark.parametrize(
    "access",
    [
        Access(ArrayType((4, 5), F8), (0, 0)),
        Access(ArrayType((4, 5), F8), (1, 0)),
        Access(ArrayType((4, 5), F8), (0,)),
        Access(ArrayType((4, 5), F8), (0, 2)),
        Access(ArrayType((4, 5), F8), (0, 1), None, (0, 1), (1, 1)),
        Access(ArrayType((4, 5), F8), (0, 1), None, (0, 0), (1, -1)),
        Access(ArrayType((4, 5), F8), (0, 1), None, (0, 1), (1, 1), ((1, 0, 5),)),
        Access(ArrayType((4, 5), F8), (0, 1), None, None, None, ((1, 3, 6),)),
        Access(ArrayType((4, 5), F8), (0, 1), None, None, None, ((1, 3, 3),)),
        Access(ArrayType((4, 5), F8), (0, 1), None, None, None, ((1, 0, 2), (0, 0, 2))),
        Access(ArrayType((4, 5), F8), (0, None), None, (0, 5), (1, 1)),
    ],
    ids=str,
)
def test_reads_beside_an_array_are_refused(access):
    nodes = (Node("load", F8, value=0),)
    kernel = Kernel((4, 5), 0, (access,), nodes, (Output(0, ArrayType((4, 5), F8), True),))
    with pytest.raises(ExprError, match="does not lie in"):
        kernel.check()


def test_boxes_beside_the_index_space_are_refused():
    nodes = (Node("inside", BOOL, value=((0, 0, 5),)),)
    kernel = Kernel((4,), 0, (), nodes, (Output(0, ArrayType((4,), BOOL), True),))
    with pytest.raises(ExprError, match="no part of"):
        kernel.check()


def test_reads_are_shown():
    expr = simplify(fg.make_expr(lambda x: fnp.roll(x[1:, ::-1], 3, 1) * 2 + 1)(X))
    (kernel,) = [k.kernel for k in fuse(expr)[1]]
    assert "along [0, 1] from [1, 39] by [1, -1] 3 <= i1 < 37" in str(kernel)
    assert "= inside 3 <= i1 < 37    elements" in str(kernel)


# Programs


def sigmoid(x):
    return 1 / (1 + fnp.exp(-x))


def gates(z):
    i, f, g, o = fnp.split(z, 4, -1)
    c = sigmoid(f) * 2 + sigmoid(i) * fnp.tanh(g)
    return c, sigmoid(o) * fnp.tanh(c)


def rotated(x):
    a, b = x[:, :160], x[:, 160:]
    return fnp.sin(fnp.concatenate([a * 2 - b * 3, a * 3 + b * 2], -1)) * 2


def stencil(u):
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return around - 4 * u[1:-1, 1:-1]


def heat(u):
    return u.at[1:-1, 1:-1].add(0.1 * stencil(u)) * 1.5


def rolled(u):
    return u + fnp.roll(u, 1, 0) + fnp.roll(u, -1, 1) * 2 + fnp.roll(u, 200, 1)


def _tuple(x):
    return x if isinstance(x, tuple) else (x,)


PROGRAMS = {
    "differences": (lambda x: abs(x[:, 1:] - x[:, :-1]), 1),
    "differences of rows": (lambda x: abs(x[1:] - x[:-1]) * 2, 1),
    "every other": (lambda x: x[:, ::2] * 2 - x[:, 1::2], 1),
    "every third backwards": (lambda x: x[::-1, 317:2:-3] * 2 + x[3, 5:320:3], 1),
    "far apart": (lambda x: x[::5, ::8] * 2 + x[::5, 1::8], 1),
    "an element": (lambda x: x[0, 0] * x - x[-1, -1], 1),
    "rows and columns": (lambda x: x[3] * x + x[:, 4:5], 1),
    "a transposed array": (lambda x: (x[:32, :32].T * 2 + x[:32, :32]) @ x[:32], 2),  # and a product
    "sums of slices": (lambda x: fnp.sum(x[:, 3:], 1) + fnp.max(x[:, 3:], 1), 1),
    "stencil": (stencil, 1),
    "heat": (heat, 2),
    "rolled": (rolled, 1),
    "gates": (gates, 1),
    "rotated": (rotated, 2),
    "padded": (lambda x: fnp.sin(fnp.pad(x, ((1, 2), (3, 0)), constant_values=2.0)) * x[0, 0], 1),
    "stacked": (lambda x: fnp.sin(fnp.stack([x, x * 2], 1)) * 2, 2),
    "a sum of padded": (lambda x: fnp.sum(fnp.pad(x, ((0, 0), (5, 9))) ** 2 + 1, 1), 1),
    "a sum of joined": (lambda x: fnp.sum(fnp.concatenate([x, x[:, :9]], 1) ** 2 + 1, 1), 1),
    "set": (lambda x: fnp.exp(x.at[2:, 100:].set(x[2:, 100:] * 2)) + 1, 2),
    "joined rows": (lambda x: fnp.exp(fnp.concatenate([x[5:], x[:5] * 2])) + 1, 2),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("layout", [*rk.LAYOUTS])
@pytest.mark.parametrize("name", [*PROGRAMS])
def test_programs(name, layout):
    f, most = PROGRAMS[name]
    for dtype, shape in (("f4", (97, 320)), ("f8", (33, 320))):
        x = rk.LAYOUTS[layout](np.random.default_rng(2).normal(size=shape).astype(dtype))
        kernels = fg.jit(lambda x: f(fnp.asarray(x))).lower(x).kernels
        assert 1 <= len(kernels) <= most
        compare(lambda x: f(fnp.asarray(x)), [x], 8)
        if layout == "C" and dtype == "f4":
            compare(fg.grad(lambda x: sum(fnp.sum(y**2) for y in _tuple(f(x)))), [x], 32)


@needs_compiler
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8"])
def test_dtypes(dtype):
    x = rk.data(np.random.default_rng(3), (130, 1031), np.dtype(dtype))

    def f(x):
        y = fnp.roll(x, 3, 1)[:, ::-1] & fnp.concatenate([x[:, 500:], x[:, :500]], 1)
        return y | fnp.pad(x[1:, 1:], ((1, 0), (0, 1))), fnp.arange(2062)[::-2] + x[:, 0, None]

    compare(f, [x], 0)


def test_a_small_slice_is_updated_in_place():
    """To write a few elements is not to copy all others."""
    expr = simplify(fg.make_expr(lambda x: fnp.sin(x.at[2:4].set(x[2:4] * 2 + 1)) * 2)(X))
    found, _ = fuse(expr)
    assert "update_slice" in [e.primitive.name for e in found.equations]


def test_joins_alone_are_numpys():
    expr = simplify(fg.make_expr(lambda x: fnp.concatenate([x, x[:3]]) @ x.T)(X))
    assert not fuse(expr)[1]


def test_many_pieces_are_not_one_loop():
    x = np.linspace(0, 1, 400)
    parts_ = [x[20 * k : 20 * k + 20] for k in range(20)]
    expr = simplify(fg.make_expr(lambda *xs: fnp.sin(fnp.concatenate(xs)) * 2)(*parts_))
    found, _ = fuse(expr)
    assert "concatenate" in [e.primitive.name for e in found.equations]


def test_an_array_is_given_once():
    expr = simplify(fg.make_expr(lambda x: stencil(x) * 2)(X))
    found, (kernel,) = fuse(expr)
    assert [len(e.inputs) for e in found.equations if isinstance(e.primitive, Fused)] == [1]
    assert len(kernel.kernel.operands) == 5
    np.testing.assert_array_equal(evaluate(found, [X]), evaluate(expr, [X]))


@pytest.mark.parametrize(("rows", "apart"), [(1, 3), (100, 1)])
def test_what_is_read_often_lies_side_by_side(rows, apart):
    """Elements some steps apart are read once where they are; before they are read for each row they are put in order."""
    x, y = np.linspace(0, 1, 300).reshape(100, 3), np.linspace(1, 2, rows)
    expr = simplify(fg.make_expr(lambda x, y: (x[:, 1] * y[:, None] + 1) * 2)(x, y))
    found, (kernel,) = fuse(expr)
    lines = [line for access in kernel.kernel.operands for line in access.lines]
    last = len(kernel.kernel.space) - 1
    assert {step * n for axis, _, step, n in lines if axis == last} == {apart}
    np.testing.assert_array_equal(evaluate(found, [x, y]), evaluate(expr, [x, y]))


def test_views_of_many_views():
    """However long a chain of views is, few of them are looked through at once."""

    def f(x):
        for _ in range(40):
            x = x.T[::-1, ::-1][:, 1:]
        return fnp.sin(x) * 2

    x = np.random.default_rng(7).normal(size=(60, 70))
    expr = simplify(fg.make_expr(f)(x))
    views = Views(expr, False)
    for equation in expr.equations:
        views.take(equation)
    depths = [len(views.path(v, straight(2))) for e in expr.equations for v in e.outputs]
    assert 8 < max(depths) <= DEEPEST + 1
    np.testing.assert_array_equal(evaluate(fuse(expr)[0], [x]), evaluate(expr, [x]))


@needs_compiler
@pytest.mark.parametrize("n", [3, 400])
@pytest.mark.parametrize("join", ["concatenate", "stack", "roll"])
def test_what_is_joined_of_broadcasts_lies_as_it_does(n, join):
    def f(x):
        v = fnp.broadcast_to(2 * x - 1, (400, n))
        return (fnp.roll(v, 1, 1) if join == "roll" else getattr(fnp, join)([v, v], -1)) * 2 + 1

    strides = []
    for mode in ("off", "eager"):
        token = compilation.set(mode)
        try:
            g = fg.jit(lambda x: f(x))
            strides.append([g(np.arange(float(n))).strides for _ in range(2)])
        finally:
            compilation.reset(token)
    assert strides[0] == strides[1]


@needs_compiler
def test_pieces_of_blocks_on_threads(monkeypatch):
    from fungrad.compile.emit import llvm_threads

    monkeypatch.setattr(llvm_threads, "PART", 1)
    x = np.random.default_rng(4).normal(size=100_003)
    for f in (lambda x: fnp.roll(x, 7) * 2 + x, lambda x: fnp.pad(x[5:], (3, 1)) * 2 + 1):
        results = []
        for number in ("1", "3"):
            monkeypatch.setenv("FUNGRAD_NUM_THREADS", number)
            (kernel,) = [k.kernel for k in fuse(simplify(fg.make_expr(f)(x)))[1]]
            (compiled,) = host_kernels.compile_kernels([kernel])
            results.append(compiled(*[x] * len(kernel.operand_types)))
        np.testing.assert_array_equal(*results)
        np.testing.assert_array_equal(results[0], f(x))


# Index arrays

LABELS = np.random.default_rng(5).integers(-12, 12, 1500)


def log_softmax(z):
    z = z - fnp.max(z, -1, keepdims=True)
    return z - fnp.log(fnp.sum(fnp.exp(z), -1, keepdims=True))


PICKS = {
    "rows": lambda x, i: fnp.exp(x[i % 50]) * 2,
    "elements": lambda x, i: fnp.exp(x[i % 50, i]) * 2,
    "elements of each row": lambda x, i: fnp.exp(x[fnp.arange(1500), i]) * 2,
    "along the last axis": lambda x, i: fnp.exp(fnp.take_along_axis(x, i[:, None], -1)) * 2,
    "of a slice": lambda x, i: fnp.exp(x[5:, ::-1][i % 50, 3:]) * 2,
    "of a reversed array": lambda x, i: fnp.exp(x[::-1][i % 50 - 50]) + x[0, 0],
    "two at once": lambda x, i: x[i % 7] * x[i % 9] + x[3],
    "of one index per row": lambda x, i: fnp.sum(x[i % 50] * x, -1) * 2,
    "one hot": lambda x, i: fnp.zeros_like(x).at[fnp.arange(1500), i].add(x[:, 0]) * 2 + x,
    "set in each row": lambda x, i: (x * 2).at[fnp.arange(1500), i].set(x[:, 1] * 3) + 1,
    "set in each column": lambda x, i: (x * 2).at[i[:12] % 1500, fnp.arange(12)].set(1.5) + 1,
    "cross entropy": lambda x, i: fg.grad(lambda z: -fnp.mean(log_softmax(z)[fnp.arange(1500), i]))(
        x
    ),
}


def names(f, *args):
    found, _ = fuse(simplify(fg.make_expr(f)(*args)))
    return [e.primitive.name for e in found.equations]


@needs_compiler
@pytest.mark.parametrize("layout", ["C", "Fortran", "strided", "misaligned"])
@pytest.mark.parametrize("name", [*PICKS])
def test_index_arrays(name, layout):
    f = PICKS[name]
    x = np.random.default_rng(6).normal(size=(1500, 12))
    assert {"gather", "scatter"}.isdisjoint(names(f, x, LABELS))
    for dtype in (np.float64, np.float32):
        y = rk.LAYOUTS[layout](x.astype(dtype))
        for indices in (LABELS, LABELS.astype(np.int16)[::-1]):
            compare(lambda x, i: f(fnp.asarray(x), fnp.asarray(i)), [y, indices], 8)
            compare(lambda x: f(fnp.asarray(x), fnp.asarray(indices)), [y], 8)  # noqa: B023


@needs_compiler
@pytest.mark.parametrize("bad", [12, -13, 2**40])
def test_indices_out_of_range_fail_as_they_do(bad):
    x, i = np.ones((1500, 12)), LABELS.copy()
    i[33] = bad
    for f in (PICKS["elements of each row"], PICKS["one hot"], PICKS["cross entropy"]):
        for mode in ("off", "eager"):
            token = compilation.set(mode)
            try:
                g = fg.jit(lambda x, i: f(x, i))  # noqa: B023
                g(x, LABELS)
                with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
                    g(x, i)
            finally:
                compilation.reset(token)


def test_what_of_index_arrays_stays_numpys():
    x = np.ones((4000, 30))
    few = np.array([3, 5])
    assert "gather" in names(lambda x, i: fnp.exp(x[i]) * 2, x, few)  # of a large array
    assert "gather" in names(lambda x, i: fnp.exp(x[:, i]) * 2, x, few)  # columns
    many = np.zeros(100_000, int)
    huge = np.ones(5_000_000)  # more than caches hold
    assert "gather" in names(lambda x, i: fnp.exp(x[i]) * 2, huge, many)
    assert "gather" not in names(lambda x, i: fnp.exp(x[i]) * 2, np.ones(100_000), many)
    assert "gather" in names(lambda x, i: fnp.exp(x[i]) * 2, x[:9], few.astype(np.uint64))
    assert "scatter" in names(lambda x, i: (x * 2).at[i].add(1.0) * 2, x, few)
    assert "scatter" in names(lambda x, i: x.at[fnp.arange(2), i].add(1.0) * 2, x, few)
