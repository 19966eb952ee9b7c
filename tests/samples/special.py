"""Rows for primitives/special.py and the modules beside it that call `scipy.special`."""

import math

import numpy as np
import scipy.integrate
import scipy.special as sc

from fungrad.primitives import bessel as b
from fungrad.primitives import hypergeometric as h
from fungrad.primitives import incomplete as i
from fungrad.primitives import special as s
from fungrad.primitives import student
from fungrad.primitives.zeta import Zeta
from tests.samples.row import Sample, complexes, integers, reals


def row(primitive, *operands, oracle, fixed=(), name="", tolerance=1e-11):
    return Sample(primitive, operands, oracle, name=name, tolerance=tolerance, fixed=fixed)


def integral(f, low, high):
    """Return the integral of ``f(t, *operands)`` over t, for each element of the operands."""

    def one(*operands):
        ends = [end(*operands) if callable(end) else end for end in (low, high)]
        return scipy.integrate.quad(f, *ends, operands, epsabs=0, epsrel=1e-12, limit=200)[0]

    return np.vectorize(one)


def power_series(*, above=(), below=()):
    """Return pFq(operands[above]; operands[below]; last operand), summed term by term."""

    def oracle(*operands):
        x = operands[-1]
        term = total = np.ones(np.shape(x), np.result_type(x, float))
        for n in range(200):
            for j in above:
                term = term * ((operands[j] if isinstance(j, int) else j) + n)
            for j in below:
                term = term / ((operands[j] if isinstance(j, int) else j) + n)
            term = term * x / (n + 1)
            total = total + term
        return total

    return oracle


def central(f, position):
    """Return the derivative of `f` by one operand, by central differences of order 8."""
    weights = (1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280)

    def oracle(*operands):
        step = 0.01
        moved = [
            [x + k * step if j == position else x for j, x in enumerate(operands)]
            for k in range(-4, 5)
        ]
        return sum(w / step * f(*xs) for w, xs in zip(weights, moved, strict=True))

    return oracle


X, Y, Z = reals(2, 3), reals(2, 3, seed=1), complexes(2, 3)
WIDE = reals(2, 3, low=0.5, high=6.0)
SIGNED = reals(2, 3, low=-0.9, high=0.9, seed=3)
A, B = reals(2, 3, low=0.6, high=4.0, seed=4), reals(2, 3, low=0.6, high=4.0, seed=5)
N = integers(2, 3, high=5)
DEGREES = reals(2, 3, low=0.2, high=3.3)

GAMMA = [
    row(s.gamma, WIDE, oracle=integral(lambda t, x: t**x * math.exp(-t) / x, 0, np.inf)),
    row(s.gamma, Z, oracle=lambda z: sc.gamma(z + 1) / z, name="complex"),
    row(s.gammaln, WIDE, oracle=np.vectorize(math.lgamma)),
    row(s.loggamma, Z, oracle=lambda z: np.log(sc.gamma(z))),
    row(s.loggamma, WIDE, oracle=np.vectorize(math.lgamma), name="real"),
    row(s.gammasgn, SIGNED, oracle=lambda x: np.sign(sc.gamma(x))),
    row(s.rgamma, WIDE, oracle=lambda x: 1 / np.vectorize(math.gamma)(x)),
    row(s.rgamma, Z, oracle=lambda z: 1 / sc.gamma(z), name="complex"),
    row(s.digamma, WIDE, oracle=central(sc.gammaln, 0)),
    row(s.digamma, Z, oracle=lambda z: sc.psi(z + 1) - 1 / z, name="complex"),
    row(s.digamma, reals(4, low=-0.9, high=-0.2), oracle=lambda x: sc.psi(x + 1) - 1 / x, name="< 0"),
    row(s.beta, A, B, oracle=lambda a, b: np.exp(sc.gammaln(a) + sc.gammaln(b) - sc.gammaln(a + b))),
    row(s.betaln, A, B, oracle=lambda a, b: np.log(sc.gamma(a) * sc.gamma(b) / sc.gamma(a + b))),
    row(s.poch, A, B, oracle=lambda a, m: sc.gamma(a + m) / sc.gamma(a)),
    row(s.binom, A + 4, B, oracle=lambda n, k: 1 / ((n + 1) * sc.beta(n - k + 1, k + 1))),
    row(Zeta(0), A + 1, B, oracle=lambda x, q: sc.zeta(x, q + 1) + q**-x),
    row(Zeta(0), np.full((2, 3), 3.0), Z, oracle=lambda x, q: central_polygamma(q), fixed=(0,),
        name="complex"),
    row(Zeta(1), A + 1, B, oracle=central(sc.zeta, 0), name="once"),
    row(Zeta(2), A + 1.5, B, oracle=central(Zeta(1).__call__, 0), name="twice", tolerance=1e-9),
    row(s.RiemannZeta(), A + 1, oracle=lambda x: sc.zeta(x, 1)),
    row(s.RiemannZeta(), reals(4, low=-4, high=0.7), oracle=np.vectorize(sc.zeta), name="left"),
]  # fmt: skip


