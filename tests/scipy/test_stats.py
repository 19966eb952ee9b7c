"""fungrad.scipy.stats against scipy.stats: values, transforms, derivatives, bounds, errors."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.stats

import fungrad as fg
from fungrad.scipy import stats
from fungrad.scipy.stats.continuous import Continuous
from fungrad.scipy.stats.discrete import Discrete
from tests.numpy.checker import check_function
from tests.samples.row import reals

# For each distribution, shapes; each is an array to be broadcast against the points.
SHAPES = {
    "norm": (), "cauchy": (), "laplace": (), "logistic": (), "gumbel_l": (), "gumbel_r": (), "expon": (),
    "uniform": (), "halfnorm": (), "rayleigh": (), "lognorm": (0.7,), "skewnorm": (1.5,), "pareto": (2.5,),
    "weibull_min": (1.7,), "vonmises": (1.3,), "wrapcauchy": (0.4,), "gamma": (2.3,), "chi2": (3.5,),
    "invgamma": (2.2,), "gennorm": (1.6,), "beta": (2.0, 3.0), "t": (4.5,), "f": (3.0, 5.0), "truncnorm": (-1.0, 2.0),
}  # fmt: skip
COUNTED = {
    "bernoulli": (0.3,), "binom": (7.0, 0.4), "betabinom": (6.0, 2.0, 3.0), "geom": (0.3,), "nbinom": (2.5, 0.4),
    "poisson": (2.2,),
}  # fmt: skip
# Points inside of the supports, and outside.
POINTS = {"uniform": [0.1, 0.5, 0.8], "beta": [0.1, 0.4, 0.9], "pareto": [1.2, 2.0, 5.0]}
INSIDE, OUTSIDE = [0.3, 0.8, 1.7], np.array([-50.0, -1.5, 0.0, 1.0, 7.0, np.nan])
Q = np.array([0.02, 0.4, 0.75])
LOC, SCALE = np.float64(0.3), np.float64(1.4)

CONTINUOUS = [
    (name, m)
    for name in SHAPES
    for m in Continuous.methods
    if getattr(stats, name)._formula(m) is not None
]
DISCRETE = [
    (name, m)
    for name in COUNTED
    for m in Discrete.methods
    if getattr(stats, name)._formula(m) is not None
]


def shapes_of(name):
    return [np.array([s, 1.1 * s, 0.9 * s]) for s in SHAPES[name]]


def both(name, method):
    return getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)


@pytest.mark.parametrize(("name", "method"), CONTINUOUS)
def test_continuous(name, method):
    points = np.array(POINTS.get(name, INSIDE))
    x = Q if method in ("ppf", "isf") else LOC + SCALE * points
    # SciPy's skewnorm is Boost's, and the difference of two probabilities here.
    rtol = 1e-9 if name == "skewnorm" else 1e-11
    check_function(*both(name, method), (x, *shapes_of(name), LOC, SCALE), rtol=rtol)


@pytest.mark.parametrize(("name", "method"), CONTINUOUS)
def test_outside_of_the_support_and_for_invalid_parameters(name, method):
    """Values are SciPy's, and derivatives are never NaN there."""
    f, g = both(name, method)
    x = np.array([-0.5, 0.0, 1.0, 1.5, np.nan]) if method in ("ppf", "isf") else OUTSIDE
    for scale in (1.0, -1.0, 0.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy's own
            expected = g(x, *SHAPES[name], 0.5, scale)
        found = fg.jit(f)(x, *map(np.float64, SHAPES[name]), 0.5, np.float64(scale))
        if name in ("lognorm", "invgamma", "rayleigh") or scale > 0:
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)
        assert np.isnan(found).all() == (scale <= 0)

    def finite_part(x, shapes, loc, scale):
        value = f(x, *shapes, loc, scale)
        return np.sum(np.where(np.isfinite(value), value, 0.0))

    shapes = [np.float64(s) for s in SHAPES[name]]
    gradients = fg.grad(finite_part, (0, 2, 3) if not shapes else (0, 1, 2, 3))(
        x[:-1], shapes, np.float64(0.5), np.float64(1.0)
    )
    for leaf in fg.tree.leaves(gradients):
        assert np.isfinite(leaf).all(), gradients


