"""Rows for primitives/filters.py."""

import numpy as np
import scipy.linalg
from numpy.lib.stride_tricks import sliding_window_view

from fungrad.primitives.filters import AllPole, Correlate
from tests.samples.row import Sample, booleans, complexes, integers, reals


def slide(x, y, ndim):
    axes = tuple(range(-ndim, 0))
    windows = sliding_window_view(x, y.shape[-ndim:], axes)
    y = y.reshape(y.shape[:-ndim] + (1,) * ndim + y.shape[-ndim:])
    return (windows * y).sum(axes, x.dtype)


def slide_over_all(x, y, ndim):
    """With zeros around, which changes nothing of finite numbers."""
    margin = [(0, 0)] * (x.ndim - ndim) + [(m - 1, m - 1) for m in y.shape[-ndim:]]
    return slide(np.pad(x, margin), y, ndim)


def solved(a, u):
    """By the triangular matrix of the filter."""
    n = u.shape[-1]
    out = np.empty_like(u)
    for row in np.ndindex(*a.shape[:-1]):
        column = np.zeros(n, a.dtype)
        column[: len(a[row])] = a[row][:n]
        matrix = scipy.linalg.toeplitz(column, np.zeros(n))
        out[row] = np.moveaxis(np.tensordot(np.linalg.inv(matrix), u[row], (1, -1)), 0, -1)
    return out


ROWS = [
    *[
        Sample(
            Correlate(ndim),
            (x, y),
            lambda x, y, ndim=ndim: slide(x, y, ndim),
            name=f"{x.dtype}{list(x.shape)} with {list(y.shape)} along {ndim}",
        )
        for x, y, ndim in [
            (reals(6), reals(3, seed=1), 1),
            (reals(2), reals(2, seed=1), 1),
            (complexes(5), complexes(2, seed=2), 1),
            (reals(4, 6), reals(4, 2, seed=1), 1),
            (reals(4, 5), reals(4, 4, seed=1), 1),
            (reals(3, 4), reals(2, 2, seed=1), 2),
            (reals(3, 4), reals(3, 3, seed=1), 2),
            (complexes(2, 3, 3), complexes(2, 2, 1, seed=2), 2),
            (reals(2, 3, 2), reals(1, 2, 2, seed=1), 3),
            (integers(6), integers(2), 1),
            (booleans(4, 3), booleans(2, 2, seed=1), 2),
            (reals(0, 3), reals(0, 2), 1),
        ]
    ],
    *[
        Sample(
            Correlate(ndim, True),
            (x, y),
            lambda x, y, ndim=ndim: slide_over_all(x, y, ndim),
            name=f"{x.dtype}{list(x.shape)} with all of {list(y.shape)} along {ndim}",
        )
        for x, y, ndim in [
            (reals(6), reals(3, seed=1), 1),
            (reals(2), reals(4, seed=1), 1),
            (complexes(5), complexes(2, seed=2), 1),
            (reals(4, 5), reals(4, 4, seed=1), 1),
            (reals(3, 4), reals(2, 5, seed=1), 2),
            (complexes(2, 3, 3), complexes(2, 2, 1, seed=2), 2),
            (integers(6), integers(2), 1),
            (booleans(4, 3), booleans(2, 2, seed=1), 2),
            (reals(0, 3), reals(0, 2), 1),
        ]
    ],
    *[
        Sample(
            AllPole(a.ndim - 1),
            (a, u),
            solved,
            linear=((1,),),
            name=f"{a.dtype}{list(a.shape)} of {list(u.shape)}",
        )
        for a, u in [
            (reals(3), reals(5, seed=1)),
            (reals(1), reals(4, seed=1)),
            (reals(4), reals(2, 3, seed=1)),
            (complexes(2), complexes(4, seed=2)),
            (reals(2, 3), reals(2, 4, seed=1)),
            (reals(2, 2), reals(2, 3, 3, seed=1)),
            (reals(2), reals(0, 3)),
            (reals(2), reals(0)),
        ]
    ],
]
