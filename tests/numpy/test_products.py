"""Products: against NumPy, and what they are recorded as."""

import itertools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.numpy.checker import Case, check_error

RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.normal(size=shape)


def cplx(*shape):
    return real(*shape) + 1j * real(*shape)


def single(*shape):
    return real(*shape).astype(np.float32)


def ints(*shape):
    return RNG.integers(-5, 5, shape)


def bools(*shape):
    return RNG.random(shape) < 0.5


X = np.float64(1.5)
KINDS = [real, cplx, single, ints, bools]

DOT = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((2, 5, 3), (3,)),
    ((2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
    ((2, 2, 3), (5, 3, 4)),
    ((), (2, 3)),
    ((2,), ()),
    ((), ()),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((0,), (0,)),
]
MATMUL = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (1, 3, 4)),
    ((2, 5, 2, 3), (1, 5, 3, 4)),
    ((0, 2, 3), (3, 4)),
    ((4, 2, 0), (4, 0, 3)),
]
OTHERS = [
    Case("vdot", (real(2, 3), real(6))),
    Case("vdot", (cplx(3), cplx(3))),
    Case("vdot", (X, 2.0)),
    Case("inner", (real(2, 3), real(4, 3))),
    Case("inner", (real(2, 2, 3), cplx(3))),
    Case("inner", (X, real(2, 3))),
    Case("outer", (real(2, 3), real(4))),
    Case("outer", (X, ints(3))),
    Case("tensordot", (real(2, 3, 4), real(3, 4, 5))),
    Case("tensordot", (real(2, 3), real(3, 4)), {"axes": 1}),
    Case("tensordot", (real(2, 3), real(4)), {"axes": 0}),
    Case("tensordot", (real(2, 3, 4), real(4, 3, 5)), {"axes": ((1, 2), (1, 0))}),
    Case("tensordot", (real(2, 3), real(4, 2)), {"axes": (0, -1)}),
    Case("tensordot", (cplx(2, 3), ints(2, 3)), {"axes": [[0, 1], [0, 1]]}),
    Case("kron", (real(2, 3), real(3, 1, 2))),
    Case("kron", (real(2), cplx(3))),
    Case("kron", (X, real(3))),
    Case("kron", (X, 2.0)),
    Case("kron", (ints(2, 2), ints(2, 2))),
    Case("cross", (real(3), real(3))),
    Case("cross", (real(2, 3), cplx(4, 1, 3))),
    Case("cross", (real(3, 2), real(2, 3)), {"axisa": 0, "axisc": 0}),
    Case("cross", (ints(3, 4), single(3, 4)), {"axis": 0}),
    Case("vecdot", (cplx(2, 3), cplx(3))),
    Case("vecdot", (real(4, 1, 3), real(2, 3))),
    Case("vecdot", (real(3, 2), real(3, 2)), {"axis": 0}),
]
if hasattr(np, "matvec"):
    OTHERS += [
        Case("matvec", (real(2, 3), real(5, 3))),
        Case("matvec", (cplx(4, 2, 3), real(3))),
        Case("vecmat", (real(5, 2), real(2, 3))),
        Case("vecmat", (cplx(2), cplx(4, 2, 3))),
    ]


@pytest.mark.parametrize("shapes", DOT, ids=str)
def test_dot(shapes):
    Case("dot", tuple(real(*s)[()] for s in shapes)).check()


@pytest.mark.parametrize("shapes", MATMUL, ids=str)
def test_matmul(shapes):
    Case("matmul", tuple(real(*s) for s in shapes)).check()


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_promotion(kind, other):
    for name in ("dot", "matmul", "inner", "tensordot"):
        Case(name, (kind(3, 3), other(3, 3))).check()
    Case("matmul", (kind(2, 3, 3), other(2, 3, 3))).check()


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_as_numpy(case):
    case.check()


def primitives(f, *args):
    return [e.primitive.name for e in fg.make_expr(f)(*args).equations]


@pytest.mark.parametrize("name", ["dot", "matmul"])
@pytest.mark.parametrize("shapes", MATMUL[:4], ids=str)
def test_matrix_products_are_one_equation(name, shapes):
    arrays = [real(*s) for s in shapes]
    assert primitives(getattr(fnp, name), *arrays) == ["dot_general"]
    assert primitives(getattr(np, name), *arrays) == ["dot_general"]
    assert primitives(lambda x: getattr(fnp, name)(arrays[0], x), arrays[1]) == ["dot_general"]