def test_laplace_distribution_function_is_differentiable_at_its_kink():
    x, half = np.float64(0.0), {"cdf": 0.5, "sf": -0.5, "logcdf": 1.0, "logsf": -1.0}
    for method, slope in half.items():
        assert fg.grad(getattr(stats.laplace, method))(x) == slope


@pytest.mark.parametrize(("name", "sign"), [("gumbel_l", 1), ("gumbel_r", -1)])
def test_derivatives_of_gumbel_where_the_inner_exponential_overflows(name, sign):
    for method in ("pdf", "cdf", "sf"):
        f, g = both(name, method)
        for y in (np.float64(1e3), np.float64(1e300)):
            assert fg.grad(f)(sign * y) == 0
            with np.errstate(over="ignore"):  # SciPy's own
                assert fg.jit(f)(sign * y) == g(sign * y)


# For each distribution, other shapes, and what is special: edges of supports and powers that over- and underflow.
EXTREMES = [
    ("norm", (), (1e200,)), ("cauchy", (), (1e155,)), ("halfnorm", (), (0.0,)), ("rayleigh", (), (1e200,)),
    ("lognorm", (0.7,), (1e-300, 1e300)), ("skewnorm", (10.0,), (-1.0, -40.0, 40.0)),
    ("skewnorm", (-10.0,), (1.0, 40.0)), ("pareto", (2.5,), (1.0, 1e300)),
    ("weibull_min", (1.7,), (0.0, 1e300)), ("weibull_min", (50.0,), (1e-10, 1e10)),
    ("gamma", (2.3,), (0.0, 1e300)), ("gamma", (5.0,), (1e-155,)), ("chi2", (3.5,), (0.0, 1e300)),
    ("invgamma", (2.2,), (1e-300, 1e300)), ("beta", (2.0, 3.0), (0.0, 1.0)), ("f", (3.0, 5.0), (0.0, 1e100)),
    ("gennorm", (1.6,), (0.0, 1e-300, -1e-300, 1e300, -1e300)), ("gennorm", (0.3,), (0.0, 1e-10)),
    ("gennorm", (5.0,), (1e-155, -1e155)), ("t", (4.5,), (0.0, 1e155, -1e300)), ("t", (0.2,), (1e300,)),
    ("t", (np.inf,), (0.0, 0.5, -40.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shapes", "points"), EXTREMES)
def test_derivatives_at_edges_and_where_powers_overflow(name, shapes, points):
    """None is NaN, and where the value is not huge none is infinite."""
    for method in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
        f, g = both(name, method)
        for x in (*points, -np.inf, np.inf):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # SciPy's own, and of logarithms of 0
                value, gradient = fg.value_and_grad(lambda v: f(*v))(  # noqa: B023
                    (np.float64(x), *map(np.float64, shapes))
                )
                expected = g(x, *shapes)
            assert not np.isnan(gradient).any(), (method, x, gradient)
            assert np.isfinite(gradient).all() or abs(value) > 1e100, (method, x, gradient)
            # SciPy's is NaN or infinite where terms of it overflow; the tails of skewnorm are differences here.
            if np.isfinite(expected) and (name != "skewnorm" or not method.startswith("log")):
                np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-25)


@pytest.mark.parametrize("method", Continuous.methods)
def test_student_of_infinite_freedom_is_normal(method):
    x = np.array([0.1, 0.5, 0.8])
    df = np.array([np.inf, 3.0, np.inf])
    f, normal = getattr(stats.t, method), getattr(stats.norm, method)
    one, many = both("t", method)
    np.testing.assert_allclose(fg.jit(one)(x, df), many(x, df), rtol=1e-12)
    by_x, by_df = fg.grad(lambda x, df: np.sum(f(x, df)), (0, 1))(x, df)
    expected = fg.grad(lambda x: np.sum(normal(x)))(x)
    np.testing.assert_allclose(by_x[::2], expected[::2], rtol=1e-14)
    np.testing.assert_array_equal(by_df[::2], 0)
    assert np.isfinite(by_x).all()
    assert by_df[1] != 0 or (method in ("ppf", "isf") and x[1] == 0.5)  # the median is 0


def test_quantiles_of_f_from_both_ends():
    isf = fg.jit(stats.f.isf)
    np.testing.assert_allclose(isf(1e-5, 0.1, 0.1), scipy.stats.f.isf(1e-5, 0.1, 0.1), rtol=1e-9)
    for q in (1e-200, 1e-5, 0.3, 0.6):
        np.testing.assert_allclose(fg.jit(stats.f.sf)(isf(q, 3.0, 5.0), 3.0, 5.0), q, rtol=1e-11)


@pytest.mark.parametrize(
    ("a", "b"), [(10.0, np.inf), (-np.inf, -30.0), (40.0, 41.0), (-np.inf, np.inf)]
)
def test_truncnorm_far_in_a_tail(a, b):
    """Outside of the support derivatives are 0, not NaN; `isf` keeps the digits of small q."""
    f = stats.truncnorm
    for method in ("cdf", "sf", "logcdf", "logsf", "logpdf"):
        for x in (-1e3, 0.0, 1e3):
            gradients = fg.grad(getattr(f, method), (0, 1, 2))(x, np.float64(a), np.float64(b))
            assert np.isfinite(gradients).all(), (method, x, gradients)
    if b == np.inf:
        x = fg.jit(f.isf)(np.float64(1e-20), a, b)
        np.testing.assert_allclose(fg.jit(f.sf)(x, a, b), 1e-20, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "method", "x", "shapes"),
    [
        ("expon", "logcdf", 40.0, ()),
        ("gumbel_r", "logsf", -5.0, ()),
        ("cauchy", "logcdf", 1e10, ()),
        ("gamma", "logcdf", 40.0, (2.3,)),
        ("chi2", "logsf", 1e-12, (3.5,)),
        ("t", "logcdf", 1e3, (4.5,)),
        ("beta", "logsf", 1e-12, (2.0, 3.0)),
        ("pareto", "logcdf", 1e3, (2.5,)),
    ],
)
def test_logarithms_of_probabilities_near_one(name, method, x, shapes):
    f, g = both(name, method)
    np.testing.assert_allclose(fg.jit(f)(np.float64(x), *shapes), g(x, *shapes), rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in SHAPES if SHAPES[n]])
