"""`fungrad.scipy.linalg` against SciPy: values, dtypes, derivatives, errors."""

import functools
import inspect

import numpy as np
import pytest
import scipy.linalg

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.scipy.linalg as fsl
from fungrad.core.config import setting
from fungrad.numpy.rules import traced_functions
from tests.folding import each
from tests.numpy.checker import check_function

RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.normal(size=shape)


def cplx(*shape):
    return real(*shape) + 1j * real(*shape)


def adjoint(x):
    return np.conj(np.matrix_transpose(x))


def positive(x):
    """A positive definite matrix made of any."""
    return np.matmul(x, adjoint(x)) + 0.5 * np.eye(x.shape[-2])


def hermitian(x):
    return x + adjoint(x)


def regular(x):
    """A matrix far from singular, without negative eigenvalues, made of any."""
    return 3 * np.eye(x.shape[-1]) + x / 2


def projectors(v, weights):
    """What of orthonormal vectors does not depend on their phases."""
    return np.matmul(v * weights, adjoint(v))


def lower_of(c_and_lower):
    """What SciPy says is the factor; it leaves numbers in the other triangle."""
    c, lower = c_and_lower
    return (np.tril if lower else np.triu)(c)


def known(x, residuals, rank, s):
    """What `lstsq` returns, in NumPy's types: SciPy has a Python integer and an empty complex array."""
    return x, np.real(residuals), np.multiply(rank, np.int64(1)), s


def quadratic(v):
    return projectors(v, np.arange(1.0, v.shape[-1] + 1))


# Programs: functions of `sl`, SciPy's linalg or ours, and of arrays.

