"""Rows for primitives/lengths.py, and for what derivatives of lengths are made of."""

import numpy as np

from fungrad.primitives import elementwise as e
from fungrad.primitives.lengths import PowerNorm, RootLike, RootMeanSquare
from tests.samples.row import Sample, complexes, reals

X, Y = reals(2, 3, 4), reals(2, 3, 4, seed=1)
Z, W = complexes(2, 3), complexes(2, 3, seed=2)
NOWHERE = np.zeros(X.shape, bool)

ROWS = [
    Sample(e.over_length, (X, Y), lambda u, n: u * n**-1.0, linear=((0,),)),
    Sample(e.over_length, (Z, W), lambda u, n: u * n**-1.0, linear=((0,),), name="complex"),
    Sample(e.along, (X, Y, Y - 0.1), lambda t, s, n: s * t, linear=((0,),)),
    Sample(e.along, (Z, W, W - 0.1), lambda t, s, n: s * t, linear=((0,),), name="complex"),
    Sample(e.kinked, (X, NOWHERE), lambda x, mask: x + 0, linear=((0,),)),
    Sample(e.fragile, (X, NOWHERE), lambda x, mask: x + 0, linear=((0,),)),
    Sample(RootMeanSquare((0, 2), 1), (X,), lambda x: np.linalg.norm(x, axis=(0, 2))),
    Sample(RootMeanSquare((1,), 3), (X - 0.6,), lambda x: np.sqrt(np.mean(x * x, 1)), name="mean"),
    Sample(
        RootMeanSquare((1,), 2.5),
        (X, Y),
        lambda x, y: np.linalg.norm(x + 1j * y, axis=1) / np.sqrt(2.5),
        name="of two parts",
    ),
    *[
        Sample(PowerNorm((1,), p), (X - 0.6,), lambda x, p=p: np.linalg.norm(x, p, 1), name=str(p))
        for p in (1.5, 2.5, 3, 4)
    ],
    *[
        Sample(
            PowerNorm((1,), p),
            (X, Y),
            lambda x, y, p=p: np.linalg.norm(x + 1j * y, p, 1),
            name=f"{p} of two parts",
        )
        for p in (1.5, 3, 4)
    ],
    Sample(RootLike(0.7), (X,), lambda x: np.exp(0.7 * np.log(x))),
]