def test_invalid_shapes(name):
    bad = [-s - 5.0 if name != "truncnorm" else 3.0 for s in SHAPES[name]]
    if name == "skewnorm":
        bad = [np.nan]
    value, gradient = fg.value_and_grad(lambda s: getattr(stats, name).logpdf(0.5, *s))(
        np.array(bad)
    )
    assert np.isnan(value)
    assert not np.isnan(gradient).any()


@pytest.mark.parametrize(("name", "method"), DISCRETE)
def test_discrete(name, method):
    f, g = both(name, method)
    k = np.array([-1.0, 0.0, 1.0, 2.0, 2.5, 5.0, 40.0])
    shapes = [np.float64(s) for s in COUNTED[name]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's own
        expected = g(k, *shapes, 1.0)
    np.testing.assert_allclose(fg.jit(f)(k, *shapes, 1.0), expected, rtol=1e-11, atol=1e-15)
    inside = np.array([2.0, 3.0, 4.0]) if name != "bernoulli" else np.array([1.0, 1.0])
    fixed = (0, 1) if name in ("binom", "betabinom") else (0,)
    check_function(f, g, (inside, *shapes, 1.0), static=fixed, rtol=1e-11)
    gradient = fg.grad(lambda k: np.sum(f(k, *shapes)))(inside)
    np.testing.assert_array_equal(gradient, 0 * inside)  # counts do not vary


@pytest.mark.parametrize(
    ("name", "method"), [(n, m) for n, m in CONTINUOUS if m in ("logpdf", "cdf")]
)
def test_second_derivatives(name, method):
    f = getattr(getattr(stats, name), method)
    operands = np.array([POINTS.get(name, INSIDE)[1], *SHAPES[name], 0.0, 1.0])
    gradient = fg.grad(lambda v: f(v[0], *[v[i] for i in range(1, len(operands))]))
    hessian = fg.jacfwd(gradient)(operands)
    steps, weights = (-2, -1, 1, 2), (1 / 12, -2 / 3, 2 / 3, -1 / 12)
    numeric = [
        sum(w / 1e-3 * gradient(operands + 1e-3 * k * e) for k, w in zip(steps, weights))
        for e in np.eye(len(operands))
    ]
    np.testing.assert_allclose(hessian, numeric, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-8, atol=1e-9)


def test_tails_keep_their_digits():
    value, slope = fg.value_and_grad(stats.norm.logsf)(40.0)
    np.testing.assert_allclose(value, scipy.stats.norm.logsf(40.0), rtol=1e-14)
    np.testing.assert_allclose(slope, -40.0249688, rtol=1e-8)
    value, slope = fg.value_and_grad(stats.truncnorm.logpdf)(30.0, 29.0, np.inf)
    np.testing.assert_allclose(value, scipy.stats.truncnorm.logpdf(30.0, 29.0, np.inf), rtol=1e-12)
    assert slope == -30.0
    by_bound = fg.grad(lambda a: stats.truncnorm.cdf(30.0, a, np.inf))(29.0)
    assert np.isfinite(by_bound)


def test_keywords_and_frozen_distributions():
    x = np.array([0.5, 1.5])
    for f in [
        lambda m: stats.norm(loc=m, scale=2.0).logpdf(x).sum(),
        lambda m: stats.norm(m, 2.0).logpdf(x).sum(),
        lambda m: stats.norm.logpdf(x, scale=2.0, loc=m).sum(),
    ]:
        np.testing.assert_allclose(fg.grad(f)(0.3), ((x - 0.3) / 4).sum())
    np.testing.assert_allclose(
        fg.grad(lambda a: stats.gamma.logpdf(x=2.0, a=a, scale=0.5))(1.5),
        np.log(4.0) - scipy.special.digamma(1.5),
    )
    assert stats.norm.mean(2.0) == 2.0  # SciPy's own
    assert stats.poisson(3.0).rvs(5, random_state=0).shape == (5,)


def test_single_precision_is_computed_in_double_as_by_scipy():
    x = np.float32([0.5, 1.5])
    assert fg.jit(stats.gamma.logpdf)(x, np.float32(2)).dtype == np.float64
    assert fg.grad(lambda x: stats.gamma.logpdf(x, 2.0).sum())(x).dtype == np.float32


# Vectors

MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
ROWS, SIMPLEX = reals(4, 3), np.array([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]])


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
@pytest.mark.parametrize(
    "args",
    [
        (ROWS, ROWS[0], MATRIX),
        (ROWS[1], ROWS[0], MATRIX),
        (reals(2, 4, 3), None, MATRIX),
        (ROWS, np.zeros(3), np.array([1.0, 2.0, 0.5])),
        (ROWS, np.zeros(3), np.float64(1.7)),
        (ROWS[:, 0], np.float64(0.2), np.float64(1.7)),
        (np.float64(0.4),),
    ],
    ids=lambda args: "-".join(str(np.shape(x)) for x in args),
)
def test_multivariate_normal(method, args):
    check_function(*both("multivariate_normal", method), args, static=(2,) if len(args) == 3 and np.ndim(args[2]) == 2 else (), rtol=1e-11)  # fmt: skip


