"""`fungrad.numpy.linalg` against NumPy: values, dtypes, derivatives, errors; gauges and degeneracies."""

import functools
import inspect
import math

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.errors import MissingRuleError
from fungrad.numpy.rules import traced_functions
from tests.numpy.checker import check_function

RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.normal(size=shape)


def cplx(*shape):
    return real(*shape) + 1j * real(*shape)


def single(*shape):
    return real(*shape).astype(np.float32)


def ints(*shape):
    return RNG.integers(-5, 5, shape)


def adjoint(x):
    return np.conj(np.matrix_transpose(x))


def positive(x):
    """A positive definite matrix made of any."""
    return np.matmul(x, adjoint(x)) + 0.5 * np.eye(x.shape[-2])


def hermitian(x):
    return x + adjoint(x)


def projectors(v, weights):
    """What of some orthonormal vectors does not depend on their phases."""
    return np.matmul(v * weights, adjoint(v))


# Programs: functions of `la`, NumPy's linalg or ours, and of arrays. Those of vectors are free of
# their signs and phases.

PROGRAMS = {
    "cholesky": (lambda la, x: la.cholesky(positive(x)), [(3, 3), (2, 3, 4), (0, 0)]),
    "cholesky-upper": (lambda la, x: la.cholesky(positive(x), upper=True), [(3, 3)]),
    "det": (lambda la, x: la.det(x), [(3, 3), (2, 4, 4), (0, 0), (1, 1), (2, 0, 2, 2)]),
    "slogdet": (lambda la, x: la.slogdet(x), [(3, 3), (2, 4, 4), (0, 0)]),
    "inv": (lambda la, x: la.inv(x), [(3, 3), (2, 2, 2), (0, 0)]),
    "tensorinv": (lambda la, x: la.tensorinv(x), [(2, 3, 6), (4, 1, 2, 2)]),
    "tensorinv-1": (lambda la, x: la.tensorinv(x, ind=1), [(6, 2, 3)]),
    "qr": (lambda la, x: la.qr(x), [(3, 3), (4, 2), (2, 4), (2, 3, 2)]),
    "qr-r": (lambda la, x: la.qr(x, mode="r"), [(3, 3), (4, 2), (2, 4)]),
    "qr-complete": (
        lambda la, x: (lambda q, r: (projectors(q, np.r_[1.0, 2.0, 3.0, 3.0]), r))(
            *la.qr(x, "complete")
        ),
        [(4, 2)],
    ),
    "svd-values": (lambda la, x: la.svd(x, compute_uv=False), [(3, 3), (2, 4, 3), (2, 3)]),
    "svdvals": (lambda la, x: la.svdvals(x), [(3, 3), (4, 3), (2, 3, 4)]),
    "svd": (
        lambda la, x: (lambda u, s, vh: (projectors(u, s[..., None, :]), np.matmul(u, vh)))(
            *la.svd(x, full_matrices=False)
        ),
        [(3, 3), (4, 2), (2, 3, 5)],
    ),
    "svd-full": (
        lambda la, x: (lambda u, s, vh: projectors(u, np.arange(4.0) * s[0]))(*la.svd(x)),
        [(4, 3)],
    ),
    "svd-full-wide": (
        lambda la, x: (lambda u, s, vh: projectors(adjoint(vh), np.arange(4.0) * s[0]))(*la.svd(x)),
        [(3, 4)],
    ),
    "svd-hermitian": (
        lambda la, x: (lambda u, s, vh: (projectors(u, s), s, np.matmul(u, vh)))(
            *la.svd(hermitian(x), hermitian=True)
        ),
        [(3, 3)],
    ),
    "svd-hermitian-values": (
        lambda la, x: la.svd(hermitian(x), compute_uv=False, hermitian=True),
        [(2, 3, 3)],
    ),
    "eigh": (
        lambda la, x: (lambda w, v: (w, projectors(v, w[..., None, :] ** 2)))(
            *la.eigh(hermitian(x))
        ),
        [(3, 3), (2, 4, 4), (0, 0)],
    ),
    "eigh-upper": (
        lambda la, x: (lambda w, v: projectors(v, np.arange(3.0)))(*la.eigh(hermitian(x), "U")),
        [(3, 3)],
    ),
    "eigvalsh": (lambda la, x: la.eigvalsh(hermitian(x)), [(3, 3), (2, 4, 4), (0, 0)]),
    "eigvalsh-upper": (lambda la, x: la.eigvalsh(hermitian(x), UPLO="U"), [(3, 3)]),
    "eig": (lambda la, x: la.eig(x + 0j), [(3, 3), (2, 4, 4), (0, 0)]),
    "eigvals": (lambda la, x: la.eigvals(x + 0j), [(3, 3), (2, 4, 4)]),
    "pinv": (lambda la, x: la.pinv(x), [(3, 3), (4, 2), (2, 2, 3), (0, 2), (2, 0)]),
    "pinv-rank": (
        lambda la, x: la.pinv(np.matmul(x[:, :2], x[:2]), rcond=1e-5),
        [(4, 4)],
    ),
    "pinv-hermitian": (lambda la, x: la.pinv(hermitian(x), hermitian=True), [(3, 3)]),
    "pinv-rtol": (lambda la, x: la.pinv(x, rtol=None), [(2, 3, 4)]),
    "matrix_power": (
        lambda la, x: [la.matrix_power(x, n) for n in (0, 1, 2, 3, 7, -1, -3)],
        [(3, 3), (2, 2, 2)],
    ),
    "matrix_transpose": (lambda la, x: la.matrix_transpose(x), [(2, 3), (2, 3, 4)]),
    "diagonal": (lambda la, x: la.diagonal(x, offset=1), [(2, 3), (4, 3, 3)]),
    "trace": (lambda la, x: la.trace(x, offset=-1), [(3, 3), (4, 2, 3)]),
    "matrix_rank": (lambda la, x: la.matrix_rank(x), [(3, 2), (2, 3, 3), (3,), (0, 3)]),
    "matrix_rank-tol": (
        lambda la, x: (la.matrix_rank(x, tol=1.0), la.matrix_rank(x, rtol=[0.1, 0.9])),
        [(2, 3, 3)],
    ),
    "matrix_rank-hermitian": (
        lambda la, x: la.matrix_rank(positive(x), hermitian=True),
        [(3, 2)],
    ),
    "cond": (
        lambda la, x: [la.cond(x, p) for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")],
        [(3, 3), (2, 2, 2)],
    ),
    "cond-2": (lambda la, x: la.cond(x), [(3, 2)]),
    "multi_dot": (lambda la, x: la.multi_dot([x, x.T, x, x.T, x]), [(2, 4), (4, 2)]),
    "multi_dot-3": (lambda la, x: la.multi_dot([x[0], x.T, x]), [(2, 4)]),
    "multi_dot-vectors": (lambda la, x: la.multi_dot([x[0], x.T, x, x[1]]), [(2, 4)]),
    "multi_dot-2": (lambda la, x: la.multi_dot([x, x[0]]), [(2, 4)]),
    "tensordot": (lambda la, x: la.tensordot(x, x, axes=((0, 1), (0, 1))), [(2, 3, 4)]),
    "outer": (lambda la, x: la.outer(x, x[:2]), [(3,)]),
    "matmul": (lambda la, x: la.matmul(x, adjoint(x)), [(2, 3, 4)]),
    "cross": (lambda la, x: la.cross(x, x[::-1], axis=0), [(3, 2)]),
    "vecdot": (lambda la, x: la.vecdot(x, x[0], axis=-2), [(2, 3, 4)]),
}
CASES = [
    pytest.param(f, kind(*shape), id=f"{name}-{kind.__name__}-{shape}".replace(" ", ""))
    for name, (f, shapes) in PROGRAMS.items()
    for shape in shapes
    for kind in (real, cplx)
]


def check(f, *args, **options):
    """Check that a program gives the same with both modules."""
    ours, numpys = functools.partial(f, fnp.linalg), functools.partial(f, np.linalg)
    ours.__name__ = numpys.__name__ = "program"
    check_function(ours, numpys, args, **({"rtol": 1e-9} | options))


@pytest.mark.parametrize(("f", "x"), CASES)
def test_as_numpy(f, x):
    check(f, x)


NORMS = [
    *[((3,), {"ord": p}) for p in (None, 2, 1, 0, np.inf, -np.inf, 3, 2.5, -1, -2, 0.5)],
    *[((2, 3), {"ord": p}) for p in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)],
    *[((2, 3, 4), {"ord": p, "axis": (2, 0)}) for p in (1, -1, np.inf, -np.inf, 2, "nuc", "f")],
    ((2, 3, 4), {}),
    ((2, 3, 4), {"keepdims": True}),
    ((2, 3, 4), {"axis": -1, "keepdims": True}),
    ((2, 3, 4), {"ord": 1, "axis": (0, 1), "keepdims": True}),
    ((2, 3), {"ord": 3, "axis": 1}),
    ((2, 3), {"axis": (1,)}),
    ((0,), {}),
    ((0, 3), {"ord": 2}),
    ((), {}),
]