SQUARE = [(3, 3)]
STACKS = [(3, 3), (2, 3, 3)]
SHAPES = [(3, 3), (4, 2), (2, 4)]
PROGRAMS = {
    "cholesky": (lambda sl, x: sl.cholesky(positive(x)), STACKS),
    "cholesky-lower": (lambda sl, x: sl.cholesky(positive(x), lower=True), SQUARE),
    "cho_factor": (lambda sl, x: lower_of(sl.cho_factor(positive(x), lower=True)), SQUARE),
    "cho_solve": (lambda sl, x: sl.cho_solve(sl.cho_factor(positive(x)), x[0]), SQUARE),
    "cho_solve-lower": (lambda sl, x: sl.cho_solve((x, True), x), SQUARE),
    "lu": (lambda sl, x: sl.lu(x), [*STACKS, (4, 2), (2, 4)]),
    "lu-permute": (lambda sl, x: sl.lu(x, permute_l=True), SHAPES),
    "lu-indices": (lambda sl, x: sl.lu(x, p_indices=True)[1:], SHAPES),
    "lu_factor": (lambda sl, x: tuple(sl.lu_factor(x)), STACKS),
    "lu_solve": (lambda sl, x: sl.lu_solve(sl.lu_factor(x), x[0]), SQUARE),
    "lu_solve-transposed": (
        lambda sl, x: [sl.lu_solve(sl.lu_factor(x), x[:, :2], trans=t) for t in (1, 2)],
        SQUARE,
    ),
    "qr": (lambda sl, x: sl.qr(x), [(3, 3), (2, 4)]),
    "qr-economic": (lambda sl, x: sl.qr(x, mode="economic"), SHAPES),
    "qr-r": (lambda sl, x: sl.qr(x, mode="r"), SHAPES),
    "qr-pivoting": (lambda sl, x: sl.qr(x, mode="economic", pivoting=True)[:2], SHAPES),
    "rq": (lambda sl, x: sl.rq(x), [(3, 3), (4, 2)]),
    "rq-economic": (lambda sl, x: sl.rq(x, mode="economic"), SHAPES),
    "rq-r": (lambda sl, x: sl.rq(x, mode="r"), SHAPES),
    "svd": (
        lambda sl, x: (lambda u, s, vh: (projectors(u, s), np.matmul(u, vh)))(
            *sl.svd(x, full_matrices=False)
        ),
        SHAPES,
    ),
    "svdvals": (lambda sl, x: sl.svdvals(x), [*SHAPES, (2, 3, 2)]),
    "svd-values": (lambda sl, x: sl.svd(x, compute_uv=False), SHAPES),
    "polar": (lambda sl, x: tuple(sl.polar(x)), [*SHAPES, (2, 3, 3)]),
    "polar-left": (lambda sl, x: sl.polar(x, side="left"), SHAPES),
    "eig": (lambda sl, x: tuple(sl.eig(x)), STACKS),
    "eig-left": (lambda sl, x: sl.eig(x + 0j, left=True)[0], SQUARE),
    "eig-general": (lambda sl, x: np.prod(sl.eigvals(x, regular(x)) + 2), SQUARE),
    "eigvals": (lambda sl, x: sl.eigvals(x), STACKS),
    "eigh": (
        lambda sl, x: (lambda w, v: (w, quadratic(v)))(*sl.eigh(hermitian(x))),
        STACKS,
    ),
    "eigh-upper": (lambda sl, x: sl.eigh(hermitian(x), lower=False)[0], SQUARE),
    "eigh-subset": (
        lambda sl, x: (lambda w, v: (w, quadratic(v)))(
            *sl.eigh(hermitian(x), subset_by_index=[1, 2])
        ),
        SQUARE,
    ),
    **{
        f"eigh-general-{kind}": (
            lambda sl, x, kind=kind: (lambda w, v: (w, quadratic(v)))(
                *sl.eigh(hermitian(x), positive(x), type=kind)
            ),
            SQUARE,
        )
        for kind in (1, 2, 3)
    },
    "eigvalsh": (lambda sl, x: sl.eigvalsh(hermitian(x), subset_by_index=(0, 1)), SQUARE),
    "solve": (lambda sl, x: sl.solve(x, x[0]), SQUARE),
    **{
        f"solve-{kind}": (
            lambda sl, x, kind=kind: [
                sl.solve(positive(x), x[:, :2], assume_a=kind, lower=lower)
                for lower in (False, True)
            ],
            SQUARE,
        )
        for kind in ("gen", "pos", "her")
    },
    "solve-sym": (lambda sl, x: sl.solve(x + x.T, x[0], assume_a="sym"), SQUARE),
    "solve-upper": (lambda sl, x: sl.solve(x, x[0], assume_a="upper triangular"), SQUARE),
    "solve-diagonal": (lambda sl, x: sl.solve(x, x, assume_a="diagonal"), SQUARE),
    "solve-tridiagonal": (lambda sl, x: sl.solve(x, x, assume_a="tridiagonal"), [(4, 4)]),
    "solve_triangular": (
        lambda sl, x: [
            sl.solve_triangular(x, x[:, :2], trans=trans, lower=lower, unit_diagonal=unit)
            for trans in (0, "T", 2)
            for lower in (False, True)
            for unit in (False, True)
        ],
        SQUARE,
    ),
    "inv": (lambda sl, x: sl.inv(x), STACKS),
    "det": (lambda sl, x: sl.det(x), STACKS),
    "pinv": (lambda sl, x: sl.pinv(x, return_rank=True), SHAPES),
    "pinv-cut": (lambda sl, x: sl.pinv(x[:, :1] * x[:1], atol=1e-9, rtol=1e-9), SQUARE),
    "pinvh": (
        lambda sl, x: (lambda y, rank: (y, np.abs(rank)))(
            *sl.pinvh(hermitian(x), lower=False, return_rank=True)
        ),
        SQUARE,
    ),
    "lstsq": (lambda sl, x: known(*sl.lstsq(x, x[:, 0] ** 2)), SHAPES),
    "lstsq-matrix": (lambda sl, x: known(*sl.lstsq(x, x**2)), SHAPES),
    "norm": (
        lambda sl, x: [np.abs(sl.norm(x)), np.abs(sl.norm(x, 1)), sl.norm(x, 2, axis=0)],
        SHAPES,
    ),
    "expm": (lambda sl, x: sl.expm(x), [*STACKS, (1, 1)]),
    "logm": (lambda sl, x: sl.logm(regular(x)), SQUARE),
    "sqrtm": (lambda sl, x: sl.sqrtm(regular(x)), STACKS),
    "signm": (lambda sl, x: sl.signm(regular(x) * np.sign(np.arange(3) - 0.5)), SQUARE),
    "fractional_matrix_power": (
        lambda sl, x: [sl.fractional_matrix_power(regular(x), t) + 0j for t in (0.3, -1.5)],
        SQUARE,
    ),
    "funm": (lambda sl, x: sl.funm(x + 0j, lambda w: np.exp(w) * w), SQUARE),
    **{
        name: (lambda sl, x, name=name: getattr(sl, name)(x), SQUARE)
        for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")
    },
    "expm_frechet": (lambda sl, x: sl.expm_frechet(x, x**2), SQUARE),
    "solve_sylvester": (
        lambda sl, x: sl.solve_sylvester(regular(x), regular(x[:2, :2]), x[:, :2]),
        SQUARE,
    ),
    "solve_continuous_lyapunov": (
        lambda sl, x: sl.solve_continuous_lyapunov(regular(x), x),
        SQUARE,
    ),
    "solve_discrete_lyapunov": (
        lambda sl, x: [sl.solve_discrete_lyapunov(x / 5, x, m) for m in ("direct", "bilinear")],
        SQUARE,
    ),
    **{
        name: (
            lambda sl, x, name=name: getattr(sl, name)(
                x / 4, x[:, :2], positive(x), positive(x[:2, :2])
            ),
            SQUARE,
        )
        for name in ("solve_continuous_are", "solve_discrete_are")
    },
    "orthogonal_procrustes": (
        lambda sl, x: sl.orthogonal_procrustes(x, np.matmul(x, regular(x[:2] * 0 + 1)) + x**2),
        [(4, 2)],
    ),
    "block_diag": (lambda sl, x: sl.block_diag(x, x[0], x[:, :1]), SHAPES),
    "toeplitz": (lambda sl, x: [sl.toeplitz(x[0]), sl.toeplitz(x[0], x[1][:2])], SHAPES),
    "toeplitz-stack": (lambda sl, x: sl.toeplitz(x), SHAPES),
    "hankel": (lambda sl, x: [sl.hankel(x[0]), sl.hankel(x[0], x[1][:2])], SHAPES),
    "circulant": (lambda sl, x: [sl.circulant(x), sl.circulant(x[0])], SHAPES),
    "companion": (lambda sl, x: [sl.companion(x), sl.companion(x[0])], SHAPES),
    "convolution_matrix": (
        lambda sl, x: [
            sl.convolution_matrix(x, n, mode)
            for n in (1, 2, 5)
            for mode in ("full", "same", "valid")
        ],
        [(5,), (2,)],
    ),
    "leslie": (lambda sl, x: sl.leslie(x, x[1:]), [(4,)]),
    "fiedler": (lambda sl, x: sl.fiedler(x), [(4,), (2, 3)]),
    "khatri_rao": (lambda sl, x: sl.khatri_rao(x, x[:2]), SQUARE),
    "diagsvd": (lambda sl, x: [sl.diagsvd(x, 3, 5), sl.diagsvd(x, 4, 3)], [(3,)]),
    "solve_toeplitz": (
        lambda sl, x: [sl.solve_toeplitz((x[0] + 5 * np.eye(3)[0], x[1]), y) for y in (x, x[2])],
        SQUARE,
    ),
    "matmul_toeplitz": (
        lambda sl, x: [sl.matmul_toeplitz((x[0], x[1]), x), sl.matmul_toeplitz(x[0], x[1])],
        SQUARE,
    ),
    "solve_circulant": (lambda sl, x: sl.solve_circulant(x[0] + 5 * np.eye(3)[0], x), SQUARE),
    "solve_banded": (lambda sl, x: sl.solve_banded((1, 1), x + 5 * np.eye(3)[:, 1:2], x), [(3, 3)]),
}
CASES = [
    pytest.param(f, kind(*shape), id=f"{name}-{kind.__name__}-{shape}".replace(" ", ""))
    for name, (f, shapes) in PROGRAMS.items()
    for shape in shapes
    for kind in (real, cplx)
]


