"""fungrad.scipy.special against scipy.special: values, dtypes, transforms, derivatives, errors."""

import inspect
import math
import sys
import types
import warnings

import numpy as np
import pytest
import scipy.special as sc

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.scipy import special
from tests.backends.fake_cupy import make_module
from tests.numpy.checker import check_function
from tests.samples.row import complexes, integers, reals

X, Y, Z = reals(2, 3), reals(3, seed=1), complexes(2, 3)
POSITIVE = reals(2, 3, low=0.5, high=6.0)
SIGNED = reals(2, 3, low=-2.0, high=2.0)
COUNTS = integers(2, 3, low=1, high=5)

# Ufuncs by the operands they are checked on; a second operand is broadcast.
TABLE = [
    (
        (POSITIVE,),
        (
            "gamma gammaln loggamma rgamma digamma exp1 expi spence y0 y1 i0 i0e i1 i1e k0 k0e k1 k1e"
        ),
    ),
    (
        (Z,),
        (
            "gamma loggamma digamma rgamma erf erfc erfcx erfi dawsn wofz exp1 expi spence ndtr log_ndtr expm1 "
            "log1p wrightomega"
        ),
    ),
    (
        (SIGNED,),
        (
            "erf erfc erfcx erfi dawsn ndtr log_ndtr expit log_expit exprel exp2 exp10 expm1 cosm1 gammasgn j0 j1 "
            "wrightomega fresnel sici airy"
        ),
    ),
    (
        (X,),
        (
            "erfinv erfcinv ndtri logit entr ellipk ellipe ellipkm1 log1p cbrt sici shichi fresnel airy"
        ),
    ),
    ((-X,), ("ndtri_exp ellipk ellipe gamma digamma")),
    (
        (POSITIVE, Y),
        (
            "beta betaln poch binom rel_entr kl_div huber pseudo_huber xlogy xlog1py boxcox boxcox1p powm1 "
            "gammainc gammaincc gammaincinv gammainccinv chdtr chdtrc chdtri stdtr stdtrit kv kve inv_boxcox inv_boxcox1p owens_t "
            "ellipkinc ellipeinc"
        ),
    ),
    ((POSITIVE, Y + 1, X), ("betainc betaincc betaincinv betainccinv gdtr gdtrc fdtr fdtrc fdtri")),
]

CASES = [
    pytest.param(name, operands, None, id=f"{name}-{'-'.join(str(x.dtype) for x in operands)}-{k}")
    for k, (operands, names) in enumerate(TABLE)
    for name in names.split()
] + [
    pytest.param(name, operands, moving, id=f"{name}-of-order-{operands[-1].dtype}")
    for operands, moving, names in [
        ((COUNTS, POSITIVE), (1,), "expn kn yn eval_legendre eval_chebyt eval_chebyu eval_laguerre pdtr pdtrc"),
        ((COUNTS, SIGNED), (1,), "eval_hermite eval_hermitenorm"),
        ((X, POSITIVE), (1,), "jv jve yv yve iv ive hyp0f1"),
        ((X, Z), (1,), "jv jve yv yve iv ive kv kve hankel1 hankel1e hankel2 hankel2e hyp0f1"),
        ((SIGNED, Y), (0,), "ellipj"),
        ((COUNTS, X, SIGNED), (2,), "eval_gegenbauer eval_genlaguerre"),
        ((X, POSITIVE, SIGNED), (2,), "hyp1f1"),
        ((X, POSITIVE, POSITIVE), (2,), "hyperu"),
        ((COUNTS, X, POSITIVE, SIGNED), (3,), "eval_jacobi"),
        ((X, POSITIVE, Y + 1, 0.3 * SIGNED), (3,), "hyp2f1"),
        ((COUNTS % 3, COUNTS + 0.0, 0.4 * SIGNED), (2,), "lpmv"),
        ((COUNTS, COUNTS + 3, X), (2,), "bdtr bdtrc nbdtr nbdtrc"),
    ]
    for name in names.split()
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "moving"), CASES)
def test_ufunc(name, operands, moving):
    fixed = [i for i, x in enumerate(operands) if x.dtype.kind in "fc" and i not in (moving or [i])]
    check_function(getattr(special, name), getattr(sc, name), operands, static=fixed, rtol=2e-12)


