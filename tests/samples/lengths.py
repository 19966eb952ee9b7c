"""Rows for primitives/lengths.py."""

import numpy as np

from fungrad.primitives.lengths import RootMeanSquare, over_length
from tests.samples.row import Sample, reals

X, Y = reals(2, 3, 4), reals(2, 3, 4, seed=1)

ROWS = [
    Sample(over_length, (X, Y), lambda u, n: u * n**-1.0, linear=((0,),)),
    Sample(RootMeanSquare((0, 2), 1), (X,), lambda x: np.linalg.norm(x, axis=(0, 2))),
    Sample(RootMeanSquare((1,), 3), (X - 0.6,), lambda x: np.sqrt(np.mean(x * x, 1)), name="mean"),
    Sample(
        RootMeanSquare((1,), 2.5),
        (X, Y),
        lambda x, y: np.linalg.norm(x + 1j * y, axis=1) / np.sqrt(2.5),
        name="of two parts",
    ),
]