def check(f, *args, **options):
    """Check that a program gives the same with both modules."""
    ours, scipys = functools.partial(f, fsl), functools.partial(f, scipy.linalg)
    ours.__name__ = scipys.__name__ = "program"
    check_function(ours, scipys, args, **({"rtol": 1e-8} | options))


@pytest.mark.parametrize(("f", "x"), CASES)
def test_as_scipy(f, x):
    check(f, x)


@pytest.mark.parametrize("kind", [real, cplx])
def test_banded(kind):
    diagonal = np.array([[9.0], [0], [0]])

    def upper(x):
        return x + diagonal[::-1]

    def real_diagonal(x, row):
        at = np.arange(3)[:, None] == row
        return np.where(at, np.real(x), x)

    x = kind(3, 4)
    check(lambda sl, x: sl.solveh_banded(upper(real_diagonal(x, 2)), x[0]), x)
    check(lambda sl, x: sl.solveh_banded(real_diagonal(x, 0) + diagonal, x[0], lower=True), x)
    check(lambda sl, x: sl.cholesky_banded(upper(real_diagonal(x, 2))), x)
    for lower in (True, False):
        check(lambda sl, x, y, lower=lower: sl.cho_solve_banded((x, lower), y), x + 2, kind(4, 2))
    check(lambda sl, x: sl.cholesky_banded(real_diagonal(x, 0) + diagonal, lower=True), x)
    check(lambda sl, x: sl.eigvals_banded(upper(real_diagonal(x, 2))), x)
    check(
        lambda sl, x: sl.eig_banded(upper(real_diagonal(x, 2)), select="i", select_range=(1, 2))[0],
        x,
    )


