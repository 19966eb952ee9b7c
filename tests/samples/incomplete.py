"""Rows for primitives/incomplete.py and student.py."""

import math

import numpy as np
import scipy.special as sc

from fungrad.primitives import incomplete as i
from fungrad.primitives import student
from tests.samples.oracles import (
    SIGNED,
    WIDE,
    A,
    B,
    X,
    central,
    integral,
    row,
)


def gamma_density(t, a, x):
    return t ** (a - 1) * math.exp(-t) / math.gamma(a)


def beta_density(t, a, b_, x):
    return t ** (a - 1) * (1 - t) ** (b_ - 1) * math.gamma(a + b_) / math.gamma(a) / math.gamma(b_)


G, H = A + 1, B + 1

INCOMPLETE = [
    row(i.gamma_density, G, WIDE, oracle=np.vectorize(lambda a, x: gamma_density(x, a, x))),
    row(i.beta_density, G, H, X, oracle=np.vectorize(lambda a, b, x: beta_density(x, a, b, x))),
    row(i.gammainc, G, WIDE, oracle=integral(gamma_density, 0, lambda a, x: x)),
    row(i.gammaincc, G, WIDE, oracle=integral(gamma_density, lambda a, x: x, np.inf)),
    row(i.gammaincinv, G, X, oracle=lambda a, p: sc.chdtri(2 * a, 1 - p) / 2),
    row(i.gammainccinv, G, X, oracle=lambda a, p: sc.chdtri(2 * a, p) / 2),
    row(i.GammaincByParameter((1,)), G, WIDE, oracle=central(sc.gammainc, 0)),
    row(
        i.GammaincByParameter((2,)),
        G,
        WIDE,
        oracle=central(i.GammaincByParameter((1,)).__call__, 0),
        name="twice",
    ),
    row(i.betainc, G, H, X, oracle=integral(beta_density, 0, lambda a, b, x: x)),
    row(i.betaincc, G, H, X, oracle=integral(beta_density, lambda a, b, x: x, 1)),
    row(i.betaincinv, G, H, X, oracle=lambda a, b, p: 1 - sc.betaincinv(b, a, 1 - p)),
    row(i.betainccinv, G, H, X, oracle=lambda a, b, p: sc.betaincinv(a, b, 1 - p)),
    row(i.BetaincByParameters((1, 0)), G, H, X, oracle=central(sc.betainc, 0)),
    row(i.BetaincByParameters((0, 1)), G, H, X, oracle=central(sc.betainc, 1), name="second"),
    row(i.BetaincByParameters((1, 1)), G, H, X, oracle=central(i.beta_a.__call__, 1), name="both"),
    row(
        student.stdtr,
        G,
        SIGNED,
        oracle=lambda v, t: np.where(
            t < 0,
            sc.betainc(v / 2, 0.5, v / (v + t * t)) / 2,
            1 - sc.betainc(v / 2, 0.5, v / (v + t * t)) / 2,
        ),
    ),
    row(
        student.stdtrit,
        G,
        X,
        oracle=lambda v, p: (
            np.where(p < 0.5, -1, 1)
            * np.sqrt(v / sc.betaincinv(v / 2, 0.5, 2 * np.minimum(p, 1 - p)) - v)
        ),
        tolerance=1e-10,
    ),
    row(student.StudentByFreedom(), G, SIGNED, oracle=central(sc.stdtr, 0)),
]
