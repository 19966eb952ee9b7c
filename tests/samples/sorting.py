"""Rows for primitives/sorting.py."""

import numpy as np

from fungrad.primitives.sorting import ArgSort, Sort
from tests.samples.row import Sample, booleans, complexes, integers, reals


def order(keys):
    """Sort positions with Python's sort, which is stable; NaNs last."""

    def rank(z):
        return [(np.isnan(part), part) for part in (z.real, z.imag)]

    return sorted(range(len(keys[0])), key=lambda i: [rank(key[i]) for key in keys])


def sorted_rows(axis, num_keys=None):
    """Return the oracle of `Sort`, or of `ArgSort` if `num_keys` is None."""

    def oracle(*operands):
        moved = [np.moveaxis(x, axis, -1) for x in operands]
        outs = [np.empty(x.shape, x.dtype) for x in moved]
        orders = np.empty(moved[0].shape, np.int64)
        for index in np.ndindex(*moved[0].shape[:-1]):
            orders[index] = order([x[index] for x in moved[:num_keys]])
            for out, x in zip(outs, moved, strict=True):
                out[index] = x[index][orders[index]]
        if num_keys is None:
            return np.moveaxis(orders, -1, axis)
        return tuple(np.moveaxis(out, -1, axis) for out in outs)

    return oracle


def row(primitive, *operands, name=""):
    num_keys = primitive.num_keys if isinstance(primitive, Sort) else None
    return Sample(primitive, operands, sorted_rows(primitive.axis, num_keys), name=name)


TIED = integers(3, 6, high=3)
NANS = np.array([0.5, np.nan, -1.0, np.nan, 0.2])

ROWS = [
    row(Sort(0), reals(7)),
    row(Sort(1), reals(3, 4, 2), name="inner axis"),
    row(Sort(0), complexes(5, 2), name="complex"),
    row(Sort(1), TIED, name="int"),
    row(Sort(0), booleans(5), name="bool"),
    row(Sort(0, 1, False), reals(6, 2), name="not stable"),
    row(Sort(0), reals(0, 2), name="empty"),
    row(Sort(0), np.array([2.0]), name="of one"),
    row(Sort(1), TIED, reals(3, 6), name="key and operand"),
    row(Sort(0), reals(4), reals(4, seed=1), integers(4), name="key and two operands"),
    row(Sort(0, 1, False), reals(4, 2), complexes(4, 2), name="key and operand, not stable"),
    row(Sort(1, 2), TIED, reals(3, 6), name="two keys"),
    row(Sort(1, 2), TIED, TIED[::-1], reals(3, 6), name="two keys and operand"),
    row(Sort(0, 3), booleans(6), integers(6, high=2), reals(6), name="three keys"),
    row(ArgSort(0), reals(7)),
    row(ArgSort(1), TIED, name="ties"),
    row(ArgSort(0, False), reals(5, 2), name="not stable"),
    row(ArgSort(0), NANS, name="NaN"),
    row(ArgSort(0), complexes(5), name="complex"),
    row(ArgSort(1), TIED, TIED[::-1], name="two keys"),
]