@pytest.mark.parametrize("kind", [real, cplx])
@pytest.mark.parametrize(("shape", "options"), NORMS, ids=str)
def test_norm(shape, options, kind):
    check(lambda la, x: la.norm(x, **options), kind(*shape)[()])


@pytest.mark.parametrize("kind", [real, cplx])
@pytest.mark.parametrize(
    "options",
    [
        *({}, {"ord": 3}, {"axis": (2, 0)}, {"keepdims": True}),
        {"axis": 1, "keepdims": True},
        {"axis": (0, -1), "keepdims": True, "ord": 1},
    ],
    ids=str,
)
def test_vector_and_matrix_norm(options, kind):
    x = kind(2, 3, 4)
    check(lambda la, x: la.vector_norm(x, **options), x)
    if "axis" not in options:
        check(lambda la, x: la.matrix_norm(x, keepdims="keepdims" in options), x)
        check(lambda la, x: la.matrix_norm(x, ord=2), x)


SOLVES = [
    ((3, 3), (3,)),
    ((3, 3), (3, 2)),
    ((3, 3), (4, 3, 2)),
    ((2, 3, 3), (3,)),
    ((2, 3, 3), (3, 2)),
    ((2, 1, 3, 3), (4, 3, 2)),
    ((0, 0), (0, 2)),
    ((2, 2), (2, 0)),
]