def test_tridiagonal():
    def program(sl, d, e):
        w, v = sl.eigh_tridiagonal(d, e)
        some = sl.eigvalsh_tridiagonal(d, e, select="i", select_range=(0, 1))
        return w, some, quadratic(v)

    check(program, real(4), real(3))


@pytest.mark.parametrize("name", ["schur", "hessenberg"])
def test_forms_without_a_derivative(name):
    f = getattr(fsl, name)
    x = real(2, 3, 3)
    expected = [getattr(scipy.linalg, name)(m) for m in x]
    for found in (fg.vmap(f)(x), fg.jit(f)(x)):
        for a, b in zip(fg.tree.leaves(found), zip(*map(fg.tree.leaves, expected)), strict=True):
            np.testing.assert_allclose(a, np.stack(b))
    with pytest.raises(fg.MissingRuleError, match=f"`{name}` has no `jvp` rule"):
        fg.grad(lambda x: fnp.sum(fg.tree.leaves(f(x))[0]))(x)


def test_complex_schur():
    x = real(3, 3)
    t, z = fg.jit(lambda x: fsl.schur(x, output="complex"))(x)
    np.testing.assert_allclose(z @ t @ z.conj().T, x, atol=1e-12)
    np.testing.assert_allclose(
        fg.jit(lambda x: fsl.hessenberg(x, calc_q=True))(x)[1], scipy.linalg.hessenberg(x, True)[1]
    )


# Ranks


def test_bases_of_ranges_and_kernels():
    a = real(4, 2) @ real(2, 3)

    def onto(f, a):
        basis = f(a)
        return fnp.matmul(basis, adjoint(basis))

    for f, scipys in ((fsl.orth, scipy.linalg.orth), (fsl.null_space, scipy.linalg.null_space)):
        t = a @ real(3, 3)
        value, moved = fg.jvp(lambda a, f=f: onto(f, a), (a,), (t,))
        np.testing.assert_allclose(value, onto(scipys, a), atol=1e-12)
        ahead, behind = [onto(scipys, a + s * 1e-6 * t) for s in (1, -1)]
        np.testing.assert_allclose(moved, (ahead - behind) / 2e-6, atol=1e-7)
        jitted = fg.jit(lambda a, f=f: onto(f, a))
        for b in (a, a + 2 * t):
            np.testing.assert_allclose(jitted(b), onto(scipys, b), atol=1e-12)
        with setting(reading=False), pytest.raises(fg.ConcretizationError):
            fg.jit(f)(a)


# Values that decide on dtypes