def test_other_products_of_one_equation():
    a, b = real(5, 2, 3), real(3, 4)
    assert primitives(fnp.matmul, a, b) == ["dot_general"]
    assert primitives(fnp.matmul, a, real(5, 3, 4)) == ["dot_general"]
    assert primitives(fnp.inner, b, b) == ["dot_general"]
    assert primitives(fnp.outer, b[0], b[0]) == ["dot_general"]
    assert primitives(lambda a, b: fnp.tensordot(a, b, 1), a, b) == ["dot_general"]
    assert primitives(lambda a, b: fnp.einsum("ij,jk", a, b), b.T, b) == ["dot_general"]
    assert primitives(lambda a, b: fnp.einsum("ij,jk->ki", a, b), b.T, b) == ["dot_general"]
    assert primitives(lambda a, b: fnp.einsum("bij,jk->bik", a, b), a, b) == ["dot_general"]


ERRORS = [
    ("dot", (real(2, 3), real(4))),
    ("dot", (real(2, 3), real(2, 3))),
    ("matmul", (real(2, 3), real(4))),
    ("matmul", (real(2, 3), X)),
    ("matmul", (X, real(2, 3))),
    ("matmul", (real(2, 3, 4), real(3, 4, 2))),
    ("inner", (real(2, 3), real(4))),
    ("vdot", (real(2, 3), real(4))),
    ("vecdot", (real(2, 3), real(4))),
    ("vecdot", (X, real(4))),
    ("tensordot", (real(2, 3), real(4, 2))),
    ("tensordot", (real(2, 3), real(3, 2), [[0], [0, 1]])),
    ("tensordot", (real(2, 2), real(2, 2), [[0, 0], [1, 1]])),
    ("cross", (real(4), real(4))),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_numpys(name, args):
    check_error(name, args)


def test_messages_of_mismatch():
    with pytest.raises(
        ValueError, match=r"shapes \(2,3\) and \(4,\) not aligned: 3 \(dim 1\) != 4"
    ):
        fg.jit(fnp.dot)(real(2, 3), real(4))
    with pytest.raises(ValueError, match="Input operand 1 has a mismatch in its core dimension 0"):
        fg.jit(fnp.matmul)(real(2, 3), real(4))


# einsum

A, B, C = real(2, 3), real(3, 4), real(4, 2)
EINSUM = [
    ("ij,jk", A, B),
    ("ij,jk->ki", A, B),
    ("ij , jk -> ik", A, B),
    ("ij,jk,kl", A, B, C),
    ("ij,jk,kl,lm->mi", A, B, C, A),
    ("ij->", A),
    ("ij->j", A),
    ("ji", A),
    ("ba", A),
    ("aB", A),
    ("ii", real(3, 3)),
    ("ii->i", real(3, 3)),
    ("iji->j", real(2, 3, 2)),
    ("iiij->ij", real(2, 2, 2, 3)),
    ("ii,ij->j", real(3, 3), B),
    ("i,j", A[0], B[0]),
    ("i,i->i", A[0], B[:, 0]),
    ("ij,ij->", A, A),
    ("ij,kj->", A, real(5, 3)),
    ("i,->i", A[0], X),
    (",", X, X),
    ("...ij,...jk->...ik", real(5, 2, 3), real(5, 3, 4)),
    ("...ij,...jk", real(6, 5, 2, 3), real(5, 3, 4)),
    ("...ij,jk", real(5, 2, 3), B),
    ("i...,i...", A, A),
    ("i...->...", A),
    ("...i->i...", real(2, 3, 4)),
    ("bhqd,bhkd->bhqk", real(2, 3, 4, 5), real(2, 3, 6, 5)),
    ("i,i", real(1), real(3)),
    ("ij,jk", A, real(1, 4)),
    ("...i,...i->...", real(2, 1, 3), real(4, 3)),
    ("ij,jk->ik", ints(2, 3), A.T),
    ("ij->i", ints(2, 3).astype(np.int8)),
    ("ij,jk", bools(2, 3), bools(3, 4)),
    ("ij->i", bools(2, 3)),
    ("ij,jk->ik", cplx(2, 3), single(3, 4)),
    ("ij,jk", real(0, 3), B),
    ("ij,jk->ik", real(2, 0), real(0, 3)),
    ("i,j,k->kji", A[0], B[0], C[0]),
    ("ab,cd,ef->", A, B, C),
    ("ij,jk,k->i", A, B, C[:, 0]),
]


@pytest.mark.parametrize("args", EINSUM, ids=lambda args: args[0])
def test_einsum(args):
    Case("einsum", args).check()


NOTHING = np.empty(0)
HARD = np.array([-1.0, np.inf, -np.inf, np.nan, -0.0])
NO_PRODUCTS = [
    ("i,j->j", (NOTHING, HARD)),
    ("j,i->j", (HARD, NOTHING)),
    ("i,j->", (NOTHING, HARD)),
    ("ij,j->j", (np.empty((0, 5)), HARD)),
    ("...i,...i->...", (NOTHING, HARD[:, None])),
    ("i,j,k->k", (NOTHING, HARD, HARD)),
    ("j,k,ij->kj", (HARD, HARD, np.empty((0, 5)))),
    ("ij,jk,k->k", (np.empty((3, 0)), np.empty((0, 5)), HARD)),
    ("ij,kl->jlk", (np.empty((0, 2)), HARD[:, None])),
]


@pytest.mark.parametrize(("subscripts", "arrays"), NO_PRODUCTS)
def test_einsum_over_an_empty_axis_is_a_sum_of_no_products(subscripts, arrays):
    """Zero, without a sign, whatever the other operands hold."""

    def f(*xs):
        return fnp.einsum(subscripts, *xs)

    expected = np.einsum(subscripts, *arrays)
    assert not expected.any()
    assert not np.signbit(expected).any()
    traced = [fg.jit(f)(*arrays), fg.vjp(f, *arrays)[0], fg.jvp(f, arrays, arrays)[0]]
    for axes in itertools.product((None, 0), repeat=len(arrays)):
        if any(axis == 0 for axis in axes):
            xs = [x if axis is None else x[None] for x, axis in zip(arrays, axes, strict=True)]
            traced.append(fg.vmap(f, in_axes=axes)(*xs)[0])
    for found in traced:
        np.testing.assert_array_equal(found, expected, strict=True)
        assert not np.signbit(found).any()
    assert not fg.jvp(f, arrays, arrays)[1].any()
    for slope in fg.vjp(f, *arrays)[1](np.full_like(expected, np.inf)):
        assert not slope.any()


@pytest.mark.parametrize(
    ("subscripts", "arrays"),
    [
        ("j...,...->j", (A, A[0])),
        ("j...,...->j", (A[:, 0], 2.0)),
        ("...->", (A,)),
        ("...i,...i", (A, A)),
        ("i...,j...->ij", (A, A)),
        ("...j,jk->k", (A, B)),
        ("j...->j", (A,)),
    ],
)
def test_einsum_sums_over_an_ellipsis_that_the_output_does_not_have(subscripts, arrays):
    expected = np.einsum(subscripts, *arrays, optimize=True)
    traced = [x for x in arrays if isinstance(x, np.ndarray)]

    def f(*xs):
        return fnp.einsum(subscripts, *xs, *arrays[len(xs) :])

    np.testing.assert_allclose(f(*traced), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(f)(*traced), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.vjp(f, *traced)[0], expected, rtol=1e-12)
    optimized = fg.jit(lambda *xs: np.einsum(subscripts, *xs, *arrays[len(xs) :], optimize=True))
    np.testing.assert_allclose(optimized(*traced), expected, rtol=1e-12)
    step = np.cos(traced[0])
    slope = fg.jvp(f, tuple(traced), (step, *map(np.zeros_like, traced[1:])))[1]
    h = 1e-6
    central = (f(traced[0] + h * step, *traced[1:]) - f(traced[0] - h * step, *traced[1:])) / (
        2 * h
    )
    np.testing.assert_allclose(slope, central, rtol=1e-6, atol=1e-6)


def test_einsum_of_lists_sums_over_an_ellipsis_too():
    labels = (A, [0, Ellipsis], A[0], [Ellipsis], [0])
    expected = np.einsum("j...,...->j", A, A[0], optimize=True)
    np.testing.assert_allclose(fnp.einsum(*labels), expected)
    found = fg.jit(lambda x, y: fnp.einsum(x, labels[1], y, labels[3], labels[4]))(A, A[0])
    np.testing.assert_allclose(found, expected)


INTERLEAVED = [
    (A, [0, 1], B, [1, 2]),
    (A, [0, 1], B, [1, 2], [2, 0]),
    (A, [30, 1], B, [1, 2]),
    (A, [Ellipsis, 1]),
    (A, [0, Ellipsis], [Ellipsis, 0]),
]


@pytest.mark.parametrize("args", INTERLEAVED, ids=lambda args: str(args[1::2]))
def test_einsum_interleaved(args):
    Case("einsum", args).check()


@pytest.mark.parametrize(
    "optimize", [True, False, "greedy", "optimal", ["einsum_path", (1, 2), (0, 1)]]
)
def test_einsum_optimize(optimize):
    Case("einsum", ("ij,jk,kl", A, B, C), {"optimize": optimize}).check()


def test_einsum_in_the_order_asked_for():
    def largest(path):
        expr = fg.make_expr(lambda *xs: fnp.einsum("ij,jk,kl", *xs, optimize=path))
        return [e.outputs for e in expr(real(2, 9), real(9, 9), real(9, 3)).equations]

    assert len(largest(["einsum_path", (0, 1), (0, 1)])) == 2
    shapes = [
        [t.shape for t in expr.types]
        for path in ([(0, 1), (0, 1)], [(1, 2), (0, 1)])
        for expr in [
            fg.make_expr(
                lambda *xs, path=path: fnp.einsum("ij,jk,kl", *xs, optimize=["einsum_path", *path])
            )(real(2, 9), real(9, 9), real(9, 3))
        ]
    ]
    assert ((2, 9) in shapes[0][3:], (9, 3) in shapes[1][3:]) == (True, True)


def test_einsum_of_many_labels():
    arrays = [real(*[2] * 5) for _ in range(11)]
    labels = [list(range(5 * i, 5 * i + 5)) for i in range(10)] + [[0, 5, 10, 15, 20]]
    operands = [z for pair in zip(arrays, labels, strict=True) for z in pair]
    result = fg.jit(
        lambda *xs: fnp.einsum(*[y for p in zip(xs, labels, strict=True) for y in p], [])
    )
    np.testing.assert_allclose(result(*arrays), np.einsum(*operands, [], optimize=True))


def test_einsum_dtype():
    Case("einsum", ("ij,jk", single(2, 3), B), {"dtype": np.float64}).check()
    with pytest.raises(TypeError, match="could not be cast"):
        fg.jit(lambda a: fnp.einsum("ij->", a, dtype=np.float32))(A)


@pytest.mark.parametrize(
    "args",
    [
        ("ij,jk", A, real(4, 2)),
        ("ii", A),
        ("i", A),
        ("ijk", A),
        ("ij,jk", A),
        ("ij", A, B),
        ("ij->ik", A),
        ("ij->ii", A),
        ("i$", A),
    ],
    ids=lambda args: args[0],
)
def test_einsum_errors_are_numpys(args):
    check_error("einsum", args)


def test_compositions():
    def f(x, y):
        z = fnp.concatenate([fnp.stack([x, y]), fnp.outer(x, y)], axis=0)
        return fnp.einsum("ij,kj->", z, fnp.pad(z, 1, "wrap")[:, 1:-1] * fnp.tril(z[2:]).trace())

    x, y = real(3), real(3)
    gradient = fg.grad(f)(x, y)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x, y), gradient)
    np.testing.assert_allclose(fg.grad(fg.jit(f))(x, y), gradient)
    np.testing.assert_allclose(fg.vmap(fg.grad(f), (None, 0))(x, np.stack([y, x]))[0], gradient)
    hessian = fg.hessian(f)(x, y)
    np.testing.assert_allclose(hessian, hessian.T)
    np.testing.assert_allclose(fg.jacfwd(fg.grad(f))(x, y), hessian)
    eps = 1e-6
    along = (fg.grad(f)(x + eps * y, y) - fg.grad(f)(x - eps * y, y)) / (2 * eps)
    np.testing.assert_allclose(hessian @ y, along, 1e-6)