@pytest.mark.parametrize(
    "kinds",
    [(real, real), (cplx, real), (real, cplx)],
    ids=lambda kinds: "-".join(k.__name__ for k in kinds),
)
@pytest.mark.parametrize(("a", "b"), SOLVES, ids=str)
def test_solve(a, b, kinds):
    check(lambda la, x, y: la.solve(x, y), kinds[0](*a), kinds[1](*b))


SOLVES_ID = [((2, 3, 6), (2, 3), None), ((6, 2, 3), (6,), None), ((2, 6, 3), (2, 3), (1,))]


@pytest.mark.parametrize(("a", "b", "axes"), SOLVES_ID, ids=str)
def test_tensorsolve(a, b, axes):
    check(lambda la, x, y: la.tensorsolve(x, y, axes), real(*a), cplx(*b))


@pytest.mark.parametrize("kind", [real, cplx, single])
@pytest.mark.parametrize(
    ("a", "b"), [((4, 2), (4,)), ((4, 2), (4, 3)), ((3, 3), (3,)), ((2, 3), (2, 2))], ids=str
)
def test_lstsq(a, b, kind):
    options = {"rtol": 1e-4} if kind is single else {}
    check(lambda la, x, y: la.lstsq(x, y, rcond=None), kind(*a), kind(*b), **options)


