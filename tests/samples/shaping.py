"""Rows for primitives/shaping.py."""

import numpy as np

from fungrad.primitives.shaping import Broadcast, Iota, Permute, ReduceSum, Reshape
from tests.samples.row import Sample, complexes, integers, reals


def sample_sum(name, x, axes, tolerance=1e-12):
    # One axis at a time, the elements in order.
    def oracle(x):
        for axis in sorted(axes, reverse=True):
            x = sum(np.moveaxis(x, axis, 0), start=np.zeros(np.delete(x.shape, axis), x.dtype))
        return x

    return Sample(ReduceSum(axes), (x,), oracle, name=name, tolerance=tolerance)


ROWS = [
    Sample(Broadcast((4, 3), (0,)), (reals(3),), lambda x: np.stack([x] * 4), name="leading axis"),
    Sample(
        Broadcast((3, 4, 2), (1,)),
        (reals(3, 2),),
        lambda x: np.stack([x] * 4, axis=1),
        name="inner axis",
    ),
    Sample(
        Broadcast((2, 3, 4), (0, 2)),
        (complexes(3),),
        lambda x: x[:, None] * np.ones((2, 1, 4)),
        name="two axes, complex",
    ),
    Sample(Broadcast((2, 3), (0, 1)), (reals(),), lambda x: np.full((2, 3), x), name="of 0-d"),
    Sample(Broadcast((), ()), (reals(),), lambda x: x, name="0-d to 0-d"),
    Sample(Broadcast((3, 0), (1,)), (reals(3),), lambda x: np.zeros((3, 0)), name="to no elements"),
    sample_sum("all axes", reals(3, 4), (0, 1)),
    sample_sum("inner axis", reals(2, 3, 4), (1,)),
    sample_sum("outer axes", reals(2, 3, 4), (0, 2)),
    sample_sum("no axes", reals(2, 3), ()),
    sample_sum("of 0-d", reals(), ()),
    sample_sum("of no elements", reals(0, 3), (0,)),
    sample_sum("complex", complexes(3, 2), (0,)),
    sample_sum("float32", reals(5).astype(np.float32), (0,), tolerance=1e-6),
    Sample(
        ReduceSum((0,)),
        (integers(3, 2, low=100, high=128).astype(np.int8),),
        lambda x: (x.astype(int).sum(0)).astype(np.int8),
        name="int8 stays int8",
    ),
    Sample(Reshape((3, 4)), (reals(2, 6),), lambda x: np.stack(np.split(x.ravel(), 3))),
    Sample(Reshape((1, 1)), (reals(),), lambda x: np.array([[x]]), name="from 0-d"),
    Sample(Reshape(()), (complexes(1),), lambda x: x[0], name="to 0-d"),
    Sample(Reshape((0, 5)), (reals(2, 0),), lambda x: np.zeros((0, 5)), name="no elements"),
    Sample(Permute((1, 0)), (reals(2, 3),), lambda x: np.array([*zip(*x, strict=True)])),
    Sample(
        Permute((2, 0, 1)),
        (complexes(2, 3, 4),),
        lambda x: np.einsum("ijk->kij", x),
        name="cycle",
    ),
    Sample(Permute(()), (reals(),), lambda x: x, name="0-d"),
    Sample(Iota((4,), np.dtype(np.int64), 0), (), lambda: np.array([0, 1, 2, 3])),
    Sample(
        Iota((2, 3, 2), np.dtype(np.float32), 1),
        (),
        lambda: np.indices((2, 3, 2))[1].astype(np.float32),
        name="inner axis",
    ),
    Sample(Iota((0,), np.dtype(np.uint8), 0), (), lambda: np.zeros(0, np.uint8), name="empty"),
]