def central_polygamma(q):
    """zeta(3, q), by two differences of the digamma function on a circle (Cauchy's formula)."""
    angles = 2 * np.pi * np.arange(32) / 32
    around = [sc.psi(q + 0.2 * np.exp(1j * a)) * np.exp(-2j * a) for a in angles]
    return -sum(around) / len(angles) / 0.2**2


def gaussian(t):
    return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)


ERROR = [
    row(s.erf, SIGNED, oracle=np.vectorize(math.erf)),
    row(s.erf, Z, oracle=lambda z: 1 - np.exp(-z * z) * sc.wofz(1j * z), name="complex"),
    row(s.erfc, SIGNED, oracle=np.vectorize(math.erfc)),
    row(s.erfc, Z, oracle=lambda z: np.exp(-z * z) * sc.wofz(1j * z), name="complex"),
    row(s.erfcx, SIGNED, oracle=lambda x: np.exp(x * x) * np.vectorize(math.erfc)(x)),
    row(s.erfi, SIGNED, oracle=lambda x: sc.erf(1j * x).imag),
    row(s.dawsn, SIGNED, oracle=lambda x: math.sqrt(math.pi) / 2 * np.exp(-x * x) * sc.erfi(x)),
    row(s.dawsn, Z, oracle=lambda z: math.sqrt(math.pi) / 2 * np.exp(-z * z) * sc.erfi(z), name="complex"),
    row(s.wofz, Z, oracle=lambda z: np.exp(-z * z) * sc.erfc(-1j * z)),
    row(s.erfinv, SIGNED, oracle=lambda y: sc.ndtri((y + 1) / 2) / math.sqrt(2)),
    row(s.erfcinv, X + 0.2, oracle=lambda y: -sc.ndtri(y / 2) / math.sqrt(2)),
    row(s.ndtr, SIGNED, oracle=lambda x: 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))),
    row(s.ndtri, X, oracle=lambda y: math.sqrt(2) * sc.erfinv(2 * y - 1)),
    row(s.ndtri_exp, -A, oracle=lambda y: sc.ndtri(np.exp(y))),
    row(s.log_ndtr, SIGNED, oracle=lambda x: np.log(0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2)))),
    row(s.log_ndtr, Z, oracle=lambda z: np.log(0.5 * sc.erfc(-z / math.sqrt(2))), name="complex"),
    row(s.InverseMills(), SIGNED, oracle=lambda x: np.vectorize(gaussian)(x) / sc.ndtr(x)),
    row(s.owens_t, SIGNED, Y, oracle=integral(lambda t, h, a: math.exp(-h * h * (1 + t * t) / 2) / (1 + t * t) / (2 * math.pi), 0, lambda h, a: a)),
    row(s.fresnel_s, X, oracle=integral(lambda t, x: math.sin(math.pi / 2 * t * t), 0, lambda x: x)),
    row(s.fresnel_c, X, oracle=integral(lambda t, x: math.cos(math.pi / 2 * t * t), 0, lambda x: x)),
    row(s.fresnel_c, Z, oracle=lambda z: z * power_series(above=(0.25,), below=(0.5, 1.25))(-((math.pi * z * z / 4) ** 2)), name="complex"),
]  # fmt: skip

