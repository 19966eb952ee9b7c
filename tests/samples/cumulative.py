"""Rows for primitives/cumulative.py."""

import itertools
import operator

import numpy as np

from fungrad.primitives.cumulative import (
    CumLogSumExp,
    CumMax,
    CumMin,
    CumProd,
    CumSum,
    LinearRecurrence,
)
from tests.samples.row import Sample, booleans, complexes, integers, reals


def along(step, axis, reverse):
    """Return the oracle that runs `step(total, element)` along the axis, one slice at a time."""

    def oracle(x):
        rows = np.moveaxis(x, axis, 0)
        rows = [*itertools.accumulate(rows[::-1] if reverse else rows, step)]
        if not rows:
            return x
        return np.stack(rows[::-1] if reverse else rows, axis)

    return oracle


def log_sum_exp(x, y):
    m = np.maximum(x, y)
    return m + np.log1p(np.exp(np.minimum(x, y) - m))


STEPS = {
    CumSum: operator.add,
    CumProd: operator.mul,
    CumMax: np.maximum,
    CumMin: np.minimum,
    CumLogSumExp: log_sum_exp,
}


def row(primitive, x, name="", tolerance=1e-12):
    oracle = along(STEPS[type(primitive)], primitive.axis, primitive.reverse)
    direction = "reverse" if primitive.reverse else "forward"
    name = f"{direction}, {name}" if name else direction
    return Sample(primitive, (x,), oracle, name=name, tolerance=tolerance)


def recurrence(axis, reverse, a, b, name):
    def oracle(a, b):
        a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
        h, total = np.zeros_like(b), np.zeros(b.shape[1:], b.dtype)
        for i in range(len(b))[:: -1 if reverse else 1]:
            h[i] = total = a[i] * total + b[i]
        return np.moveaxis(h, 0, axis)

    return Sample(LinearRecurrence(axis, reverse), (a, b), oracle, linear=((1,),), name=name)


def zeros():
    x = reals(5, 3, low=-1.0, high=2.0)
    x[1, 0] = x[3, 0] = x[0, 1] = x[4, 2] = 0
    return x


ROWS = [
    *(
        row(cls(axis, reverse), reals(*shape, seed=len(shape)), f"{shape} axis {axis}")
        for cls in STEPS
        for reverse in (False, True)
        for shape, axis in [((1,), 0), ((6,), 0), ((2, 3, 2), 1), ((3, 4), 1), ((0, 2), 0)]
    ),
    *(
        row(cls(0, reverse), x, name)
        for cls in (CumSum, CumProd, CumMax, CumMin)
        for reverse, name, x in [(False, "int", integers(5)), (True, "complex", complexes(4, 2))]
    ),
    row(CumSum(0), reals(5).astype(np.float32), "float32", 1e-6),
    row(CumSum(1), integers(2, 3, high=4).astype(np.int8), "int8"),
    row(CumProd(0), zeros(), "zeros"),
    row(CumProd(0, True), zeros(), "zeros"),
    row(CumMax(0), booleans(4), "bool"),
    row(CumMin(0, True), booleans(4), "bool"),
    row(CumLogSumExp(0), reals(4, low=990.0, high=1000.0), "large"),
    *(
        recurrence(axis, reverse, a, b, f"{name}{', reverse' if reverse else ''}")
        for reverse in (False, True)
        for name, axis, a, b in [
            ("axis 0", 0, reals(7), reals(7, seed=1)),
            ("axis 1", 1, reals(2, 5, 2, low=-2.0), reals(2, 5, 2, seed=1)),
            ("complex", 0, complexes(4, 2), complexes(4, 2, seed=2)),
            ("of one", 1, reals(2, 1), reals(2, 1, seed=1)),
            ("of none", 0, reals(0, 2), reals(0, 2)),
        ]
    ),
]