def test_multivariate_normal_by_covariance():
    def log_density(root):
        return np.sum(stats.multivariate_normal.logpdf(ROWS, ROWS[0], root @ root.T))

    def expected(root):
        return np.sum(scipy.stats.multivariate_normal.logpdf(ROWS, ROWS[0], root @ root.T))

    check_function(fg.jit(log_density), expected, (np.linalg.cholesky(MATRIX),), vmap=False, rtol=1e-11)  # fmt: skip


def test_multivariate_normal_on_a_subspace():
    cov = np.array([[1.0, 1.0], [1.0, 1.0]])
    x = np.array([[0.5, 0.5], [1.0, 2.0]])
    found = fg.jit(lambda x: stats.multivariate_normal.logpdf(x, None, cov, True))(x)
    np.testing.assert_allclose(found, scipy.stats.multivariate_normal.logpdf(x, None, cov, True))
    with pytest.raises(TypeError, match="allow_singular"):
        fg.jit(lambda c: stats.multivariate_normal.logpdf(x, None, c, True))(cov)


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_dirichlet(method):
    alpha = np.array([1.5, 2.0, 0.7])
    for x in (SIMPLEX, SIMPLEX[:, 0], SIMPLEX[:2]):
        check_function(
            *both("dirichlet", method), (x, alpha), static=(0,), rtol=1e-12, vmap=x.ndim == 1
        )
    f = getattr(stats.dirichlet, method)
    gradient = fg.grad(lambda x: f(x, alpha))(np.array([0.2, 0.3]))  # the third is what is left
    numeric = [
        (f(np.array([0.2, 0.3]) + 1e-6 * e, alpha) - f(np.array([0.2, 0.3]) - 1e-6 * e, alpha))
        / 2e-6
        for e in np.eye(2)
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-7)
    outside = fg.jit(f)(np.array([0.9, 0.3, 0.5]), alpha)
    assert outside == (0.0 if method == "pdf" else -np.inf)