DTYPES = {
    "det": lambda sl, a, v: sl.det(a),
    "expm": lambda sl, a, v: sl.expm(a),
    "expm_of_a_number": lambda sl, a, v: sl.expm(a[0, 0]),
    "expm_of_an_element": lambda sl, a, v: sl.expm(v[:1]),
    "expm_frechet": lambda sl, a, v: sl.expm_frechet(a, a),
    "fractional_matrix_power": lambda sl, a, v: sl.fractional_matrix_power(a, 0.5),
    "integer_matrix_power": lambda sl, a, v: sl.fractional_matrix_power(a, 2),
    "logm": lambda sl, a, v: sl.logm(a),
    "matmul_toeplitz": lambda sl, a, v: sl.matmul_toeplitz(v, v),
    "solve_circulant": lambda sl, a, v: sl.solve_circulant(v, v),
    "solve_continuous_are": lambda sl, a, v: sl.solve_continuous_are(a, a, a @ a.T, a @ a.T),
    "solve_continuous_lyapunov": lambda sl, a, v: sl.solve_continuous_lyapunov(a, a),
    "solve_discrete_are": lambda sl, a, v: sl.solve_discrete_are(a, a, a @ a.T, a @ a.T),
    "solve_discrete_lyapunov": lambda sl, a, v: sl.solve_discrete_lyapunov(a, a),
    "solve_toeplitz": lambda sl, a, v: sl.solve_toeplitz(v, v),
    "sqrtm": lambda sl, a, v: sl.sqrtm(a),
}