INTEGRALS = [
    row(s.exp1, WIDE, oracle=integral(lambda t, x: math.exp(-x * t) / t, 1, np.inf)),
    row(s.exp1, Z, oracle=lambda z: -np.euler_gamma - np.log(z) + z * power_series(above=(1.0, 1.0), below=(2.0, 2.0))(-z), name="complex"),
    row(s.expi, X, oracle=lambda x: np.euler_gamma + np.log(x) + x * power_series(above=(1.0, 1.0), below=(2.0, 2.0))(x)),
    row(s.expn, N, WIDE, oracle=integral(lambda t, n, x: math.exp(-x * t) / t**n, 1, np.inf)),
    row(s.exprel, SIGNED, oracle=lambda x: np.expm1(x) / x),
    row(s.exprel, np.zeros(2), oracle=lambda x: x + 1, name="0"),
    row(s.si, SIGNED, oracle=integral(lambda t, x: np.sinc(t / np.pi), 0, lambda x: x)),
    row(s.si, Z, oracle=lambda z: -1j * sc.shichi(1j * z)[0], name="complex"),
    row(s.ci, X, oracle=lambda x: np.euler_gamma + np.log(x) + integral(lambda t, x: (math.cos(t) - 1) / t, 0, lambda x: x)(x)),
    row(s.shi, SIGNED, oracle=lambda x: (sc.expi(abs(x)) + sc.exp1(abs(x))) / 2 * np.sign(x)),
    row(s.chi, X, oracle=lambda x: (sc.expi(x) - sc.exp1(x)) / 2),
    row(s.shi, Z, oracle=lambda z: -1j * sc.sici(1j * z)[0], name="complex"),
    row(s.spence, WIDE, oracle=integral(lambda t, x: -math.log(t) / (t - 1), 1, lambda x: x)),
    row(s.spence, np.ones(2), oracle=lambda x: x - 1, name="1"),
    row(s.wrightomega, SIGNED, oracle=lambda x: sc.lambertw(np.exp(x)).real),
    row(s.LambertW(0, 1e-8), Z, oracle=lambda z: sc.wrightomega(np.log(z))),
    row(s.LambertW(-1, 1e-8), Z, oracle=lambda z: sc.wrightomega(np.log(z) - 2j * np.pi), name="branch"),
]  # fmt: skip

ELEMENTARY = [
    row(s.exp2, SIGNED, oracle=lambda x: 2**x),
    row(s.exp10, SIGNED, oracle=lambda x: 10**x),
    row(s.expm1, SIGNED, oracle=lambda x: np.exp(x) - 1),
    row(s.special_log1p, Z, oracle=lambda z: np.log(1 + z)),
    row(s.cbrt, X, oracle=lambda x: x ** (1 / 3)),
    row(s.cosm1, SIGNED, oracle=lambda x: -2 * np.sin(x / 2) ** 2),
    row(s.powm1, X, SIGNED, oracle=lambda x, y: x**y - 1),
    row(s.expit, SIGNED, oracle=lambda x: 0.5 + 0.5 * np.tanh(x / 2)),
    row(s.logit, X, oracle=lambda x: 2 * np.arctanh(2 * x - 1)),
    row(s.log_expit, SIGNED, oracle=lambda x: -np.log1p(np.exp(-x))),
    row(s.xlogy, X, Y, oracle=lambda x, y: x * np.log(y)),
    row(s.xlogy, Z, Z.conj(), oracle=lambda x, y: x * np.log(y), name="complex"),
    row(s.xlogy, np.zeros(2), X[0, :2], oracle=lambda x, y: 0 * y, name="0"),
    row(s.xlog1py, X, Y, oracle=lambda x, y: x * np.log1p(y)),
    row(s.entr, X, oracle=lambda x: -x * np.log(x)),
    row(s.rel_entr, X, Y, oracle=lambda x, y: x * np.log(x / y)),
    row(s.kl_div, X, Y, oracle=lambda x, y: x * np.log(x / y) - x + y),
    row(s.huber, np.array([0.5, 0.4]), np.array([0.3, 0.8]), oracle=lambda d, r: np.where(abs(r) < d, r * r / 2, d * (abs(r) - d / 2))),
    row(s.pseudo_huber, X, Y, oracle=lambda d, r: d * d * (np.sqrt(1 + (r / d) ** 2) - 1)),
    row(s.boxcox, X, SIGNED, oracle=lambda x, p: (x**p - 1) / p),
    row(s.boxcox, X, 0 * X, oracle=lambda x, p: np.log(x), name="logarithm"),
    row(s.boxcox1p, X, SIGNED, oracle=lambda x, p: ((1 + x) ** p - 1) / p),
    row(s.inv_boxcox, Y, SIGNED, oracle=lambda y, p: (1 + p * y) ** (1 / p)),
    row(s.inv_boxcox, Y, 0 * Y, oracle=lambda y, p: np.exp(y), name="exponential"),
    row(s.inv_boxcox1p, Y, SIGNED, oracle=lambda y, p: (1 + p * y) ** (1 / p) - 1),
]  # fmt: skip


