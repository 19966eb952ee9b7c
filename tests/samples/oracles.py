"""Oracles and operands of the rows for special functions."""

import numpy as np
import scipy.integrate

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
