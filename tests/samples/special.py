"""Rows for primitives/special.py and zeta.py, and those for the modules that call `scipy.special` too."""

import math

import numpy as np
import scipy.special as sc

from fungrad.primitives import gamma as g
from fungrad.primitives import losses
from fungrad.primitives import special as s
from fungrad.primitives.zeta import Zeta
from tests.samples.bessel import BESSEL
from tests.samples.hypergeometric import HYPERGEOMETRIC
from tests.samples.incomplete import INCOMPLETE
from tests.samples.oracles import (
    SIGNED,
    WIDE,
    A,
    B,
    N,
    X,
    Y,
    Z,
    central,
    integral,
    power_series,
    row,
)
from tests.samples.row import Sample, reals

GAMMA = [
    row(g.gamma, WIDE, oracle=integral(lambda t, x: t**x * math.exp(-t) / x, 0, np.inf)),
    row(g.gamma, Z, oracle=lambda z: sc.gamma(z + 1) / z, name="complex"),
    row(g.gammaln, WIDE, oracle=np.vectorize(math.lgamma)),
    row(g.loggamma, Z, oracle=lambda z: np.log(sc.gamma(z))),
    row(g.loggamma, WIDE, oracle=np.vectorize(math.lgamma), name="real"),
    row(g.gammasgn, SIGNED, oracle=lambda x: np.sign(sc.gamma(x))),
    row(g.rgamma, WIDE, oracle=lambda x: 1 / np.vectorize(math.gamma)(x)),
    row(g.rgamma, Z, oracle=lambda z: 1 / sc.gamma(z), name="complex"),
    row(g.digamma, WIDE, oracle=central(sc.gammaln, 0)),
    row(g.digamma, Z, oracle=lambda z: sc.psi(z + 1) - 1 / z, name="complex"),
    row(
        g.digamma, reals(4, low=-0.9, high=-0.2), oracle=lambda x: sc.psi(x + 1) - 1 / x, name="< 0"
    ),
    row(
        g.beta, A, B, oracle=lambda a, b: np.exp(sc.gammaln(a) + sc.gammaln(b) - sc.gammaln(a + b))
    ),
    row(g.betaln, A, B, oracle=lambda a, b: np.log(sc.gamma(a) * sc.gamma(b) / sc.gamma(a + b))),
    row(g.Rise(0), A, B, oracle=lambda x, m: sc.psi(x + m) - sc.psi(x)),
    row(g.Rise(0), A, B / 50, oracle=lambda x, m: sc.psi(x + m) - sc.psi(x), name="small"),
    row(
        g.Rise(1),
        A - 0.95,
        B - 0.6,
        oracle=lambda x, m: sc.polygamma(1, x + m) - sc.polygamma(1, x),
        name="on both sides of 0",
    ),
    row(g.poch, A, B, oracle=lambda a, m: sc.gamma(a + m) / sc.gamma(a)),
    row(g.binom, A + 4, B, oracle=lambda n, k: 1 / ((n + 1) * sc.beta(n - k + 1, k + 1))),
    row(Zeta(0), A + 1, B, oracle=lambda x, q: sc.zeta(x, q + 1) + q**-x),
    row(
        Zeta(0),
        np.full((2, 3), 3.0),
        Z,
        oracle=lambda x, q: central_polygamma(q),
        fixed=(0,),
        name="complex",
    ),
    row(Zeta(1), A + 1, B, oracle=central(sc.zeta, 0), name="once"),
    row(Zeta(2), A + 1.5, B, oracle=central(Zeta(1).__call__, 0), name="twice", tolerance=1e-9),
    row(s.RiemannZeta(), A + 1, oracle=lambda x: sc.zeta(x, 1)),
    row(s.RiemannZeta(), reals(4, low=-4, high=0.7), oracle=np.vectorize(sc.zeta), name="left"),
]


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
    row(
        s.dawsn,
        Z,
        oracle=lambda z: math.sqrt(math.pi) / 2 * np.exp(-z * z) * sc.erfi(z),
        name="complex",
    ),
    row(s.wofz, Z, oracle=lambda z: np.exp(-z * z) * sc.erfc(-1j * z)),
    row(s.erfinv, SIGNED, oracle=lambda y: sc.ndtri((y + 1) / 2) / math.sqrt(2)),
    row(s.erfcinv, X + 0.2, oracle=lambda y: -sc.ndtri(y / 2) / math.sqrt(2)),
    row(s.ndtr, SIGNED, oracle=lambda x: 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))),
    row(s.ndtri, X, oracle=lambda y: math.sqrt(2) * sc.erfinv(2 * y - 1)),
    row(s.ndtri_exp, -A, oracle=lambda y: sc.ndtri(np.exp(y))),
    row(
        s.log_ndtr,
        SIGNED,
        oracle=lambda x: np.log(0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))),
    ),
    row(s.log_ndtr, Z, oracle=lambda z: np.log(0.5 * sc.erfc(-z / math.sqrt(2))), name="complex"),
    row(s.InverseMills(), SIGNED, oracle=lambda x: np.vectorize(gaussian)(x) / sc.ndtr(x)),
    row(
        s.owens_t,
        SIGNED,
        Y,
        oracle=integral(
            lambda t, h, a: math.exp(-h * h * (1 + t * t) / 2) / (1 + t * t) / (2 * math.pi),
            0,
            lambda h, a: a,
        ),
    ),
    row(
        s.fresnel_s, X, oracle=integral(lambda t, x: math.sin(math.pi / 2 * t * t), 0, lambda x: x)
    ),
    row(
        s.fresnel_c, X, oracle=integral(lambda t, x: math.cos(math.pi / 2 * t * t), 0, lambda x: x)
    ),
    row(
        s.fresnel_c,
        Z,
        oracle=lambda z: (
            z * power_series(above=(0.25,), below=(0.5, 1.25))(-((math.pi * z * z / 4) ** 2))
        ),
        name="complex",
    ),
]