@pytest.mark.parametrize(("name", "operands", "moving"), CASES)
def test_scipy_itself_takes_tracers(name, operands, moving):
    scipy_function, function = getattr(sc, name), getattr(special, name)
    traced = fg.tree.leaves(fg.jit(lambda *xs: scipy_function(*xs))(*operands))
    for x, y in zip(traced, fg.tree.leaves(fg.jit(function)(*operands)), strict=True):
        np.testing.assert_array_equal(x, y)


SINGLE = [c for c in CASES if all(x.dtype.kind in "fc" for x in c.values[1])]


@pytest.mark.parametrize(("name", "operands", "moving"), SINGLE)
def test_single_precision_stays(name, operands, moving):
    low = [x.astype(np.float32 if x.dtype.kind == "f" else np.complex64) for x in operands]
    f = getattr(special, name)
    expected = fg.tree.leaves(getattr(sc, name)(*low))
    last = len(low) - 1 if moving is None else moving[0]
    value, tangent = fg.jvp(
        lambda x: f(*low[:last], x, *low[last + 1 :]), (low[last],), (np.ones_like(low[last]),)
    )
    for x, t, y in zip(fg.tree.leaves(value), fg.tree.leaves(tangent), expected, strict=True):
        assert x.dtype == y.dtype
        assert t.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-5)


A = reals(2, 3, low=-2.0, high=2.0, seed=5)
WEIGHTS = np.array([[0.5, 0.0, 2.0], [1.0, 1.5, 0.25]])
FUNCTIONS = [
    ("logsumexp", (A,), {}),
    ("logsumexp", (A,), {"axis": 1, "keepdims": True}),
    ("logsumexp", (A,), {"axis": -2, "b": WEIGHTS}),
    ("logsumexp", (A,), {"axis": (0, 1), "b": -WEIGHTS, "return_sign": True}),
    ("logsumexp", (A,), {"axis": 0, "return_sign": True}),
    ("logsumexp", (np.float64(1.5),), {}),
    ("logsumexp", (Z,), {"axis": 0}),
    ("logsumexp", (COUNTS,), {"axis": 1}),
    ("logsumexp", (np.array([0.0, -60.0]),), {}),
    ("softmax", (A,), {}),
    ("softmax", (A,), {"axis": 1}),
    ("log_softmax", (A,), {"axis": -1}),
    ("log_softmax", (30 * A,), {"axis": 0}),
    ("softplus", (A,), {}),
    ("factorial", (POSITIVE,), {}),
    ("factorial", (COUNTS - 2,), {}),
    ("comb", (POSITIVE + 3, X), {}),
    ("comb", (COUNTS, np.int64(2)), {}),
    ("comb", (POSITIVE + 3, X), {"repetition": True}),
    ("perm", (POSITIVE + 3, X), {}),
    ("multigammaln", (POSITIVE + 3, 3), {}),
    ("zeta", (POSITIVE + 1,), {}),
    ("zeta", (-POSITIVE,), {}),
    ("zeta", (POSITIVE + 1, Y), {}),
    ("lambertw", (Z,), {}),
    ("lambertw", (X,), {"k": -1}),
    ("legendre_p", (COUNTS, SIGNED / 3), {}),
    ("sph_harm_y", (COUNTS + 1, -COUNTS, X, X + 1), {}),
    ("sph_harm_y", (3, 2, X, Y), {}),
    ("sinc", (SIGNED,), {}),
    *[("polygamma", (n, POSITIVE), {}) for n in (0, 1, 3, COUNTS)],
    *[(f"spherical_{k}", (COUNTS, POSITIVE), {}) for k in ("jn", "yn", "in", "kn")],
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "options"), FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*invalid value:RuntimeWarning")
def test_function(name, args, options):
    check_function(
        getattr(special, name), getattr(sc, name), args, options, static=("b",), rtol=2e-12
    )


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_logsumexp_keeps_the_dtype(dtype):
    a = np.array([0.5, -1.0, 2.0], dtype)
    for options in ({}, {"b": a}, {"axis": 0, "keepdims": True}):
        f = fg.jit(lambda x, options=options: special.logsumexp(x, **options))
        assert f(a).dtype == sc.logsumexp(a, **options).dtype == dtype