def test_products_close_over_tracers_of_outer_transforms():
    a, b = real(3), real(3)

    def f(a):
        return fg.vmap(lambda row: fnp.dot(row, a) * fnp.dot(a, a))(np.eye(3))

    np.testing.assert_allclose(fg.jvp(f, (a,), (b,))[1], b * (a @ a) + 2 * a * (a @ b))


@pytest.mark.parametrize(
    ("function", "shapes", "axes"),
    [
        (np.matmul, ((2, 3, 4), (4, 2, 3)), [(0, 2), (0, 1), (0, 2)]),
        (np.matmul, ((3, 2), (3,)), [(1, 0), (0,), (0,)]),
        (np.vecdot, ((3, 2), (2, 3)), [0, 1]),
        (np.vecdot, ((3, 2), (3, 1)), [(0,), (0,), ()]),
        (getattr(np, "matvec", None), ((4, 2, 3), (4, 2)), [(2, 0), 0, -1]),
        (getattr(np, "vecmat", None), ((4, 5), (4, 2, 5)), [0, (0, 1), 1]),
    ],
)
def test_axes_of_products(function, shapes, axes):
    if function is None:
        pytest.skip("NumPy has it since 2.2")
    x, y = [np.random.default_rng(0).normal(size=shape) for shape in shapes]
    expected = function(x, y, axes=axes)
    found = fg.jit(lambda x, y: function(x, y, axes=axes))(x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="axes should be a list with an entry for"):
        fg.jit(lambda x, y: function(x, y, axes=[0]))(x, y)


def test_axes_of_einsum_come_in_the_order_that_is_asked_for():
    x = np.arange(24.0).reshape(2, 3, 4)
    for subscripts in ("ijk->kij", "ijk->jki", "ijk->ikj"):
        expected = np.einsum(subscripts, x)
        np.testing.assert_array_equal(fnp.einsum(subscripts, x), expected)
        np.testing.assert_array_equal(fg.jit(lambda x, s=subscripts: fnp.einsum(s, x))(x), expected)