def i_series(v, x):
    return (x / 2) ** v / sc.gamma(v + 1) * power_series(below=(0,))(v + 1, x * x / 4)


def j_series(v, x):
    return (x / 2) ** v / sc.gamma(v + 1) * power_series(below=(0,))(v + 1, -x * x / 4)


def y_series(v, x):
    return (j_series(v, x) * np.cos(np.pi * v) - j_series(-v, x)) / np.sin(np.pi * v)


def k_series(v, x):
    return np.pi / 2 * (i_series(-v, x) - i_series(v, x)) / np.sin(np.pi * v)


V = reals(2, 3, low=0.3, high=0.7, seed=7)  # orders, far from integers
W = complexes(2, 3, low=0.6, high=1.5)

OF_ANY_ORDER = [
    (b.jv, j_series, lambda z: 1),
    (b.yv, y_series, lambda z: 1),
    (b.iv, i_series, lambda z: 1),
    (b.kv, k_series, lambda z: 1),
    (b.jve, j_series, lambda z: np.exp(-abs(np.imag(z)))),
    (b.yve, y_series, lambda z: np.exp(-abs(np.imag(z)))),
    (b.ive, i_series, lambda z: np.exp(-abs(np.real(z)))),
    (b.kve, k_series, np.exp),
]
HANKEL = [
    (b.hankel1, 1j, lambda z: 1),
    (b.hankel2, -1j, lambda z: 1),
    (b.hankel1e, 1j, lambda z: np.exp(-1j * z)),
    (b.hankel2e, -1j, lambda z: np.exp(1j * z)),
]


def bessel_rows(f, series, scale):
    def oracle(v, x):
        return series(v, x) * scale(x)

    real_fixed = () if f in (b.kv, b.kve) else (0,)
    yield row(f, V, WIDE, oracle=oracle, fixed=real_fixed, tolerance=1e-9)
    yield row(f, V, W, oracle=oracle, fixed=(0,), name="complex", tolerance=1e-9)


def hankel_row(f, unit, scale):
    def oracle(v, z):
        return (j_series(v, z) + unit * y_series(v, z)) * scale(z)

    return row(f, V, W, oracle=oracle, fixed=(0,), tolerance=1e-9)


def exact(n, series, scale=lambda x: 1):
    return lambda x: series(np.full(x.shape, float(n)), x) * scale(x)


def decay(x):
    return np.exp(-abs(x))