def test_lstsq_of_less_than_full_rank():
    a, b = real(4, 1) @ real(1, 3), real(4)
    found = fg.jit(lambda a, b: fnp.linalg.lstsq(a, b, rcond=1e-9))(a, b)
    expected = np.linalg.lstsq(a, b, rcond=1e-9)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
    assert found[2] == expected[2] == 1
    assert np.isnan(found[1]).all()
    assert expected[1].size == 0
    assert (fg.jit(fnp.linalg.lstsq)(a, b, -1)[2] <= 3).all()


def test_one_matrix_for_a_batch_is_factorized_once():
    a, b = real(3, 3), real(5, 3)
    mapped = fg.vmap(fnp.linalg.solve, (None, 0))
    np.testing.assert_allclose(mapped(a, b), np.linalg.solve(a, b.T).T)
    for program, operand in ((mapped, b), (fnp.linalg.solve, real(4, 3, 2))):
        expr = fg.make_expr(program)(a, operand)
        (solve,) = [e for e in expr.equations if e.primitive.name == "solve"]
        assert [expr.types[v].ndim for v in solve.inputs] == [2, 2]


def test_pinv_of_tall_matrices_stays_small():
    a = real(400, 2)
    expr = fg.make_expr(fg.grad(lambda a: fnp.sum(fnp.linalg.pinv(a) ** 2)))(a)
    assert max(t.size for t in expr.types) == a.size


# Dtypes