@pytest.mark.parametrize("method", ["pmf", "logpmf"])
def test_multinomial(method):
    f, g = both("multinomial", method)
    x, p = np.array([[1, 2, 4], [0, 0, 7], [1, 1, 1], [2, 2, 3]]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(fg.jit(lambda p: f(x, 7, p))(p), g(x, 7, p), rtol=1e-12)
    gradient = fg.grad(lambda p: stats.multinomial.logpmf(x[0], 7, p))(p)
    np.testing.assert_allclose(gradient, x[0] / p)


# Samples

A = np.array([[0.3, 2.0, 1.2, 0.7], [1.1, 0.4, 0.9, 3.0], [0.6, 1.4, 2.2, 0.2]])
TIES = np.array([[3, 1, 1, 2], [2, 2, 5, 5], [1, 4, 4, 4]])
SAMPLES = [
    *[
        (name, (A,), options)
        for name in ("sem", "variation", "gmean", "hmean", "skew", "kurtosis")
        for options in ({}, {"axis": 1, "keepdims": True}, {"axis": None})
    ],
    ("skew", (A,), {"bias": False}),
    ("kurtosis", (A,), {"axis": 1, "bias": False, "fisher": False}),
    ("moment", (A,), {"order": 3, "axis": 1}),
    ("moment", (A,), {"order": 2, "center": 0.5}),
    ("moment", (A,), {}),
    ("gmean", (A,), {"weights": np.array([[1.0], [2.0], [0.5]])}),
    ("hmean", (A,), {"weights": A}),
    ("zscore", (A,), {}),
    ("zscore", (A,), {"axis": 1, "ddof": 1}),
    ("zscore", (A,), {"axis": None}),
    ("sem", (TIES,), {"axis": 1}),
    ("sem", (A.astype("f4"),), {"axis": 1}),
    ("entropy", (A,), {}),
    ("entropy", (A,), {"axis": 1, "base": 2.0, "keepdims": True}),
    ("entropy", (A, A[:, ::-1].copy()), {}),
    *[
        ("rankdata", (x,), {"method": method, "axis": axis})
        for x in (A, TIES)
        for method in ("average", "min", "max", "dense", "ordinal")
        for axis in (None, 0, -1)
    ],
    ("mode", (TIES,), {}),
    ("mode", (A,), {"axis": 1, "keepdims": True}),
    ("mode", (TIES,), {"axis": None}),
    ("mode", (TIES,), {"axis": None, "keepdims": True}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "options"), SAMPLES)
def test_sample_statistic(name, args, options):
    f, g = getattr(stats, name), getattr(scipy.stats, name)
    check_function(f, g, args, options, static=("weights",), rtol=1e-11)


def test_moments_of_a_constant_sample_are_nan_without_a_derivative():
    value, gradient = fg.value_and_grad(stats.skew)(np.full(4, 2.0))
    assert np.isnan(value)
    assert not np.isnan(gradient).any()


DATA, WEIGHTS = reals(2, 6, high=3.0), reals(6, seed=2)


@pytest.mark.parametrize(
    ("data", "bandwidth"),
    [(DATA, None), (DATA, 0.4), (DATA[0], "silverman")],
    ids=["plane", "number", "line"],
)
def test_gaussian_kde(data, bandwidth):
    points = data[..., :4] + 0.3
    others = data[..., 1:] * 0.9
    mean, cov = (np.full(2, 0.5), MATRIX[:2, :2]) if data.ndim == 2 else (0.5, 1.3)

    def program(kde):
        def run(data, points, weights):
            k = kde(data, bandwidth, weights)
            results = [
                k.evaluate(points),
                k.logpdf(points),
                k.integrate_gaussian(mean, cov),
                k.integrate_kde(kde(others)),
            ]
            if data.ndim == 1:
                results.append(k.integrate_box_1d(0.2, 0.9))
            return results

        return run

    f, g = program(stats.gaussian_kde), program(scipy.stats.gaussian_kde)
    check_function(f, g, (data, points, WEIGHTS), rtol=1e-11)
    fixed = stats.gaussian_kde(data)  # of plain data, at traced points
    np.testing.assert_allclose(
        fg.jit(fixed.evaluate)(points), scipy.stats.gaussian_kde(data)(points), rtol=1e-12
    )


# Errors


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda x: stats.vonmises.cdf(x, 1.0), TypeError, r"vonmises.cdf has no rule for traced arrays"),
        (lambda x: stats.gamma.logpdf(x), TypeError, r"gamma.logpdf: missing a required argument: 'a'"),
        (lambda x: stats.norm.logpdf(x, mean=1.0), TypeError, r"norm.logpdf: got an unexpected keyword"),
        (lambda x: stats.multivariate_normal.logpdf(x, np.zeros(3)), ValueError, "components along its last axis"),
        (lambda x: stats.dirichlet.logpdf(np.ones(5) * x, np.ones(3)), ValueError, "as many"),
        (lambda x: stats.sem(np.ones(3) * x, nan_policy="omit"), ValueError, "nan_policy"),
        (lambda x: stats.rankdata(np.ones(3) * x, "best"), ValueError, "unknown method"),
        (lambda x: stats.gaussian_kde(np.ones(3) * x, "best"), ValueError, "bw_method"),
        (lambda x: stats.gaussian_kde(np.arange(3) * x).resample(2), AttributeError, "plain arrays"),
    ],
)  # fmt: skip
def test_error(f, error, message):
    with pytest.raises(error, match=message):
        fg.grad(f)(1.0)


