"""Rows for primitives/hypergeometric.py and elliptic.py."""

import math

import numpy as np
import scipy.special as sc

from fungrad.primitives import elliptic
from fungrad.primitives import hypergeometric as h
from tests.samples.oracles import (
    DEGREES,
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
from tests.samples.row import reals


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
    row(
        h.hyp1f1, A, B, Z, oracle=power_series(above=(0,), below=(1,)), fixed=(0, 1), name="complex"
    ),
    row(
        h.hyp2f1,
        A,
        B,
        B + 1,
        0.6 * SIGNED,
        oracle=power_series(above=(0, 1), below=(2,)),
        fixed=(0, 1, 2),
        tolerance=1e-9,
    ),
    row(
        h.hyp2f1,
        A,
        B,
        B + 1,
        0.4 * Z,
        oracle=power_series(above=(0, 1), below=(2,)),
        fixed=(0, 1, 2),
        name="complex",
        tolerance=1e-9,
    ),
    row(
        h.hyperu,
        A,
        B,
        WIDE,
        oracle=integral(
            lambda t, a, b, x: (
                math.exp(-x * t) * t ** (a - 1) * (1 + t) ** (b - a - 1) / math.gamma(a)
            ),
            0,
            np.inf,
        ),
        fixed=(0, 1),
        tolerance=1e-7,
    ),
    *polynomial_rows(
        h.eval_jacobi,
        "jacobi",
        (A, B),
        lambda n, a, b, x: sc.binom(n + a, n) * gauss(-n, n + a + b + 1, a + 1, (1 - x) / 2),
    ),
    *polynomial_rows(
        h.eval_legendre, "legendre", (), lambda n, x: gauss(-n, n + 1, 1, (1 - x) / 2)
    ),
    *polynomial_rows(
        h.eval_gegenbauer,
        "gegenbauer",
        (A,),
        lambda n, a, x: (
            sc.gamma(n + 2 * a)
            / sc.gamma(n + 1)
            / sc.gamma(2 * a)
            * gauss(-n, 2 * a + n, a + 0.5, (1 - x) / 2)
        ),
    ),
    *polynomial_rows(h.eval_chebyt, "chebyt", (), lambda n, x: gauss(-n, n, 0.5, (1 - x) / 2)),
    *polynomial_rows(
        h.eval_chebyu, "chebyu", (), lambda n, x: (n + 1) * gauss(-n, n + 2, 1.5, (1 - x) / 2)
    ),
    *polynomial_rows(h.eval_laguerre, "laguerre", (), lambda n, x: kummer(-n, 1.0, x)),
    *polynomial_rows(
        h.eval_genlaguerre,
        "genlaguerre",
        (A,),
        lambda n, a, x: sc.binom(n + a, n) * kummer(-n, a + 1, x),
    ),
    *polynomial_rows(h.eval_hermite, "hermite", (), None),
    *polynomial_rows(h.eval_hermitenorm, "hermitenorm", (), None),
    row(
        h.lpmv,
        np.array([0.0, 1.0, 2.0]),
        np.array([1.4, 2.0, 3.0]),
        SIGNED[0],
        oracle=lambda m, v, x: (
            (-1) ** m
            * sc.gamma(v + m + 1)
            / sc.gamma(v - m + 1)
            / 2**m
            / sc.gamma(m + 1)
            * (1 - x * x) ** (m / 2)
            * gauss(v + m + 1, m - v, m + 1, (1 - x) / 2)
        ),
        fixed=(0, 1),
        tolerance=1e-9,
    ),
    row(
        h.SphericalHarmonic(),
        np.array([0, 2, 3, 3, 1]),
        np.array([0, 1, -2, 3, -1]),
        reals(5, high=3.0),
        reals(5, seed=1, high=3.0),
        oracle=lambda n, m, theta, phi: (
            np.sqrt((2 * n + 1) / (4 * np.pi) * sc.gamma(n - m + 1) / sc.gamma(n + m + 1))
            * sc.lpmv(m, n, np.cos(theta))
            * np.exp(1j * m * phi)
        ),
    ),
    row(
        elliptic.EllipticByParameter(-0.5, 1), Y, SIGNED, oracle=central(sc.ellipkinc, 1), name="F"
    ),
    row(
        elliptic.EllipticByParameter(0.5, 2),
        Y,
        SIGNED,
        oracle=central(elliptic.EllipticByParameter(0.5, 1).__call__, 1),
        name="E",
    ),
    row(
        elliptic.EllipticByParameter(0.5, 1),
        Y + 4,
        SIGNED,
        oracle=central(sc.ellipeinc, 1),
        name="more than a turn",
    ),
    row(elliptic.ellipkinc, Y, 0 * Y, oracle=lambda phi, m: phi, name="0"),
    row(
        elliptic.ellipk,
        SIGNED,
        oracle=integral(lambda t, m: (1 - m * math.sin(t) ** 2) ** -0.5, 0, np.pi / 2),
    ),
    row(elliptic.ellipk, np.zeros(2), oracle=lambda m: m + np.pi / 2, name="0"),
    row(
        elliptic.ellipe,
        SIGNED,
        oracle=integral(lambda t, m: (1 - m * math.sin(t) ** 2) ** 0.5, 0, np.pi / 2),
    ),
    row(elliptic.ellipem1, X, oracle=lambda p: sc.ellipeinc(np.pi / 2, 1 - p)),
    row(elliptic.ellipkm1, X, oracle=lambda p: sc.ellipk(1 - p)),
    row(elliptic.ellipkm1, np.ones(2), oracle=lambda p: p * np.pi / 2, name="1"),
    row(
        elliptic.ellipkinc,
        Y,
        SIGNED,
        oracle=lambda phi, m: (
            np.sin(phi) * sc.elliprf(np.cos(phi) ** 2, 1 - m * np.sin(phi) ** 2, 1)
        ),
    ),
    row(
        elliptic.ellipeinc,
        Y,
        SIGNED,
        oracle=integral(lambda t, phi, m: (1 - m * math.sin(t) ** 2) ** 0.5, 0, lambda phi, m: phi),
    ),
    *[
        row(
            f,
            SIGNED,
            Y,
            oracle=lambda u, m, g=g: g(inverse_ellipkinc(u, m), m),
            fixed=(1,),
            tolerance=1e-9,
        )
        for f, g in [
            (elliptic.jacobi_sn, lambda phi, m: np.sin(phi)),
            (elliptic.jacobi_cn, lambda phi, m: np.cos(phi)),
            (elliptic.jacobi_dn, lambda phi, m: np.sqrt(1 - m * np.sin(phi) ** 2)),
            (elliptic.jacobi_am, lambda phi, m: phi),
        ]
    ],
]


def inverse_ellipkinc(u, m):
    """Return phi with F(phi | m) = u, by Newton's method."""
    phi = u
    for _ in range(30):
        phi = phi - (sc.ellipkinc(phi, m) - u) * np.sqrt(1 - m * np.sin(phi) ** 2)
    return phi