def test_logsumexp_of_infinite_exponents():
    a = np.array([-np.inf, 2.0, 1000.0])
    value, gradient = fg.value_and_grad(special.logsumexp)(a)
    assert value == 1000.0
    np.testing.assert_array_equal(gradient, [0, 0, 1])
    value, gradient = fg.value_and_grad(special.logsumexp)(np.full(3, -np.inf))
    assert value == -np.inf
    np.testing.assert_array_equal(gradient, [0, 0, 0])


def test_logsumexp_of_nothing():
    value, pull = fg.vjp(lambda a: special.logsumexp(a, axis=0), np.zeros((0, 3)))
    np.testing.assert_array_equal(value, np.full(3, -np.inf))
    assert pull(np.ones(3))[0].shape == (0, 3)


def test_logsumexp_by_weights():
    gradient = fg.grad(lambda b: special.logsumexp(A, b=b))(WEIGHTS + 0.1)
    np.testing.assert_allclose(gradient, np.exp(A - sc.logsumexp(A, b=WEIGHTS + 0.1)))


# Values and derivatives where formulas are delicate


@pytest.mark.parametrize(
    ("f", "x", "order", "expected"),
    [
        (special.j1, 0.0, 1, 0.5),
        (special.exprel, 0.0, 2, 1 / 3),
        (special.spence, 1.0, 2, 0.5),
        (special.ellipk, 0.0, 2, 9 * math.pi / 64),
        (special.ellipkm1, 1.0, 1, -math.pi / 8),
        (lambda x: special.boxcox(2.0, x), 0.0, 1, math.log(2) ** 2 / 2),
        (lambda x: special.inv_boxcox(2.0, x), 0.0, 1, -2 * math.exp(2)),
        (lambda x: special.sici(x)[0], 0.0, 3, -1 / 3),
        (lambda x: special.shichi(x)[0], 0.0, 3, 1 / 3),
        (lambda x: special.xlogy(x, 0.5), 0.0, 1, math.log(0.5)),
        (lambda y: special.xlogy(0.0, y), 0.0, 1, 0.0),
        (special.entr, -1.0, 1, 0.0),
        (special.log_ndtr, -1e4, 1, 1e4 + 1e-4),
        (special.log_ndtr, 50.0, 1, 0.0),
        (special.log_expit, -800.0, 1, 1.0),
        (lambda a: special.gammainc(a, 0.0), 2.0, 1, 0.0),
        (lambda a: special.gammainc(a, np.inf), 2.0, 1, 0.0),
        (lambda x: special.betainc(2.0, 3.0, x), 0.0, 1, 0.0),
        (lambda v: special.stdtr(v, 0.0), 2.0, 1, 0.0),
        (lambda a: fg.grad(special.gammainc, 1)(a, 0.0), 2.0, 1, 0.0),
        (lambda a: fg.grad(special.betainc, 2)(2.0, a, 1.0), 3.0, 1, 0.0),
        (lambda x: special.gammainc(2.0, x), 0.0, 2, 1.0),
        (lambda x: special.gammainc(2.0, x), 0.0, 3, -2.0),
        (lambda x: special.gammainc(2.0, x), np.inf, 2, 0.0),
        (lambda x: special.betainc(2.0, 3.0, x), 0.0, 2, 12.0),
        (lambda x: special.betainc(2.0, 3.0, x), 0.0, 3, -48.0),
        (lambda x: special.betainc(3.0, 2.0, x), 1.0, 2, -12.0),
        *[(lambda a, f=f, y=y: f(a, y), 2.3, n, 0.0)
          for f in (special.gammaincinv, special.gammainccinv) for y in (0.0, 1.0) for n in (1, 2)],
        *[(lambda a, f=f, y=y: f(a, 3.1, y), 2.3, 1, 0.0)
          for f in (special.betaincinv, special.betainccinv) for y in (0.0, 1.0)],
        *[(lambda b, f=f, y=y: f(2.3, b, y), 3.1, 1, 0.0)
          for f in (special.betaincinv, special.betainccinv) for y in (0.0, 1.0)],
        *[(lambda v, p=p: special.stdtrit(v, p), 2.3, 1, 0.0) for p in (0.0, 1.0)],
        (lambda m: special.ellipkinc(0.5 * math.pi, m), 0.0, 2, 9 * math.pi / 64),
        (special.zeta, 0.0, 1, -0.5 * math.log(2 * math.pi)),
        (special.zeta, -2.0, 1, -sc.zeta(3) / (4 * math.pi**2)),
        (lambda x: special.comb(3, x), 4.0, 1, 0.0),
        (lambda x: special.sph_harm_y(2, 1, x, 0.0).real, 0.0, 1, -math.sqrt(15 / (8 * math.pi))),
        (lambda x: special.logsumexp(fnp.stack([x, -np.inf])), 0.0, 1, 1.0),
        *[(lambda x, f=f, k=k: f(x, k * x), y, 1, 1.0)
          for f in (fnp.logaddexp, fnp.logaddexp2) for y in (-np.inf, np.inf) for k in (1.0, 1)],
        (lambda x: fnp.logaddexp(x, -np.inf), -np.inf, 1, 0.5),
        (lambda x: special.logsumexp(x * np.array([1.0, 1.0]), b=np.array([1.0, -1.0])), 0.0, 1, 0.0),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_derivative_at_a_delicate_point(f, x, order, expected):
    for _ in range(order):
        f = fg.grad(f)
    np.testing.assert_allclose(f(np.float64(x)), expected, rtol=1e-9, atol=1e-14)


# Leading terms of asymptotic series: the next ones are smaller by x^2, or by x for differences of digammas.
FAR = [
    (special.log_ndtr, -1, 1, lambda x: x),
    (special.log_ndtr, -1, 3, lambda x: 2 / x**3),
    (special.dawsn, 1, 1, lambda x: -0.5 / x**2),
    (special.dawsn, -1, 1, lambda x: -0.5 / x**2),
    (special.dawsn, 1, 2, lambda x: x**-3.0),
    (special.erfcx, 1, 1, lambda x: -1 / (math.sqrt(math.pi) * x**2)),
    (special.erfcx, 1, 2, lambda x: 2 / (math.sqrt(math.pi) * x**3)),
    (lambda x: special.wofz(1j * x).real, 1, 1, lambda x: -1 / (math.sqrt(math.pi) * x**2)),
    (lambda x: special.wofz(x + 0j).imag, 1, 1, lambda x: -1 / (math.sqrt(math.pi) * x**2)),
    (lambda a: special.betaln(a, 0.5), 1, 1, lambda a: -0.5 / a),
    (lambda a: special.betaln(a, 0.5), 1, 2, lambda a: 0.5 / a**2),
    (lambda a: special.beta(0.5, a) * 1e4, 1, 1, lambda a: -5e3 * sc.beta(0.5, a) / a),
    (lambda a: special.poch(a, 2.0), 1, 1, lambda a: 2 * a),
    (lambda n: special.binom(n, 2.0), 1, 1, lambda n: n),
]


@pytest.mark.parametrize(("f", "sign", "order", "expected"), FAR)
def test_derivatives_of_large_arguments_do_not_cancel(f, sign, order, expected):
    for _ in range(order):
        f = fg.grad(f)
    for x in (1e6, 1e8):
        np.testing.assert_allclose(f(np.float64(sign * x)) / expected(x), 1.0, rtol=2 / x)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: special.expn(2, x), 1.0, -0.21938393439552029),
        (lambda x: special.expn(3, x), 0.0, -1.0),
        (lambda x: special.expn(3, x), -0.0, -1.0),
        (lambda x: special.expn(1, x), 1.0, -math.exp(-1.0)),
        (special.ndtri_exp, -math.inf, 0.0),
        (lambda x: special.wofz(x + 0j).imag, math.inf, 0.0),
        (lambda x: special.wofz(x + 0j).imag, -math.inf, 0.0),
    ],
)
def test_slopes_at_ends_are_computed_without_a_warning(f, x, expected):
    with np.errstate(all="raise"), warnings.catch_warnings(action="error"):
        np.testing.assert_allclose(fg.grad(f)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("f", "bound"),
    [
        (special.log_ndtr, -50.0),
        (special.dawsn, 20.0),
        (special.dawsn, -20.0),
        (special.erfcx, 20.0),
        (lambda x: special.wofz(1j * x).real, 20.0),
        (lambda x: special.betaln(x, 0.5), 1e3),
    ],
)
def test_asymptotic_series_continue_the_formulas(f, bound):
    slope = fg.grad(f)
    below, above = slope(np.nextafter(bound, -np.inf)), slope(np.nextafter(bound, np.inf))
    np.testing.assert_allclose(below, above, rtol=2e-12)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "i8", "f2", "f4"])