BESSEL = [
    *[r for entry in OF_ANY_ORDER for r in bessel_rows(*entry)],
    *[hankel_row(*entry) for entry in HANKEL],
    row(b.j0, SIGNED, oracle=exact(0, j_series)),
    row(b.j1, WIDE, oracle=exact(1, j_series)),
    row(b.j1, np.zeros(2), oracle=lambda x: x, name="0"),
    row(b.y0, WIDE, oracle=lambda x: sc.hankel1(0, x).imag),
    row(b.y1, WIDE, oracle=lambda x: sc.hankel1(1, x).imag),
    row(b.i0, SIGNED, oracle=exact(0, i_series)),
    row(b.i1, WIDE, oracle=exact(1, i_series)),
    row(b.i0e, WIDE, oracle=exact(0, i_series, decay)),
    row(b.i1e, WIDE, oracle=exact(1, i_series, decay)),
    row(b.k0, WIDE, oracle=lambda x: sc.kv(0, x)),
    row(b.k1, WIDE, oracle=lambda x: sc.kv(1, x)),
    row(b.k0e, WIDE, oracle=lambda x: sc.kve(0, x)),
    row(b.k1e, WIDE, oracle=lambda x: sc.kve(1, x)),
    row(b.kn, N, WIDE, oracle=lambda n, x: sc.kv(n, x)),
    row(b.yn, N, WIDE, oracle=lambda n, x: sc.yv(n, x)),
    row(b.MacdonaldByOrder(1), V, WIDE, oracle=central(sc.kve, 0)),
    row(b.MacdonaldByOrder(2), V, WIDE, oracle=central(b.MacdonaldByOrder(1).__call__, 0), name="twice"),
    *[
        row(b.SphericalBessel(kind), N, WIDE, oracle=lambda n, x, f=f: np.sqrt(np.pi / (2 * x)) * f(n + 0.5, x), name=kind)
        for kind, f in [("jn", sc.jv), ("yn", sc.yv), ("in", sc.iv)]
    ],
    row(b.SphericalBessel("kn"), N, WIDE, oracle=lambda n, x: np.sqrt(np.pi / (2 * x)) * sc.kv(n + 0.5, x), name="kn"),
    row(b.SphericalBessel("jn"), N, W, oracle=lambda n, z: np.sqrt(np.pi / (2 * z)) * sc.jv(n + 0.5, z), name="complex"),
    row(b.airy_ai, X, oracle=lambda x: np.sqrt(x / 3) / np.pi * sc.kv(1 / 3, 2 / 3 * x**1.5)),
    row(b.airy_aip, X, oracle=lambda x: -x / np.pi / math.sqrt(3) * sc.kv(2 / 3, 2 / 3 * x**1.5)),
    row(b.airy_bi, X, oracle=lambda x: np.sqrt(x / 3) * (sc.iv(1 / 3, 2 / 3 * x**1.5) + sc.iv(-1 / 3, 2 / 3 * x**1.5))),
    row(b.airy_bip, X, oracle=lambda x: x / math.sqrt(3) * (sc.iv(2 / 3, 2 / 3 * x**1.5) + sc.iv(-2 / 3, 2 / 3 * x**1.5))),
    row(b.airy_ai, Z, oracle=lambda z: np.sqrt(z / 3) / np.pi * sc.kv(1 / 3, 2 / 3 * z**1.5), name="complex"),
]  # fmt: skip


def polynomial(name, *parameters):
    """Return SciPy's polynomial of integer degree from its coefficients, at x."""

    def oracle(n, *operands):
        *given, x = operands
        return np.vectorize(lambda n, x, *a: getattr(sc, name)(n, *a)(x))(n, x, *given)

    return oracle


def polynomial_rows(f, name, parameters, by_series):
    count = len(parameters)
    yield row(f, N, *parameters, SIGNED, oracle=polynomial(name), fixed=tuple(range(1, 1 + count)))
    if by_series is not None:
        fixed = tuple(range(1 + count))
        yield row(
            f,
            DEGREES,
            *parameters,
            SIGNED,
            oracle=by_series,
            fixed=fixed,
            name="real degree",
            tolerance=1e-9,
        )
        yield row(
            f,
            DEGREES,
            *parameters,
            0.5 * Z,
            oracle=by_series,
            fixed=fixed,
            name="complex",
            tolerance=1e-9,
        )


def gauss(a, b_, c, x):
    return sc.hyp2f1(a, b_, c, x)


def kummer(a, b_, x):
    return sc.hyp1f1(a, b_, x)