@pytest.mark.parametrize("kind", [single, ints])
@pytest.mark.parametrize(
    "name", ["det", "inv", "svdvals", "pinv", "norm", "cond", "slogdet", "qr", "eigvalsh"]
)
def test_dtypes(name, kind):
    x = kind(3, 3) + (10 * np.eye(3)).astype(kind(1).dtype)
    check(lambda la, x: getattr(la, name)(x), x, rtol=1e-4, vmap=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_single_precision(name):
    f, shapes = PROGRAMS[name]
    x = single(*shapes[0])
    value, pull = fg.vjp(lambda x: fg.tree.leaves(f(fnp.linalg, x)), x)
    expected = fg.tree.leaves(f(np.linalg, x))
    assert [y.dtype for y in value] == [np.asarray(y).dtype for y in expected]
    cts = [np.ones(y.shape, y.dtype if y.dtype.kind in "fc" else fg.float0) for y in value]
    (found,) = pull(cts)
    assert found.dtype == np.float32
    wide = fg.vjp(lambda x: fg.tree.leaves(f(fnp.linalg, x)), x.astype(float))[1]
    double = [ct if ct.dtype == fg.float0 else ct * np.ones(1)[0] for ct in cts]
    (expected,) = wide(double)
    scale = np.abs(expected).max(initial=1)
    np.testing.assert_allclose(found, expected, 1e-2, 1e-3 * scale)


def test_mixed_dtypes():
    a = single(3, 3)
    for b in (ints(3), single(3), real(3), cplx(3), cplx(3).astype(np.complex64)):
        check(lambda la, x, y: la.solve(x, y), a, b, rtol=1e-3, vmap=False, diff_argnums=[1])


def test_half_precision_is_refused_as_by_numpy():
    x = np.eye(2, dtype=np.float16)
    for f in (np.linalg.inv, fg.jit(fnp.linalg.inv)):
        with pytest.raises(TypeError, match="array type float16 is unsupported in linalg"):
            f(x)
    check(lambda la, x: la.norm(x), x)


def test_eigenvalues_of_real_matrices_are_complex():
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    for found, expected in zip(fg.jit(fnp.linalg.eig)(x), np.linalg.eig(x), strict=True):
        assert found.dtype == np.complex128
        np.testing.assert_allclose(found, expected)
    check(lambda la, x: la.eigvals(x).astype(complex), real(4, 4))
    check(lambda la, x: [y.astype(complex) for y in la.eig(x)], real(2, 4, 4))


def test_results_are_numpys_named_tuples():
    x = real(3, 3)
    for name in ("qr", "eigh", "svd", "slogdet", "eig"):
        expected = getattr(np.linalg, name)(x)
        for found in (
            fg.jit(getattr(fnp.linalg, name))(x),
            fg.vmap(getattr(fnp.linalg, name))(x[None]),
        ):
            assert type(found) is type(expected)


# Derivatives of Hermitian functions


def test_gradients_by_hermitian_matrices_are_hermitian():
    a = positive(cplx(3, 3))
    w = hermitian(cplx(3, 3))
    for f in (
        lambda a: np.log(fnp.linalg.cholesky(a).diagonal().real).sum(),
        lambda a: np.log(fnp.linalg.cholesky(a, upper=True).diagonal().real).sum(),
        lambda a: np.log(fnp.linalg.eigvalsh(a)).sum() / 2,
        lambda a: np.log(fnp.linalg.eigh(a, "U")[0]).sum() / 2,
    ):
        g = fg.grad(f)(a)
        np.testing.assert_allclose(g, adjoint(g), atol=1e-12)
        np.testing.assert_allclose(g.conj(), np.linalg.inv(a) / 2, atol=1e-12)
        moved = fg.jvp(f, (a,), (w,))[1]
        np.testing.assert_allclose(moved, np.trace(np.linalg.solve(a, w)).real / 2)


def test_only_one_triangle_is_read():
    a = positive(real(3, 3))
    for junk, options in ((np.tril(a), {}), (np.triu(a), {"UPLO": "U"})):
        found = fg.jit(lambda x, options=options: fnp.linalg.eigvalsh(x, **options))(junk)
        np.testing.assert_allclose(found, np.linalg.eigvalsh(a))
    np.testing.assert_allclose(fg.jit(fnp.linalg.cholesky)(np.tril(a)), np.linalg.cholesky(a))
    a[0, 1:] = np.nan
    np.testing.assert_allclose(fg.jit(fnp.linalg.cholesky)(a), np.linalg.cholesky(a))


def test_derivatives_by_one_triangle():
    """Of matrices that are not Hermitian."""
    d, e = np.array([5.0, 6.0, 4.5]), np.array([2.0, 1.5])
    check(lambda la, d, e: la.eigvalsh(np.diag(d) + np.diag(e, -1)), d, e, vmap=False)
    check(lambda la, d, e: la.eigvalsh(np.diag(d) + np.diag(e, 1), "U"), d, e, vmap=False)
    check(lambda la, d, e: la.cholesky(np.diag(d) + np.diag(e, -1)), d, e, vmap=False)


# Degeneracies


def test_values_at_repeated_eigenvalues_have_derivatives():
    a = np.diag([1.0, 2.0, 2.0])
    for f in (np.linalg.eigvalsh, np.linalg.svdvals):
        g = fg.grad(lambda a, f=f: np.sum(f(a) ** 2))(a)
        np.testing.assert_allclose(g, 2 * a, atol=1e-12)
    g = fg.grad(lambda a: np.linalg.norm(a, "nuc"))(np.eye(3))
    np.testing.assert_allclose(g, np.eye(3), atol=1e-12)


def test_vectors_of_repeated_eigenvalues_have_none():
    with np.errstate(all="ignore"):
        g = fg.grad(lambda a: np.sum(np.linalg.eigh(a)[1][:, 0]))(np.eye(2))
        assert np.isnan(g).any()
        assert np.isnan(fg.grad(lambda a: np.sum(np.linalg.svd(a)[0]))(np.eye(2))).any()


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_det_at_singular_matrices(rank):
    a, n = real(3, rank) @ real(rank, 3), 3
    cofactors = np.empty((n, n))
    for i, j in np.ndindex(n, n):
        minor = np.delete(np.delete(a, i, 0), j, 1)
        cofactors[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(fg.grad(np.linalg.det)(a), cofactors, atol=1e-13)
    t, h = real(3, 3), 1e-4
    found = fg.jvp(fg.grad(np.linalg.det), (a,), (t,))[1]
    ahead, behind = [fg.grad(np.linalg.det)(a + s * h * t) for s in (1, -1)]
    np.testing.assert_allclose(found, (ahead - behind) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
def test_high_derivatives_of_det_are_those_of_its_polynomial(rank):
    # a Vandermonde matrix gives the coefficients of det(a + t e), whatever the rank and equal singular values
    a, e = np.diag([2.0] * rank + [0.0] * (4 - rank)), np.random.default_rng(5).normal(size=(4, 4))
    ts = np.arange(-2.0, 3)
    coefficients = np.linalg.solve(
        np.vander(ts, increasing=True), [np.linalg.det(a + t * e) for t in ts]
    )

    def f(t):
        return np.linalg.det(a + t * e)

    for order in range(5):
        expected = math.factorial(order) * coefficients[order]
        assert np.isclose(f(0.0), expected, rtol=1e-10, atol=1e-11)
        f = [fg.grad, fg.jacfwd][order % 2](f)


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e103])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_derivatives_of_det_where_the_determinant_overflows_or_underflows(rank, scale):
    a, t = real(3, rank) @ real(rank, 3), real(3, 3)
    with np.errstate(all="ignore"):
        found = fg.grad(np.linalg.det)(a * scale)
        np.testing.assert_allclose(found / scale**2, fg.grad(np.linalg.det)(a), atol=1e-13)
        found = fg.jvp(fg.grad(np.linalg.det), (a * scale,), (t,))[1]
    expected = fg.jvp(fg.grad(np.linalg.det), (a,), (t,))[1]
    np.testing.assert_allclose(found / scale, expected, atol=1e-13)
    stack = np.stack([a * scale, a, 0 * a])
    with np.errstate(all="ignore"):
        gradients = fg.grad(lambda x: fnp.sum(np.linalg.det(x)))(stack)
    np.testing.assert_allclose(gradients[1], fg.grad(np.linalg.det)(a), atol=1e-13)
    np.testing.assert_array_equal(gradients[2], 0)


def test_norms_at_zero():
    for options in ({}, {"ord": 3}, {"ord": 1}, {"ord": np.inf}, {"ord": 2.5}):
        f = functools.partial(fnp.linalg.norm, **options)
        np.testing.assert_array_equal(fg.grad(f)(np.zeros(3)), 0)
        np.testing.assert_array_equal(fg.grad(f)(np.zeros(3, complex)), 0)
    x = np.array([[0.0, 3.0], [0.0, 4.0]])
    np.testing.assert_allclose(
        fg.grad(lambda x: fnp.linalg.norm(x, axis=0).sum())(x), [[0, 0.6], [0, 0.8]]
    )
    np.testing.assert_allclose(fg.grad(fnp.linalg.norm)(x), x / 5)


@pytest.mark.parametrize(
    "norm",
    [
        *[lambda x, p=p: fnp.linalg.norm(x, p) for p in (None, 0.5, 2.5, 3, 4, -1)],
        lambda x: fnp.linalg.norm(x, axis=0),
        lambda x: fnp.linalg.vector_norm(x),
        lambda x: fnp.linalg.matrix_norm(x[:, None]),
        lambda x: fnp.std(x),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_second_derivatives_of_norms_at_zero_are_nan(norm):
    """Those of the square too, which exist: a wrong number would be silent."""
    for f in (norm, lambda x: norm(x) ** 2):
        np.testing.assert_array_equal(fg.grad(f)(np.zeros(2)), 0)
        for hessian in (fg.hessian(f), fg.jacrev(fg.grad(f)), fg.jit(fg.hessian(f))):
            found = hessian(np.zeros(2))
            assert np.isnan(np.diag(found)).all()
            assert (np.isnan(found) | (found == 0)).all()  # 0 along a line is right


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fnp.sum(fnp.std(x[:, None], axis=1)),
        lambda x: fnp.std(fnp.broadcast_to(x[0], (3,))),
        lambda x: fnp.std(fnp.stack([x, x]), axis=0).sum(),
        lambda x: fnp.linalg.norm(x - x),
        lambda x: fnp.linalg.norm(fnp.stack([x, x]) - x, axis=0).sum(),
    ],
)
def test_what_stays_zero_has_derivatives_zero_of_every_order(f):
    x, t = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 2.0])
    chains = {
        "gradient, then linearized": fg.linearize(fg.grad(f), x)[1](t),
        "gradient, then jvp": fg.jvp(fg.grad(f), (x,), (t,))[1],
        "linearized twice": fg.jvp(lambda x: fg.jvp(f, (x,), (t,))[1], (x,), (t,))[1],
        "hessian": fg.hessian(f)(x),
        "compiled": fg.jit(fg.hessian(f))(x),
        "third": fg.jvp(fg.hessian(f), (x,), (t,))[1],
    }
    for chain, found in chains.items():
        np.testing.assert_array_equal(found, 0, chain)


