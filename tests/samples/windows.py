"""Rows for primitives/windows.py."""

import numpy as np

from fungrad.primitives.convolution import fitting
from fungrad.primitives.windows import (
    FindInWindow,
    PickInWindow,
    PutInWindow,
    WindowMax,
    WindowMin,
    WindowSum,
)
from tests.samples.row import Sample, booleans, complexes, integers, reals


def windows(x, axis, length, stride, dilation):
    """The elements of each window, along a new last axis."""
    starts = stride * np.arange(fitting(x.shape[axis], length, stride, dilation))
    places = starts[:, None] + dilation * np.arange(length)
    return np.moveaxis(np.take(x, places, axis), axis + 1, -1)


def at(x, which, fields):
    return np.take_along_axis(windows(x, *fields), which[..., None].astype(int), -1)[..., 0]


def put(x, which, fields, n):
    axis, _, stride, dilation = fields
    out = np.zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype)
    for i in np.ndindex(*x.shape):
        place = list(i)
        place[axis] = i[axis] * stride + int(which[i]) * dilation
        out[tuple(place)] += x[i]
    return out


def first(x, out, fields):
    seen = windows(x, *fields)
    same = (seen == out[..., None]) | np.isnan(seen)
    return np.argmax(same, -1).astype(np.uint8)


CASES = [  # operand; axis, length, stride, dilation
    (reals(7), (0, 2, 1, 1)),
    (reals(2, 7), (1, 3, 2, 2)),
    (reals(9, 2), (0, 6, 1, 1)),
    (reals(2, 24), (1, 11, 2, 1)),
    (reals(6, 2), (0, 2, 3, 1)),
    (reals(3, 2), (0, 1, 2, 1)),
    (complexes(5), (0, 2, 1, 2)),
    (integers(6), (0, 3, 2, 1)),
    (reals(2, 3), (1, 4, 1, 1)),
    (reals(0, 4), (1, 2, 1, 1)),
]
NAN = np.array([0.5, np.nan, 0.25, np.nan, 1.0])
ROWS = [
    *[
        Sample(
            op(*fields),
            (x,),
            lambda x, reduce=reduce, fields=fields: reduce(windows(x, *fields), -1),
            name=f"{x.dtype}{list(x.shape)} {fields}",
        )
        for op, reduce, cases in (
            (WindowSum, np.sum, CASES),
            (WindowMax, np.max, CASES[1::2]),
            (WindowMin, np.min, CASES[1:2]),
        )
        for x, fields in cases
    ],
    Sample(WindowMax(0, 2, 1, 1), (booleans(5),), lambda x: x[1:] | x[:-1], name="bool"),
    *[
        Sample(
            FindInWindow(*fields),
            (x, np.max(windows(x, *fields), -1)),
            lambda x, out, fields=fields: first(x, out, fields),
            name=f"{list(x.shape)} {fields}",
        )
        for x, fields in [*CASES[:3], (NAN, (0, 3, 1, 1))]
    ],
    *[
        sample
        for x, fields in (CASES[1], CASES[4], CASES[6], CASES[8])
        for which in [integers(*windows(x, *fields).shape[:-1], high=fields[1], seed=3)]
        for name in [f"{x.dtype}{list(x.shape)} {fields}"]
        for n in [x.shape[fields[0]]]
        for sample in (
            Sample(
                PickInWindow(*fields),
                (x, which),
                lambda x, which, fields=fields: at(x, which, fields),
                name=name,
            ),
            Sample(
                PutInWindow(*fields, n),
                (at(x, which, fields), which),
                lambda x, which, fields=fields, n=n: put(x, which, fields, n),
                name=name,
            ),
        )
    ],
]
