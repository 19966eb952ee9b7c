"""Rows for primitives/bessel.py."""

import math

import numpy as np
import scipy.special as sc

from fungrad.primitives import bessel as b
from tests.samples.oracles import (
    SIGNED,
    WIDE,
    N,
    X,
    Z,
    central,
    power_series,
    row,
)
from tests.samples.row import complexes, reals


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
    row(
        b.MacdonaldByOrder(2),
        V,
        WIDE,
        oracle=central(b.MacdonaldByOrder(1).__call__, 0),
        name="twice",
    ),
    *[
        row(
            b.SphericalBessel(kind),
            N,
            WIDE,
            oracle=lambda n, x, f=f: np.sqrt(np.pi / (2 * x)) * f(n + 0.5, x),
            name=kind,
        )
        for kind, f in [("jn", sc.jv), ("yn", sc.yv), ("in", sc.iv)]
    ],
    row(
        b.SphericalBessel("kn"),
        N,
        WIDE,
        oracle=lambda n, x: np.sqrt(np.pi / (2 * x)) * sc.kv(n + 0.5, x),
        name="kn",
    ),
    row(
        b.SphericalBessel("jn"),
        N,
        W,
        oracle=lambda n, z: np.sqrt(np.pi / (2 * z)) * sc.jv(n + 0.5, z),
        name="complex",
    ),
    row(b.airy_ai, X, oracle=lambda x: np.sqrt(x / 3) / np.pi * sc.kv(1 / 3, 2 / 3 * x**1.5)),
    row(b.airy_aip, X, oracle=lambda x: -x / np.pi / math.sqrt(3) * sc.kv(2 / 3, 2 / 3 * x**1.5)),
    row(
        b.airy_bi,
        X,
        oracle=lambda x: (
            np.sqrt(x / 3) * (sc.iv(1 / 3, 2 / 3 * x**1.5) + sc.iv(-1 / 3, 2 / 3 * x**1.5))
        ),
    ),
    row(
        b.airy_bip,
        X,
        oracle=lambda x: (
            x / math.sqrt(3) * (sc.iv(2 / 3, 2 / 3 * x**1.5) + sc.iv(-2 / 3, 2 / 3 * x**1.5))
        ),
    ),
    row(
        b.airy_ai,
        Z,
        oracle=lambda z: np.sqrt(z / 3) / np.pi * sc.kv(1 / 3, 2 / 3 * z**1.5),
        name="complex",
    ),
]