INTEGRALS = [
    row(s.exp1, WIDE, oracle=integral(lambda t, x: math.exp(-x * t) / t, 1, np.inf)),
    row(
        s.exp1,
        Z,
        oracle=lambda z: (
            -np.euler_gamma - np.log(z) + z * power_series(above=(1.0, 1.0), below=(2.0, 2.0))(-z)
        ),
        name="complex",
    ),
    row(
        s.expi,
        X,
        oracle=lambda x: (
            np.euler_gamma + np.log(x) + x * power_series(above=(1.0, 1.0), below=(2.0, 2.0))(x)
        ),
    ),
    row(s.expn, N, WIDE, oracle=integral(lambda t, n, x: math.exp(-x * t) / t**n, 1, np.inf)),
    row(s.exprel, SIGNED, oracle=lambda x: np.expm1(x) / x),
    row(s.exprel, np.zeros(2), oracle=lambda x: x + 1, name="0"),
    row(s.si, SIGNED, oracle=integral(lambda t, x: np.sinc(t / np.pi), 0, lambda x: x)),
    row(s.si, Z, oracle=lambda z: -1j * sc.shichi(1j * z)[0], name="complex"),
    row(
        s.ci,
        X,
        oracle=lambda x: (
            np.euler_gamma
            + np.log(x)
            + integral(lambda t, x: (math.cos(t) - 1) / t, 0, lambda x: x)(x)
        ),
    ),
    row(s.shi, SIGNED, oracle=lambda x: (sc.expi(abs(x)) + sc.exp1(abs(x))) / 2 * np.sign(x)),
    row(s.chi, X, oracle=lambda x: (sc.expi(x) - sc.exp1(x)) / 2),
    row(s.shi, Z, oracle=lambda z: -1j * sc.sici(1j * z)[0], name="complex"),
    row(s.spence, WIDE, oracle=integral(lambda t, x: -math.log(t) / (t - 1), 1, lambda x: x)),
    row(s.spence, np.ones(2), oracle=lambda x: x - 1, name="1"),
    row(s.part_of_sum, X, oracle=lambda w: 1 - 1 / (1 + w)),
    row(s.wrightomega, SIGNED, oracle=lambda x: sc.lambertw(np.exp(x)).real),
    row(s.LambertW(0, 1e-8), Z, oracle=lambda z: sc.wrightomega(np.log(z))),
    row(
        s.LambertW(-1, 1e-8),
        Z,
        oracle=lambda z: sc.wrightomega(np.log(z) - 2j * np.pi),
        name="branch",
    ),
]

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
    row(
        losses.huber,
        np.array([0.5, 0.4]),
        np.array([0.3, 0.8]),
        oracle=lambda d, r: np.where(abs(r) < d, r * r / 2, d * (abs(r) - d / 2)),
    ),
    row(losses.pseudo_huber, X, Y, oracle=lambda d, r: d * d * (np.sqrt(1 + (r / d) ** 2) - 1)),
    row(
        losses.pseudo_huber_by_d,
        X,
        Y,
        oracle=lambda d, r: d * (1 - np.sqrt(1 + (r / d) ** 2)) ** 2 / np.sqrt(1 + (r / d) ** 2),
    ),
    row(losses.pseudo_huber_by_r, X, Y, oracle=lambda d, r: r / np.sqrt(1 + (r / d) ** 2)),
    row(losses.power1p, X, SIGNED, oracle=lambda x, p: np.exp(p * np.log(1 + x))),
    row(losses.boxcox, X, SIGNED, oracle=lambda x, p: (x**p - 1) / p),
    row(losses.boxcox, X, 0 * X, oracle=lambda x, p: np.log(x), name="logarithm"),
    row(losses.boxcox1p, X, SIGNED, oracle=lambda x, p: ((1 + x) ** p - 1) / p),
    row(losses.inv_boxcox, Y, SIGNED, oracle=lambda y, p: (1 + p * y) ** (1 / p)),
    row(losses.inv_boxcox, Y, 0 * Y, oracle=lambda y, p: np.exp(y), name="exponential"),
    row(losses.inv_boxcox1p, Y, SIGNED, oracle=lambda y, p: (1 + p * y) ** (1 / p) - 1),
]


ROWS: list[Sample] = [
    *GAMMA,
    *ERROR,
    *INTEGRALS,
    *ELEMENTARY,
    *BESSEL,
    *HYPERGEOMETRIC,
    *INCOMPLETE,
]