def test_namespace():
    for name in stats.__all__:
        value = getattr(stats, name)
        assert inspect.getdoc(value), name
    assert stats.__dir__() == sorted(stats.__all__)
    assert repr(stats.norm) == "<fungrad.scipy.stats.norm>"
    with pytest.raises(AttributeError, match=r"scipy\.stats\.zmap works on plain arrays"):
        stats.zmap


def test_normal_and_lognormal_distributions_by_their_formulas():
    q = np.array([0.1, 0.5, 0.9])
    isf, sf = fg.jit(stats.norm.isf)(q), fg.jit(stats.norm.sf)
    np.testing.assert_allclose(sf(isf), q, rtol=1e-14)
    y, s = np.array([0.5, 2.0]), 0.5
    expected = np.exp(-0.5 * (np.log(y) / s) ** 2) / (np.sqrt(2 * np.pi) * s * y)
    np.testing.assert_allclose(fg.jit(stats.lognorm.pdf)(y, s), expected, rtol=1e-14)


def test_gennorm_of_exponent_two_is_normal():
    """Its logarithm is a parabola, which has a second derivative at the peak too."""
    x = np.array([0.0, 1.5, 1e-200])
    f = lambda x: stats.gennorm.logpdf(x, 2.0, 0.0, np.sqrt(2))
    np.testing.assert_allclose(fg.jit(f)(x), stats.norm.logpdf(x), 1e-12)
    total = lambda x: f(x).sum()
    for second in (fg.hessian(total), fg.jit(fg.hessian(total)), fg.jacrev(fg.jacrev(total))):
        np.testing.assert_allclose(second(x), -np.eye(3), 1e-12, 1e-12)