def test_softmax_of_small_integers_is_of_low_precision(dtype):
    x = np.array([1, 2, 4], dtype)
    for name in ("softmax", "log_softmax"):
        found, f = fg.jit(getattr(special, name))(x), getattr(sc, name)
        assert found.dtype == f(np.ones_like(x)).dtype
        expected = f(x.astype("f8"))  # SciPy's differences of unsigned integers wrap around
        np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(found.dtype).eps)


def test_parameters_of_the_incomplete_functions_in_both_tails():
    """The two tails have opposite derivatives, each to full relative precision."""
    a = np.array([0.01, 0.5, 3.0, 80.0, 3000.0])[:, None]
    x = a * np.array([1e-3, 0.5, 1.0, 1.5, 4.0])
    by_a = fg.vmap(fg.vmap(fg.grad(special.gammainc)))(np.broadcast_to(a, x.shape), x)
    steps, weights = np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12
    h = 1e-3 * np.minimum(a, np.sqrt(a))
    below = sum(w / h * sc.gammainc(a + k * h, x) for w, k in zip(weights, steps))
    above = sum(w / h * sc.gammaincc(a + k * h, x) for w, k in zip(weights, steps))
    numeric = np.where(sc.gammainc(a, x) < 0.5, below, -above)
    np.testing.assert_allclose(by_a, numeric, rtol=1e-6)


