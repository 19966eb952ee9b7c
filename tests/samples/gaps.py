"""Rows for primitives/gaps.py."""

import numpy as np

from fungrad.primitives.gaps import BackOverGaps, OverGaps
from tests.samples.row import Sample, complexes, reals

OFF, EYE = 1 - np.eye(3), np.eye(3)
X, GAPS, W = reals(3, 3), reals(3, 3, seed=1), reals(3, seed=2)
ZS, COMPLEX_GAPS = complexes(2, 3, 3), complexes(2, 3, 3, seed=2)


def over(x, gaps):
    return OFF * x / gaps, np.diagonal(x, 0, -2, -1)


def back(x, values, gaps):
    return OFF * x / gaps + EYE * values[..., None]


ROWS = [
    Sample(OverGaps(), (X, GAPS), over, linear=((0,),)),
    Sample(OverGaps(), (ZS, COMPLEX_GAPS), over, linear=((0,),), name="complex-stack"),
    Sample(
        OverGaps(),
        (reals(0, 0), reals(0, 0)),
        lambda x, d: (x, x[0:0, :].sum(0)),
        name="empty",
        linear=((0,),),
    ),
    Sample(BackOverGaps(), (X, W, GAPS), back, linear=((0, 1),)),
    Sample(
        BackOverGaps(),
        (ZS, complexes(2, 3), COMPLEX_GAPS),
        back,
        linear=((0, 1),),
        name="complex-stack",
    ),
]
