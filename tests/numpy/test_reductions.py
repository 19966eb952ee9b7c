"""Reductions, cumulative operations and statistics: against NumPy."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.numpy.checker import Case, check_error, check_function

A = np.random.default_rng(0).normal(size=(2, 3, 4)) + 0.1
B = A[0]
V = B[0]
F = A.astype(np.float32)
H = (B * 4).astype(np.float16)
I = np.array([[3, -1, 2], [0, 5, 3]])
I8, U8 = I.astype(np.int8), abs(I).astype(np.uint8)
C = B + 1j * B[::-1]
C64 = C.astype(np.complex64)
T = B > 0
S = np.float64(1.5)
E = np.zeros((0, 3))
N = A.copy()
N[0, 0, 1] = N[1, 2, 3] = N[1, 1, 0] = np.nan
CN = np.where(B > 0.9, complex(0, np.nan), C)
MASK = np.arange(12).reshape(3, 4) % 3 > 0

KINDS = (A, F, H, I, I8, U8, C, C64, T, S)
REAL = tuple(x for x in KINDS if x.dtype.kind != "c")


def rtol(x):
    return 1e-2 if x.dtype == np.float16 else None


def row(name, x, *args, **kwargs):
    # Masks are traced in a test of their own: shuffled, they would leave nothing.
    return Case(name, (x, *args), kwargs, rtol=rtol(x), static=("where",))


AXES = [0, -1, (0, 2), (-1, 0), (), None]
SUMS = [
    *[row(f, x) for f in ("sum", "prod", "mean", "var", "std") for x in KINDS],
    *[row(f, A, axis) for f in ("sum", "prod", "mean", "var") for axis in AXES],
    *[row(f, A, axis, keepdims=True) for f in ("sum", "mean", "std") for axis in (1, (0, 1), None)],
    *[row(f, B, where=MASK) for f in ("sum", "prod", "mean", "var", "std")],
    *[row(f, x, 2, where=MASK[0]) for f in ("sum", "mean", "std") for x in (A, F)],
    *[row(f, A, 1, keepdims=True, where=MASK) for f in ("sum", "mean", "std", "var")],
    *[row(f, x, dtype=d) for f in ("sum", "prod") for x in (I, F) for d in ("f8", "i8", "c8")],
    *[row(f, x, dtype="f4") for f in ("mean", "var", "std") for x in (I, F)],
    row("mean", I, dtype=int),
    row("var", H, dtype="f4"),
    row("sum", T, dtype=bool),
    row("sum", I, initial=2.5),
    row("sum", A, 0, initial=S),
    row("prod", B, 1, initial=3),
    *[row(f, E, 0) for f in ("sum", "prod")],
    *[row(f, E, 1) for f in ("sum", "mean", "var", "max", "median")],
    row("sum", E),
    row("sum", S, 0),
    row("sum", np.ones((2, 0, 3)), (0, 2)),
    *[row(f, A, 1, ddof=1) for f in ("var", "std")],
    row("var", C, 1, ddof=1, keepdims=True),
    row("var", A, 0, correction=1),
    row("std", A, 1, mean=A.mean(1, keepdims=True)),
    row("var", B, 1, where=MASK, ddof=1),
    row("count_nonzero", I),
    *[row("count_nonzero", x, 1) for x in (A, I, T, C)],
    row("count_nonzero", I, 0, keepdims=True),
    *[row(f, x) for f in ("any", "all") for x in KINDS],
    *[row(f, I, axis, keepdims=True) for f in ("any", "all") for axis in (0, (0, 1))],
    *[row(f, T, 1, where=MASK) for f in ("any", "all")],
    *[row(f, E, 0) for f in ("any", "all")],
]
EXTREMA = [
    *[row(f, x) for f in ("max", "min", "argmax", "argmin") for x in KINDS],
    *[row(f, A, axis) for f in ("max", "amin") for axis in AXES],
    *[row(f, x, 1, keepdims=True) for f in ("max", "min") for x in (A, I)],
    *[row(f, A, (0, 2), keepdims=True) for f in ("amax", "ptp")],
    row("max", B, initial=0.5),
    row("min", B, 0, initial=-0.1, where=MASK),
    row("max", B, 1, initial=S, where=MASK),
    row("max", I, initial=2.5),
    row("max", E, 0, initial=2.5),
    row("min", E, 0, initial=7, keepdims=True),
    *[row(f, x, axis) for f in ("argmax", "argmin") for x in (A, I) for axis in (0, -1)],
    *[row(f, A, axis, keepdims=True) for f in ("argmax", "argmin") for axis in (None, 1)],
    row("argmax", np.array([1.0, np.nan, 2.0])),
    *[row("ptp", x) for x in (A, F, I, U8, S)],
    row("ptp", A, 1),
]
CUMULATIVE = [
    *[row(f, x) for f in ("cumsum", "cumprod") for x in KINDS],
    *[row(f, A, axis) for f in ("cumsum", "cumprod") for axis in (0, -1, None)],
    *[row(f, x, 1, dtype=d) for f in ("cumsum",) for x in (I8, B) for d in ("f4", "i2")],
    *[row(f, V) for f in ("cumulative_sum", "cumulative_prod")],
    *[row(f, A, axis=1, include_initial=True) for f in ("cumulative_sum", "cumulative_prod")],
    row("cumulative_sum", I8, axis=-1, include_initial=True),
    row("cumulative_sum", S),
    row("cumsum", E, 0),
    *[row(f, N, axis) for f in ("nancumsum", "nancumprod") for axis in (0, None)],
    *[row(f, I, 1) for f in ("nancumsum", "nancumprod")],
]
NANS = [
    *[
        row(f, x)
        for f in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax")
        for x in (N, N.astype(np.float32), N.astype(np.float16), I, A)
    ],
    *[row(f, CN, 1) for f in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd")],
    *[
        row(f, N, axis, keepdims=True)
        for f in ("nansum", "nanmean", "nanstd", "nanmax", "nanargmax", "nanmedian")
        for axis in (0, -1)
    ],
    *[row(f, N, (0, 2)) for f in ("nansum", "nanmean", "nanvar", "nanmin", "nanmedian")],
    *[row(f, N, 1, where=MASK[:, :1]) for f in ("nansum", "nanmean", "nanvar")],
    row("nansum", N, 0, initial=2.0),
    row("nanmax", N, 1, initial=0.1),
    row("nanmin", N, 1, initial=0.1, where=MASK),
    row("nanvar", N, 2, ddof=1),
    row("nanstd", N, 2, correction=1),
    row("nanvar", N, 1, mean=np.nanmean(N, 1, keepdims=True)),
    *[row(f, x, 1) for f in ("nanargmin", "nanargmax") for x in (N, I)],
    *[row("nanmedian", x) for x in (N, N.astype(np.float32), I, T)],
    *[row("nanquantile", N, q, 1) for q in (0.3, [0.2, 0.9], [[0.5], [0.0]])],
    row("nanpercentile", N, 40, (0, 2), method="weibull", keepdims=True),
    row("nanpercentile", I, [40, 60], 0, method="lower"),
    row("nanquantile", N, 0.7, 1, method="closest_observation"),
]
METHODS = [
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
    *("hazen", "weibull", "linear", "median_unbiased", "normal_unbiased"),
    *("lower", "higher", "midpoint", "nearest"),
]
QS = np.array([0.0, 0.2, 0.25, 0.5, 0.625, 0.9, 1.0])
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0])
STATISTICS = [
    *[row("median", x) for x in (A, F, H, I, U8, C, T, S)],
    *[row("median", A, axis) for axis in AXES if axis != ()],
    row("median", A[:, :, :3], (0, 2), keepdims=True),
    Case("median", (np.array([1.0, np.nan, 2.0]),), diff_argnums=()),
    *[row("quantile", x, 0.3) for x in (A, F, H, I, U8, S)],
    *[row("quantile", x, QS.tolist(), method=m) for x in (V, I.ravel(), F[0, 0]) for m in METHODS],
    *[row("quantile", A, 0.35, axis) for axis in (0, -1, (0, 2), (1, 0))],
    *[row("quantile", A, [0.1, 0.7], axis, keepdims=True) for axis in (1, (0, 1), None)],
    row("quantile", B, [[0.1], [0.7]], 1),
    row("quantile", I, 1),
    Case("quantile", (N, [0.5, 0.1], 1), diff_argnums=()),
    Case("quantile", (N, 0.5, 1), {"method": "lower"}, diff_argnums=()),
    Case("quantile", (B, QS, 1), {"method": "lower"}, static=(1,)),
    row("percentile", A, 30, 1),
    row("percentile", F, [25, 75.5], -1),
    row("percentile", I, 50),
    Case("quantile", (B, np.array([0.3, 0.62]), 1), diff_argnums=(0, 1)),
    Case("percentile", (B, np.float64(40.0)), {"method": "hazen"}),
    row("average", A),
    row("average", I, 0, keepdims=True),
    *[row("average", x, 2, WEIGHTS) for x in (A, F, np.arange(24).reshape(2, 3, 4))],
    row("average", A, weights=A + 3),
    row("average", A, (2, 1), weights=(B + 3).T, keepdims=True),
    row("average", F, -1, weights=[1, 2, 3, 4]),
    row("average", A, 2, WEIGHTS, True),
    row("average", F, 1, returned=True),
    *[row("cov", x) for x in (B, F[0], C, V, I)],
    row("cov", B, rowvar=False, bias=True),
    row("cov", V, B[1], ddof=0),
    row("cov", B, fweights=np.array([1, 2, 3, 1])),
    row("cov", B, aweights=WEIGHTS),
    row("cov", B, None, True, False, 1, np.array([1, 2, 3, 1]), WEIGHTS),
    row("cov", B, dtype=np.float32),
    *[row("corrcoef", x) for x in (B, F[0], C, V, I)],
    row("corrcoef", V, B[1]),
]


@pytest.mark.parametrize("case", SUMS + EXTREMA + CUMULATIVE + NANS + STATISTICS, ids=str)
def test_as_numpy(case):
    case.check()


@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
@pytest.mark.parametrize(
    "ufunc",
    [
        "add",
        "multiply",
        "maximum",
        "minimum",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logaddexp",
    ],
)
def test_reduce_of_ufuncs(ufunc, axis):
    method = getattr(np, ufunc).reduce
    for x in (A, I):
        if axis in (0, 1, None) or x.ndim > 2:
            check_function(method, method, (x,), {"axis": axis})
            check_function(method, method, (x, axis), {"keepdims": True})
    check_function(method, method, (A,))  # of the first axis by default
    if "logical" not in ufunc and ufunc != "logaddexp":
        check_function(method, method, (A, axis), {"initial": 0.25, "where": A > 0}, rtol=1e-12)


@pytest.mark.parametrize("ufunc", ["add", "multiply", "maximum", "minimum", "logaddexp"])
def test_accumulate_of_ufuncs(ufunc):
    method = getattr(np, ufunc).accumulate
    for x in (A, F, I):
        check_function(method, method, (x,))
        check_function(method, method, (x, -1))
    check_function(method, method, (B, 1), {"dtype": np.float32}, diff_argnums=())
    with pytest.raises(TypeError, match="cannot accumulate on a scalar"):
        fg.jit(method)(1.0)


def test_logaddexp_of_nothing():
    found = fg.jit(lambda x: np.logaddexp.reduce(x, axis=0))(E)
    np.testing.assert_array_equal(found, np.logaddexp.reduce(E, axis=0))


ERRORS = [
    *[(f, (B, axis), {}) for f in ("sum", "mean", "std", "max", "any") for axis in (2, -3)],
    *[(f, (B, (0, 0)), {}) for f in ("sum", "var", "min", "all", "median")],
    ("sum", (B, 1.0), {}),
    ("sum", (S, 1), {}),
    ("sum", (V,), {"where": MASK}),
    ("sum", (B,), {"where": MASK[:, :2]}),
    ("max", (E,), {}),
    ("max", (E, 0), {}),
    ("max", (B,), {"where": MASK}),
    ("ptp", (T,), {}),
    ("argmax", (E,), {}),
    ("argmin", (E, 0), {}),
    ("argmax", (B, 2), {}),
    ("cumsum", (B, 2), {}),
    ("cumulative_sum", (B,), {}),
    ("var", (B,), {"ddof": 1, "correction": 1}),
    ("nanmean", (B,), {"dtype": int}),
    ("quantile", (B, 1.5), {}),
    ("percentile", (B, [-1, 50]), {}),
    ("quantile", (C, 0.5), {}),
    ("quantile", (V[:0], 0.5), {}),
    ("quantile", (B, np.zeros((1, 1, 1))), {}),
    ("average", (A,), {"weights": WEIGHTS}),
    ("average", (A, 1, WEIGHTS), {}),
    ("cov", (A,), {}),
    ("cov", (B,), {"ddof": 0.5}),
    ("cov", (B,), {"fweights": MASK}),
    ("cov", (B,), {"aweights": V[:2]}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), ERRORS)
def test_errors_are_numpys(name, args, kwargs):
    check_error(name, args, kwargs, static=(1,) if name == "quantile" else ())


def test_what_cannot_be_is_said():
    with pytest.raises(TypeError, match="cannot be written into `out`"):
        fg.jit(lambda x: fnp.sum(x, out=np.zeros(())))(V)
    with pytest.raises(ValueError, match="'middle' is not a valid method"):
        fg.jit(lambda x: fnp.quantile(x, 0.5, method="middle"))(V)


def test_deviation_of_equal_numbers_has_derivative_zero():
    for f in (fnp.std, fnp.nanstd):
        np.testing.assert_array_equal(fg.grad(f)(np.full(3, 2.0)), np.zeros(3))
        assert np.isfinite(fg.hessian(f)(V)).all()


def test_variance_does_not_cancel():
    x = 1e9 + V
    np.testing.assert_allclose(fg.jit(fnp.var)(x), np.var(x), 1e-12)
    np.testing.assert_allclose(fg.grad(fnp.var)(x), 2 * (x - x.mean()) / 4, atol=1e-7)


def test_ties_share_the_derivative():
    x = np.array([1.0, 3.0, 3.0])
    np.testing.assert_array_equal(fg.grad(fnp.max)(x), [0, 0.5, 0.5])
    np.testing.assert_array_equal(fg.grad(fnp.median)(np.array([1.0, 3.0, 2.0])), [0, 0, 1])


def test_product_with_zeros_differentiates():
    x = np.array([2.0, 0.0, 3.0])
    np.testing.assert_array_equal(fg.grad(fnp.prod)(x), [0, 6, 0])
    expected = [[0, 3, 0], [3, 0, 2], [0, 2, 0]]
    np.testing.assert_array_equal(fg.hessian(fnp.prod)(x), expected)


def test_nans_have_derivative_zero():
    x = np.array([1.0, np.nan, 3.0])
    np.testing.assert_array_equal(fg.grad(fnp.nansum)(x), [1, 0, 1])
    np.testing.assert_array_equal(fg.grad(fnp.nanmean)(x), [0.5, 0, 0.5])
    np.testing.assert_array_equal(fg.grad(fnp.nanmax)(x), [0, 0, 1])
    np.testing.assert_array_equal(fg.grad(fnp.nanvar)(x), [-1, 0, 1])
    np.testing.assert_array_equal(fg.grad(fnp.nanmedian)(x), [0.5, 0, 0.5])


def test_slices_of_nans_alone():
    x = np.array([[1.0, np.nan], [np.nan, np.nan]])
    for f, expected in [
        (fnp.nanmax, [1, np.nan]),
        (fnp.nanmin, [1, np.nan]),
        (fnp.nanvar, [0, np.nan]),
        (fnp.nanmedian, [1, np.nan]),
        (fnp.nanargmax, [0, -1]),
        (fnp.nansum, [1, 0]),
    ]:
        np.testing.assert_array_equal(fg.jit(lambda x, f=f: f(x, axis=1))(x), expected)


def test_weak_numbers_become_strong():
    assert fg.jit(lambda x: fnp.sum(x) * np.ones(2, np.float32))(1.0).dtype == np.float64
    assert fg.jit(lambda x: fnp.mean(x, where=[True]))(np.ones(1, np.float32)).dtype == np.float32


def test_a_mask_can_be_traced_alone():
    found = fg.jit(lambda m: fnp.sum(B, 1, where=m))(MASK)
    np.testing.assert_allclose(found, B.sum(1, where=MASK))
    for f in (fnp.mean, fnp.var, fnp.nanstd, fnp.nanmean):
        found = fg.vmap(lambda m, f=f: f(V, where=m))(MASK)
        np.testing.assert_allclose(found, [f(V, where=m) for m in MASK])


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
@pytest.mark.parametrize("dtype", [np.float32, complex])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_correlations_of_no_variables(name, dtype):
    for shape in ((0, 2), (2, 0)):
        x = np.zeros(shape, dtype)
        expected, found = getattr(np, name)(x), fg.jit(getattr(fnp, name))(x)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


@pytest.mark.parametrize("name", ["sum", "prod", "max"])
def test_no_elements_leave_what_is_given_as_initial(name):
    f = lambda x: getattr(fnp, name)(x, axis=1, initial=-0.0)
    x = np.zeros((2, 0))
    for found in (f(x), fg.jit(f)(x), fg.vjp(f, x)[0], fg.vmap(f, 1, 1)(np.zeros((2, 1, 0)))[:, 0]):
        assert not found.any()
        assert np.signbit(found).all()


def test_what_is_left_out_counts_as_if_it_were_not_there():
    x = np.array([[1.0, np.nan, 3.0, 5.0], [2.0, 4.0, np.nan, np.nan]])
    f = fg.jit(lambda x: [fnp.nansum(x, 1), fnp.nanprod(x, 1), fnp.nanvar(x, 1, ddof=1)])
    np.testing.assert_array_equal(f(x), [[9, 6], [15, 8], [4, 2]])
    g = fg.jit(lambda x: [fnp.max(x, where=x < 4, initial=-9), fnp.min(x, where=x > 2, initial=9)])
    np.testing.assert_array_equal(g(np.arange(6.0)), [3, 3])


def test_covariances_are_of_samples_unless_they_are_to_be_biased():
    x = np.array([1.0, 2.0, 6.0])
    f = fg.jit(lambda x: [fnp.cov(x), fnp.cov(x, bias=True), fnp.cov(x, ddof=0)])
    np.testing.assert_allclose(f(x), [7, 14 / 3, 14 / 3], rtol=1e-15)