def test_the_order_of_kv_can_be_learned():
    x = np.array([0.01, 1.0, 30.0])
    v = np.array([0.5, 0.5, 0.5])
    # d/dv K_v at v = 1/2: DLMF 10.38.7.
    expected = np.sqrt(math.pi / (2 * x)) * np.exp(x) * sc.exp1(2 * x)
    np.testing.assert_allclose(fg.grad(lambda v: special.kv(v, x).sum())(v), expected, rtol=1e-12)


# Errors


@pytest.mark.parametrize(
    ("f", "x", "error", "message"),
    [
        (lambda v: special.jv(v, 2.0), 0.5, fg.MissingRuleError, "jv has no rule for its derivative by the order v"),
        (lambda a: special.hyp1f1(a, 2.0, 1.0), 0.5, fg.MissingRuleError, "the parameter a"),
        (lambda v: special.kv(v, 2j).real, 0.5, fg.MissingRuleError, "the order v at complex x"),
        (lambda n: special.polygamma(n, 2.0), 1.0, TypeError, "order n is an integer"),
        (lambda n: special.factorial(n, exact=True), 1.0, TypeError, "exact=True"),
        (lambda z: special.spherical_jn(1, z, derivative=True), 1.0, TypeError, "fungrad.jvp"),
        (lambda z: special.legendre_p(1, z, diff_n=1), 1.0, TypeError, "fungrad.jvp"),
        (lambda x: sc.struve(1, x), 1.0, TypeError, r"scipy.special.struve has no rule for traced arrays"),
        (lambda x: sc.ellipkinc.reduce(fnp.stack([x, x])), 1.0, TypeError, r"scipy.special.ellipkinc.reduce"),
        (lambda x: sc.gammainc(x), 1.0, TypeError, "positional arguments"),
        (lambda x: sc.erfinv(x + 0j).real, 1.0, TypeError, "not defined for operands of types complex128"),
    ],
)  # fmt: skip
def test_error(f, x, error, message):
    with pytest.raises(error, match=message):
        fg.grad(f)(np.float64(x))