HYPERGEOMETRIC = [
    row(h.hyp0f1, A, SIGNED, oracle=power_series(below=(0,)), fixed=(0,)),
    row(h.hyp0f1, A, Z, oracle=power_series(below=(0,)), fixed=(0,), name="complex"),
    row(h.hyp1f1, A, B, SIGNED, oracle=power_series(above=(0,), below=(1,)), fixed=(0, 1)),
    row(h.hyp1f1, A, B, Z, oracle=power_series(above=(0,), below=(1,)), fixed=(0, 1), name="complex"),
    row(h.hyp2f1, A, B, B + 1, 0.6 * SIGNED, oracle=power_series(above=(0, 1), below=(2,)), fixed=(0, 1, 2), tolerance=1e-9),
    row(h.hyp2f1, A, B, B + 1, 0.4 * Z, oracle=power_series(above=(0, 1), below=(2,)), fixed=(0, 1, 2), name="complex", tolerance=1e-9),
    row(h.hyperu, A, B, WIDE, oracle=integral(lambda t, a, b, x: math.exp(-x * t) * t ** (a - 1) * (1 + t) ** (b - a - 1) / math.gamma(a), 0, np.inf), fixed=(0, 1), tolerance=1e-7),
    *polynomial_rows(h.eval_jacobi, "jacobi", (A, B), lambda n, a, b, x: sc.binom(n + a, n) * gauss(-n, n + a + b + 1, a + 1, (1 - x) / 2)),
    *polynomial_rows(h.eval_legendre, "legendre", (), lambda n, x: gauss(-n, n + 1, 1, (1 - x) / 2)),
    *polynomial_rows(h.eval_gegenbauer, "gegenbauer", (A,), lambda n, a, x: sc.gamma(n + 2 * a) / sc.gamma(n + 1) / sc.gamma(2 * a) * gauss(-n, 2 * a + n, a + 0.5, (1 - x) / 2)),
    *polynomial_rows(h.eval_chebyt, "chebyt", (), lambda n, x: gauss(-n, n, 0.5, (1 - x) / 2)),
    *polynomial_rows(h.eval_chebyu, "chebyu", (), lambda n, x: (n + 1) * gauss(-n, n + 2, 1.5, (1 - x) / 2)),
    *polynomial_rows(h.eval_laguerre, "laguerre", (), lambda n, x: kummer(-n, 1.0, x)),
    *polynomial_rows(h.eval_genlaguerre, "genlaguerre", (A,), lambda n, a, x: sc.binom(n + a, n) * kummer(-n, a + 1, x)),
    *polynomial_rows(h.eval_hermite, "hermite", (), None),
    *polynomial_rows(h.eval_hermitenorm, "hermitenorm", (), None),
    row(h.lpmv, np.array([0.0, 1.0, 2.0]), np.array([1.4, 2.0, 3.0]), SIGNED[0], oracle=lambda m, v, x: (-1) ** m * sc.gamma(v + m + 1) / sc.gamma(v - m + 1) / 2**m / sc.gamma(m + 1) * (1 - x * x) ** (m / 2) * gauss(v + m + 1, m - v, m + 1, (1 - x) / 2), fixed=(0, 1), tolerance=1e-9),
    row(h.SphericalHarmonic(), np.array([0, 2, 3, 3, 1]), np.array([0, 1, -2, 3, -1]), reals(5, high=3.0), reals(5, seed=1, high=3.0), oracle=lambda n, m, theta, phi: np.sqrt((2 * n + 1) / (4 * np.pi) * sc.gamma(n - m + 1) / sc.gamma(n + m + 1)) * sc.lpmv(m, n, np.cos(theta)) * np.exp(1j * m * phi)),
    row(h.ellipk, SIGNED, oracle=integral(lambda t, m: (1 - m * math.sin(t) ** 2) ** -0.5, 0, np.pi / 2)),
    row(h.ellipk, np.zeros(2), oracle=lambda m: m + np.pi / 2, name="0"),
    row(h.ellipe, SIGNED, oracle=integral(lambda t, m: (1 - m * math.sin(t) ** 2) ** 0.5, 0, np.pi / 2)),
    row(h.ellipkm1, X, oracle=lambda p: sc.ellipk(1 - p)),
    row(h.ellipkm1, np.ones(2), oracle=lambda p: p * np.pi / 2, name="1"),
    row(h.ellipkinc, Y, SIGNED, oracle=lambda phi, m: np.sin(phi) * sc.elliprf(np.cos(phi) ** 2, 1 - m * np.sin(phi) ** 2, 1)),
    row(h.ellipeinc, Y, SIGNED, oracle=integral(lambda t, phi, m: (1 - m * math.sin(t) ** 2) ** 0.5, 0, lambda phi, m: phi)),
    *[
        row(f, SIGNED, Y, oracle=lambda u, m, g=g: g(inverse_ellipkinc(u, m), m), fixed=(1,), tolerance=1e-9)
        for f, g in [
            (h.jacobi_sn, lambda phi, m: np.sin(phi)),
            (h.jacobi_cn, lambda phi, m: np.cos(phi)),
            (h.jacobi_dn, lambda phi, m: np.sqrt(1 - m * np.sin(phi) ** 2)),
            (h.jacobi_am, lambda phi, m: phi),
        ]
    ],
]  # fmt: skip