@pytest.mark.parametrize("dtype", [int, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate:RuntimeWarning")
def test_dtypes_are_scipys(name, dtype):
    f = DTYPES[name]
    a, v = np.array([[2, 1], [1, 3]], dtype), np.array([4, 1, 2], dtype)
    rtol = 1e-4 if np.dtype(dtype).itemsize < 8 or dtype is np.complex64 else 1e-10
    check_function(
        lambda a, v: f(fsl, a, v),
        lambda a, v: f(scipy.linalg, a, v),
        (a, v),
        rtol=rtol,
        checks=("eager", "known", "jit"),
    )


def test_functions_of_real_matrices_are_real_or_say_so():
    a = np.diag([1.0, -2.0])
    for name in ("sqrtm", "logm"):
        with pytest.raises(ValueError, match=f"{name} of this real matrix is complex"):
            fg.jit(getattr(fsl, name))(a)
        found = fg.jit(getattr(fsl, name))(a.astype(complex))
        np.testing.assert_allclose(found, getattr(scipy.linalg, name)(a))


def test_third_derivatives_of_matrix_functions():
    a, e = real(3, 3), real(3, 3)

    def along(f, order):
        for _ in range(order):
            f = lambda t, f=f: fg.jvp(f, (t,), (1.0,))[1]
        return f

    third = along(lambda t: fsl.expm(a * t), 3)(0.7)
    np.testing.assert_allclose(third, a @ a @ a @ scipy.linalg.expm(0.7 * a), rtol=1e-10)
    second = along(lambda t: fsl.sqrtm(positive(a) + t * hermitian(e) * 0.01), 2)
    numeric = [second(h) for h in (1e-4, -1e-4)]
    np.testing.assert_allclose(
        along(lambda t: fsl.sqrtm(positive(a) + t * hermitian(e) * 0.01), 3)(0.0),
        (numeric[0] - numeric[1]) / 2e-4,
        atol=1e-9,
    )


# Errors

ERRORS = [
    ("solve", (real(3, 2), real(3))),
    ("solve", (real(2, 2), real(3))),
    ("solve", (real(2, 2), real(2), False, False, False, True, "odd")),
    ("qr", (real(2, 2), False, None, "odd")),
    ("rq", (real(2, 2), False, None, "odd")),
    ("lstsq", (real(3, 2), real(2))),
    ("polar", (real(2, 2), "up")),
    ("companion", (real(1),)),
    ("convolution_matrix", (real(3), 0)),
    ("convolution_matrix", (real(3), 2, "odd")),
    ("leslie", (real(3), real(3))),
    ("khatri_rao", (real(3, 2), real(3, 3))),
    ("diagsvd", (real(3), 2, 4)),
    ("solve_banded", ((1, 1), real(2, 3), real(3))),
    ("orthogonal_procrustes", (real(3, 2), real(2, 2))),
    ("solve_continuous_lyapunov", (real(2, 2), real(3, 3))),
    ("solve_discrete_lyapunov", (real(2, 2), real(2, 2), "odd")),
    ("expm", (real(2, 3),)),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_scipys(name, args):
    with pytest.raises(ValueError):  # noqa: PT011
        getattr(scipy.linalg, name)(*args)
    place = next(i for i, x in enumerate(args) if isinstance(x, np.ndarray))
    call = fg.jit(lambda x: getattr(fsl, name)(*args[:place], x, *args[place + 1 :]))
    with pytest.raises(ValueError):  # noqa: PT011
        call(args[place])


LEFT_OUT = [
    (lambda x: fsl.qr(x, mode="raw"), "use mode 'full'"),
    (lambda x: fsl.eigh(x, subset_by_value=(0, 1)), "use subset_by_index"),
    (lambda x: fsl.eig(x, homogeneous_eigvals=True), "leave out `homogeneous_eigvals`"),
    (lambda x: fsl.eig(x, x, left=True), "no left vectors of a generalized problem"),
    (lambda x: fsl.eigh_tridiagonal(x[0], x[0, 1:], select="v"), "selected by index"),
    (lambda x: fsl.schur(x, sort="lhp"), "leave out `sort`"),
    (lambda x: fsl.logm(x, disp=False), "leave out `disp`"),
    (lambda x: fsl.solve_continuous_are(x, x, x, x, e=x), "replace a by inv"),
    (lambda x: fsl.solve_circulant(x[0], x, singular="lstsq"), "use lstsq"),
    (lambda x: fsl.orth(fnp.stack([x, x])), "one matrix at a time"),
]


@pytest.mark.parametrize(("f", "message"), LEFT_OUT)
def test_what_is_left_out_says_so(f, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fg.jit(f)(real(3, 3))


def test_failures_are_linalg_errors():
    for f in (fsl.cholesky, lambda a: fsl.solve_triangular(a * 0, a), lambda a: fsl.inv(a * 0)):
        with pytest.raises(fsl.LinAlgError):
            fg.jit(f)(-np.eye(2))


# The namespace

NOT_HERE = {
    "low-level interfaces": "blas lapack cython_blas cython_lapack find_best_blas_type get_blas_funcs "
    "get_lapack_funcs",
    "modules": "basic decomp decomp_cholesky decomp_lu decomp_qr decomp_schur decomp_svd matfuncs misc "
    "special_matrices",
    "tests of values, to be made outside": "bandwidth ishermitian issymmetric",
    "random": "clarkson_woodruff_transform",
    "updates of a decomposition": "qr_delete qr_insert qr_multiply qr_update",
    "not differentiated here": "cdf2rdf cossin expm_cond ldl matrix_balance ordqz qz rsf2csf subspace_angles",
    "polynomials": "fiedler_companion",
}


def test_everything_of_scipy_linalg_is_there_or_excluded():
    excluded = " ".join(NOT_HERE.values()).split()
    assert set(scipy.linalg.__all__) == set(fsl.__all__) | set(excluded)
    with pytest.raises(AttributeError, match=r"fungrad.scipy.linalg has no 'cossin'"):
        fsl.cossin
    with pytest.raises(AttributeError, match="did you mean 'expm'"):
        fsl.expmm


@each("name", fsl.__all__)
def test_functions_are_scipys_on_plain_arrays(name):
    ours, scipys = getattr(fsl, name), getattr(scipy.linalg, name)
    if ours is scipys:
        return
    assert scipys in traced_functions
    assert f"scipy.linalg.{scipys.__name__}" in inspect.getdoc(ours)
    expected = inspect.signature(scipys).parameters
    found = inspect.signature(traced_functions[scipys]).parameters
    assert set(expected) <= set(found)
    assert list(found)[: len(expected)] == list(expected)


def test_cho_solve_by_either_factor():
    a, b = np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([8.0, 12.0])
    factor = np.linalg.cholesky(a)
    for c, lower in ((factor, True), (factor.T, False)):
        solve = fg.jit(lambda c, b, lower=lower: fsl.cho_solve((c, lower), b))
        np.testing.assert_allclose(solve(c, b), [1, 2], rtol=1e-14)