def test_a_function_without_a_rule_names_a_near_one():
    with pytest.raises(TypeError, match=r"There is one for scipy\.special\.eval_chebyt"):
        fg.grad(lambda x: sc.eval_sh_chebyt(3, x))(0.3)


def test_an_order_that_is_not_differentiated_by_is_no_error():
    assert fg.grad(special.jv, 1)(0.5, 2.0) == fg.grad(lambda x: sc.jv(0.5, x))(2.0)
    v = fg.stop_gradient
    assert np.isfinite(fg.grad(lambda p: special.jv(v(p[0]), p[1]))(np.array([0.5, 2.0]))).all()


def test_a_function_that_cupy_lacks_says_where_to_compute(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupyx.scipy.special", types.ModuleType("empty"))
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(NotImplementedError, match=r"CuPy has no special function kv.*x\.get\(\)"):
        fg.grad(lambda x: special.kv(0.5, x).sum())(cupy.asarray(POSITIVE))


def test_namespace():
    assert special.__dir__() == sorted(special.__all__)
    for name in special.__all__:
        function = getattr(special, name)
        assert inspect.getdoc(function), name
        assert function.__name__, name
    with pytest.raises(AttributeError, match=r"has no 'struve'; scipy\.special\.struve works"):
        special.struve
    with pytest.raises(AttributeError, match="did you mean 'gammainc'"):
        special.gamainc


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("kind", ["jn", "yn", "in", "kn"])
def test_dtypes_of_spherical_bessel_functions(kind, dtype):
    name = f"spherical_{kind}"
    x = np.array([0.5, 2.0], dtype)
    expected = getattr(sc, name)(2, x)
    found = fg.jit(lambda x: getattr(special, name)(2, x))(x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, 1e-5)


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # in SciPy
def test_logsumexp_of_nothing_has_scipys_dtype(dtype):
    for shape, axis in (((0,), None), ((2, 0), 1), ((2, 0), 0)):
        x = np.zeros(shape, dtype)
        for options in ({}, {"keepdims": True}):
            expected = sc.logsumexp(x, axis, **options)
            found = fg.jit(lambda x: special.logsumexp(x, axis, **options))(x)  # noqa: B023
            assert (found.dtype, found.shape) == (expected.dtype, np.shape(expected))
            np.testing.assert_array_equal(found, expected)


def test_logsumexp_of_large_exponents():
    a = np.array([1000.0, 1000.0])
    f = fg.jit(lambda a: [special.logsumexp(a), special.logsumexp(a, b=np.array([1.0, 2.0]))])
    np.testing.assert_allclose(f(a), [1000 + np.log(2), 1000 + np.log(3)], rtol=1e-15)