def inverse_ellipkinc(u, m):
    """Return phi with F(phi | m) = u, by Newton's method."""
    phi = u
    for _ in range(30):
        phi = phi - (sc.ellipkinc(phi, m) - u) * np.sqrt(1 - m * np.sin(phi) ** 2)
    return phi


def gamma_density(t, a, x):
    return t ** (a - 1) * math.exp(-t) / math.gamma(a)


def beta_density(t, a, b_, x):
    return t ** (a - 1) * (1 - t) ** (b_ - 1) * math.gamma(a + b_) / math.gamma(a) / math.gamma(b_)


G, H = A + 1, B + 1

INCOMPLETE = [
    row(i.gammainc, G, WIDE, oracle=integral(gamma_density, 0, lambda a, x: x)),
    row(i.gammaincc, G, WIDE, oracle=integral(gamma_density, lambda a, x: x, np.inf)),
    row(i.gammaincinv, G, X, oracle=lambda a, p: sc.chdtri(2 * a, 1 - p) / 2),
    row(i.gammainccinv, G, X, oracle=lambda a, p: sc.chdtri(2 * a, p) / 2),
    row(i.GammaincByParameter((1,)), G, WIDE, oracle=central(sc.gammainc, 0)),
    row(i.GammaincByParameter((2,)), G, WIDE, oracle=central(i.GammaincByParameter((1,)).__call__, 0), name="twice"),
    row(i.betainc, G, H, X, oracle=integral(beta_density, 0, lambda a, b, x: x)),
    row(i.betaincc, G, H, X, oracle=integral(beta_density, lambda a, b, x: x, 1)),
    row(i.betaincinv, G, H, X, oracle=lambda a, b, p: 1 - sc.betaincinv(b, a, 1 - p)),
    row(i.betainccinv, G, H, X, oracle=lambda a, b, p: sc.betaincinv(a, b, 1 - p)),
    row(i.BetaincByParameters((1, 0)), G, H, X, oracle=central(sc.betainc, 0)),
    row(i.BetaincByParameters((0, 1)), G, H, X, oracle=central(sc.betainc, 1), name="second"),
    row(i.BetaincByParameters((1, 1)), G, H, X, oracle=central(i.beta_a.__call__, 1), name="both"),
    row(student.stdtr, G, SIGNED, oracle=lambda v, t: np.where(t < 0, sc.betainc(v / 2, 0.5, v / (v + t * t)) / 2, 1 - sc.betainc(v / 2, 0.5, v / (v + t * t)) / 2)),
    row(student.stdtrit, G, X, oracle=lambda v, p: np.where(p < 0.5, -1, 1) * np.sqrt(v / sc.betaincinv(v / 2, 0.5, 2 * np.minimum(p, 1 - p)) - v), tolerance=1e-10),
    row(student.StudentByFreedom(), G, SIGNED, oracle=central(sc.stdtr, 0)),
]  # fmt: skip

ROWS: list[Sample] = [
    *GAMMA,
    *ERROR,
    *INTEGRALS,
    *ELEMENTARY,
    *BESSEL,
    *HYPERGEOMETRIC,
    *INCOMPLETE,
]
