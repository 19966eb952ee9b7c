"""`pad`: against NumPy."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.numpy.checker import Case, check_error

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B = A[0]
V = B[0]
I = np.array([[3, 1, 1], [2, 0, 7]])
E = np.zeros((0, 3))
X = np.float64(1.5)
WIDTHS = ((2, 5), (0, 7))
STATISTICS = ("maximum", "mean", "median", "minimum")

CASES = [
    *[Case("pad", (B, WIDTHS), {"mode": mode}) for mode in (*STATISTICS, "linear_ramp")],
    *[
        Case("pad", (x, 2), {"mode": mode})
        for mode in (*STATISTICS, "linear_ramp")
        for x in (A, I, V.astype(np.float32), V + V[::-1] * 1j)
        if not (mode == "median" and np.iscomplexobj(x))
    ],
    *[Case("pad", (B, 2), {"mode": mode, "stat_length": 2}) for mode in STATISTICS],
    Case("pad", (B, 1), {"mode": "mean", "stat_length": ((1, 9), (2, 3))}),
    Case("pad", (I, ((1, 0), (2, 1))), {"mode": "mean", "stat_length": 2}),
    Case("pad", (B, WIDTHS), {"mode": "linear_ramp", "end_values": ((X, 2.0), (-1.0, 5))}),
    Case("pad", (I, 3), {"mode": "linear_ramp", "end_values": 9}),
    *[
        Case("pad", (x, widths), {"mode": mode, "reflect_type": "odd"})
        for mode in ("reflect", "symmetric")
        for x, widths in [(B, 2), (I, (5, 9)), (V, 11), (B[:1], 2), (B[:2], ((7, 3), (1, 0)))]
    ],
    Case("pad", (E, ((0, 0), (1, 1))), {"mode": "mean"}),
    Case("pad", (B, {-1: 2, 0: (1, 0)}), {"mode": "minimum"}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


def framed(row, width, axis, options):
    row[: width[0]] = options.get("by", 10.0) + axis
    row[len(row) - width[1] :] = row[width[0]] * 2


@pytest.mark.parametrize("x", [V, B, A])
def test_padding_by_a_function(x):
    expected = np.pad(x, ((1, 2),), framed, by=7.0)
    for transform in (fg.jit, lambda f: lambda x: fg.vjp(f, x)[0]):
        found = transform(lambda x: fnp.pad(x, ((1, 2),), framed, by=7.0))(x)
        np.testing.assert_array_equal(found, expected)
    gradient = fg.grad(lambda x: fnp.pad(x, (1, 2), framed).sum())(V)
    np.testing.assert_array_equal(gradient, [5, 1, 1, 1])


ERRORS = [
    ("pad", (V, 1, "nothing"), {}),
    ("pad", (V, 1, "edge"), {"stat_length": 2}),
    ("pad", (V, 1, "mean"), {"stat_length": -1}),
    ("pad", (V, 1, "maximum"), {"stat_length": 0}),
    ("pad", (E, 1, "mean"), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), ERRORS)
def test_errors_are_numpys(name, args, kwargs):
    check_error(name, args, kwargs)
