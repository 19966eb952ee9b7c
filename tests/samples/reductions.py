"""Rows for primitives/reductions.py. (`ReduceSum` is in primitives/shaping.py.)"""

import functools
import itertools
import operator

import numpy as np

from fungrad.primitives.reductions import (
    ArgMax,
    ArgMin,
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceXor,
)
from tests.samples.row import Sample, booleans, complexes, integers, reals


def fold(function, axes):
    """Return the oracle of a reduction: Python's `function` of two numbers, one row at a time."""

    def oracle(x):
        out = np.empty(np.delete(x.shape, axes).astype(int), x.dtype)
        kept = [a for a in range(x.ndim) if a not in axes]
        rows = np.transpose(x, [*kept, *axes])
        for index in np.ndindex(*out.shape):
            out[index] = functools.reduce(function, rows[index].ravel().tolist())
        return out

    return oracle


def lexicographic(z):
    return (z.real, z.imag)


def row(primitive, function, x, name="", tolerance=1e-12):
    return Sample(primitive, (x,), fold(function, primitive.axes), name=name, tolerance=tolerance)


def largest(x, y):
    return max(x, y, key=lexicographic)


def smallest(x, y):
    return min(x, y, key=lexicographic)


ZEROS = reals(3, 4, low=-1.0, high=2.0)
ZEROS[0, 1] = ZEROS[2, 1] = ZEROS[1, 2] = 0  # a column with two zeros, one with one
NANS = reals(3, 4)
NANS[1, 1] = NANS[2, 1] = NANS[0, 3] = np.nan
TIES = np.array([[3, 1, 1, 3], [2, 2, 0, 0]])

ROWS = [
    row(ReduceProd((0,)), operator.mul, reals(5, low=-1.0, high=2.0)),
    row(ReduceProd((1,)), operator.mul, reals(2, 3, 2), "inner axis"),
    row(ReduceProd((0, 2)), operator.mul, reals(2, 3, 2), "outer axes"),
    row(ReduceProd((0, 1)), operator.mul, ZEROS, "all axes, zeros"),
    row(ReduceProd((0,)), operator.mul, ZEROS, "zeros"),
    row(ReduceProd((1,)), operator.mul, complexes(2, 3), "complex"),
    row(ReduceProd((0,)), operator.mul, reals(1, 2), "of one"),
    row(ReduceProd(()), operator.mul, reals(2, 3), "no axes"),
    row(ReduceProd(()), operator.mul, reals(), "0-d"),
    row(ReduceProd((0,)), operator.mul, integers(4, 2, low=1), "int"),
    row(ReduceProd((0,)), operator.mul, reals(4).astype(np.float32), "float32", 1e-6),
    Sample(ReduceProd((1,)), (reals(2, 0),), lambda x: np.ones(2), name="of no elements"),
    row(ReduceMax((0,)), max, reals(5)),
    row(ReduceMax((0, 2)), max, reals(2, 3, 4), "outer axes"),
    row(ReduceMax((1,)), max, reals(3, 4).astype(np.float32), "float32"),
    row(ReduceMax((0, 1)), max, integers(2, 3), "int"),
    row(ReduceMax((0,)), max, booleans(3, 2), "bool"),
    row(ReduceMax((0,)), largest, complexes(4, 2), "complex"),
    row(ReduceMax(()), max, reals(2), "no axes"),
    row(ReduceMax(()), max, reals(), "0-d"),
    Sample(ReduceMax((0,)), (reals(2, 0),), lambda x: np.zeros(0), name="to no elements"),
    row(ReduceMin((0,)), min, reals(5)),
    row(ReduceMin((0, 2)), min, reals(2, 3, 4), "outer axes"),
    row(ReduceMin((1,)), min, integers(2, 3), "int"),
    row(ReduceMin((0,)), smallest, complexes(4, 2), "complex"),
    row(ReduceMin(()), min, reals(), "0-d"),
    row(ReduceAnd((0,)), operator.and_, booleans(2, 4)),
    row(ReduceAnd((0, 1)), operator.and_, np.ones((2, 2), bool), "all axes"),
    Sample(ReduceAnd((0,)), (booleans(0),), lambda x: np.True_, name="of no elements"),
    row(ReduceOr((1,)), operator.or_, booleans(4, 2)),
    row(ReduceOr((0, 1)), operator.or_, booleans(2, 2), "all axes"),
    Sample(ReduceOr((0,)), (booleans(0),), lambda x: np.False_, name="of no elements"),
    row(ReduceOr(()), operator.or_, booleans(3), "no axes"),
    row(ReduceXor((0,)), operator.xor, booleans(3, 4)),
    row(ReduceXor((0, 1)), operator.xor, booleans(3, 4), "all axes"),
    *(
        Sample(
            primitive,
            (x,),
            lambda x, pick=pick, axis=primitive.axis: np.apply_along_axis(
                lambda row: pick(range(len(row)), key=lambda i: lexicographic(row[i])), axis, x
            ),
            name=f"{name}, axis {primitive.axis}",
        )
        for (cls, pick), (name, x), axis in itertools.product(
            ((ArgMax, max), (ArgMin, min)),
            (("float", reals(3, 4)), ("ties", TIES), ("complex", complexes(3, 2))),
            (0, 1),
        )
        for primitive in [cls(axis)]
    ),
    *(
        Sample(
            cls(0),
            (NANS,),
            lambda x, cls=cls: np.where(
                np.isnan(x).any(0),
                np.isnan(x).argmax(0),
                (np.argmax if cls is ArgMax else np.argmin)(np.nan_to_num(x), 0),
            ),
            name="NaN",
        )
        for cls in (ArgMax, ArgMin)
    ),
    Sample(ArgMax(0), (booleans(5),), lambda x: x.tolist().index(True), name="bool"),
]