def test_a_deviation_of_zero_moves_with_what_spreads_alone():
    """Along a direction in which all elements move alike the deviation stays 0; along others it has a kink."""
    x = np.full(3, 2.0)
    for f in (fnp.std, lambda x: fnp.sum((x - x.mean()) / (x.std() + 1.0))):
        push = fg.linearize(fg.grad(f), x)[1]
        np.testing.assert_array_equal(push(np.ones(3)), 0)
        assert np.isnan(push(np.array([1.0, 0.0, 0.0]))).all()
    rng = np.random.default_rng(0)
    x, t, h = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), 1e-5
    for f in (lambda x: fnp.std(x, axis=1, ddof=1).sum(), lambda x: fnp.std(x + 1j * x * x)):
        g = fg.grad(f)
        expected = (g(x + h * t) - g(x - h * t)) / (2 * h)
        for found in (fg.jvp(g, (x,), (t,))[1], fg.jacrev(g)(x).reshape(3, 4, 12) @ t.ravel()):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_even_norms_are_smooth_where_elements_are_zero():
    found = fg.hessian(lambda x: fnp.linalg.norm(x, 4) ** 4)(np.array([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(found, np.diag([0, 12, 48]), atol=1e-13)


LISTS = {
    "cross": lambda la, x: la.cross([x, 2 * x, x * x], [x, 1.0, 3.0]),
    "diagonal": lambda la, x: la.diagonal([[x, 1.0], [2.0, x]]),
    "matmul": lambda la, x: la.matmul([[x, 1.0], [2.0, x]], [x, 1.0]),
    "matrix_transpose": lambda la, x: la.matrix_transpose([[x, 1.0], [2.0, x]]),
    "outer": lambda la, x: la.outer([x, 1.0], [1.0, x, 3.0]),
    "tensordot": lambda la, x: la.tensordot([[x, 1.0]], [[x], [3.0]], axes=1),
    "trace": lambda la, x: la.trace([[x, 1.0], [2.0, x]]),
    "vecdot": lambda la, x: la.vecdot([x, 1.0], [x, 2.0]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_hold_tracers(name):
    f = LISTS[name]
    check_function(
        lambda x: f(fnp.linalg, x), lambda x: f(np.linalg, x), (np.float64(1.5),), vmap=False
    )


def test_cond_of_singular_matrices():
    x = np.stack([np.ones((2, 2)), np.diag([1.0, 4.0])])
    for p in (None, 1, "fro"):
        found = fg.jit(lambda x, p=p: fnp.linalg.cond(x, p))(x)
        np.testing.assert_allclose(found[1], np.linalg.cond(x[1], p))
        assert found[0] > 1e15
    assert np.isinf(fg.jit(fnp.linalg.cond)(np.zeros((2, 2))))


# Errors


def test_failures_are_raised_where_they_happen():
    def f(a):
        try:
            return np.linalg.cholesky(a).sum()
        except np.linalg.LinAlgError:
            return -a.sum()

    np.testing.assert_array_equal(fg.grad(f)(-np.eye(2)), -np.ones((2, 2)))
    with pytest.raises(fnp.linalg.LinAlgError, match="Singular"):
        fg.jit(fnp.linalg.inv)(np.ones((2, 2)))
    with pytest.raises(fnp.linalg.LinAlgError, match="Singular"):
        fg.grad(lambda a: fnp.linalg.slogdet(a)[1])(np.ones((2, 2)))


ERRORS = [
    ("inv", (real(2, 3),)),
    ("inv", (real(3),)),
    ("det", (real(2, 3),)),
    ("cholesky", (real(2, 3),)),
    ("eigh", (real(2, 2), "X")),
    ("eig", (real(3),)),
    ("svd", (real(3),)),
    ("qr", (real(2, 2), "x")),
    ("qr", (real(2),)),
    ("solve", (real(2, 2), real(3))),
    ("solve", (real(2, 2), real(3, 2))),
    ("solve", (real(2, 3, 3), real(4, 3, 3))),
    ("lstsq", (real(3, 2), real(2))),
    ("lstsq", (real(3), real(2))),
    ("matrix_power", (real(2, 2), 1.5)),
    ("matrix_power", (real(2, 3), 2)),
    ("multi_dot", ([real(2, 2)],)),
    ("multi_dot", ([real(2, 2), real(2, 2, 2), real(2)],)),
    ("norm", (real(2, 2, 2), 1)),
    ("norm", (real(2, 2), None, (0, 0))),
    ("norm", (real(2), "nuc")),
    ("norm", (real(2, 2), 3)),
    ("norm", (real(2), 2, "x")),
    ("cond", (real(0, 2),)),
    ("cond", (real(3, 2), 1)),
    ("tensorinv", (real(2, 2), 0)),
    ("tensorsolve", (real(2, 3), real(2))),
    ("cross", (real(2), real(2))),
    ("outer", (real(2, 2), real(2))),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_numpys(name, args):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        getattr(np.linalg, name)(*args)
    with pytest.raises(type(expected.value)) as found:
        fg.jit(lambda x: getattr(fnp.linalg, name)(x, *args[1:]))(args[0])
    if not str(expected.value).startswith(("solve", "matmul")):
        start = str(expected.value)[:24].lower()
        assert start in str(found.value).lower()


@pytest.mark.parametrize("x", [real(3, 2), real(2, 3), real(4, 2, 2), real(3, 3) * (1 + 2j)])
def test_reflections_of_qr(x):
    packed = fg.jit(lambda x: fnp.linalg.qr(x, "raw"))(x)
    for found, expected in zip(packed, np.linalg.qr(x, "raw"), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(MissingRuleError, match="packed_qr"):
        fg.grad(lambda x: fnp.linalg.qr(x, "raw")[1].sum().real)(x)


# The namespace


def test_everything_of_numpy_linalg_is_there():
    assert set(fnp.linalg.__all__) == set(np.linalg.__all__)
    assert fnp.linalg.LinAlgError is np.linalg.LinAlgError
    for name in set(np.linalg.__all__) - {"LinAlgError"}:
        numpys, ours = getattr(np.linalg, name), getattr(fnp.linalg, name)
        assert numpys in traced_functions
        assert f"numpy.linalg.{name}" in inspect.getdoc(ours)
        expected = inspect.signature(numpys).parameters
        found = inspect.signature(traced_functions[numpys]).parameters
        assert [(p.name, p.kind) for p in found.values()] == [
            (p.name, p.kind) for p in expected.values()
        ], name


def test_numpys_functions_take_tracers():
    x = real(3, 3)
    np.testing.assert_allclose(
        fg.grad(lambda x: np.linalg.slogdet(x)[1])(x), np.linalg.inv(x).T, atol=1e-12
    )
    assert type(fnp.linalg.det(x)) is np.float64
