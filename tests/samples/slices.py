"""Rows for primitives/slices.py and joins.py."""

import numpy as np

from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.slices import Pad, Reverse, Slice
from tests.samples.row import Sample, booleans, complexes, integers, reals


def padded(low, high, interior):
    """Return the oracle of `Pad`: one element at a time, from the definition."""

    def pad(x, value):
        lengths = [
            n + max(n - 1, 0) * i + w + h
            for n, w, h, i in zip(x.shape, low, high, interior, strict=True)
        ]
        out = np.empty(lengths, x.dtype)
        for index in np.ndindex(*lengths):
            out[index] = value[index[: value.ndim]] if np.ndim(value) else value
        for index in np.ndindex(*x.shape):
            to = tuple(w + p * (i + 1) for p, w, i in zip(index, low, interior, strict=True))
            if all(0 <= p < n for p, n in zip(to, lengths, strict=True)):
                out[to] = x[index]
        return out

    return pad


def sample_pad(name, x, low, high, interior, value=2.5, dropped=()):
    primitive = Pad(low, high, interior, dropped)
    value = np.asarray(value, x.dtype)
    oracle = padded(low, high, interior)
    return Sample(
        primitive,
        (x, value),
        lambda x, value: oracle(np.expand_dims(x, dropped), value),
        name=name,
    )


ROWS = [
    Sample(Reverse((0,)), (reals(4),), lambda x: np.array([*reversed(x)])),
    Sample(Reverse((0, 2)), (complexes(2, 3, 4),), lambda x: np.flip(x, (0, 2)), name="two axes"),
    Sample(Reverse(()), (reals(2),), lambda x: x, name="no axes"),
    Sample(Reverse((1,)), (integers(2, 3),), np.fliplr, name="int"),
    Sample(Concatenate(0), (reals(2), reals(3, seed=1)), lambda x, y: np.array([*x, *y])),
    Sample(
        Concatenate(1),
        (complexes(2, 2), complexes(2, 0), complexes(2, 3, seed=1)),
        lambda x, y, z: np.hstack([x, y, z]),
        name="three, one empty",
    ),
    Sample(Concatenate(0), (reals(2, 3),), lambda x: x, name="one"),
    Sample(
        Concatenate(0), (booleans(2), booleans(1, seed=1)), lambda x, y: np.r_[x, y], name="bool"
    ),
    Sample(Roll((1,), (0,)), (reals(4),), lambda x: x[[3, 0, 1, 2]]),
    Sample(
        Roll((-1, 3), (0, 2)),
        (complexes(2, 3, 4),),
        lambda x: x[::-1][:, :, [1, 2, 3, 0]],
        name="two axes",
    ),
    Sample(Roll((-2,), (1,)), (integers(2, 3),), lambda x: np.roll(x, 1, 1), name="int"),
    Sample(Roll((0,), (1,)), (reals(2, 0),), lambda x: x + 0, name="no elements"),
    Sample(Stack(0), (reals(), reals(seed=1), reals(seed=2)), lambda x, y, z: np.r_[x, y, z]),
    Sample(
        Stack(1),
        (complexes(2, 3), complexes(2, 3, seed=1)),
        lambda x, y: np.array([x, y]).swapaxes(0, 1),
        name="inner axis",
    ),
    Sample(Stack(0), (reals(2, 0), reals(2, 0)), lambda x, y: np.zeros((2, 2, 0)), name="empty"),
    Sample(
        Stack(0), (booleans(2), booleans(2, seed=1)), lambda x, y: np.array([x, y]), name="bool"
    ),
    Sample(Slice((1,), (4,), (1,)), (reals(6),), lambda x: np.take(x, [1, 2, 3])),
    Sample(
        Slice((0, 1), (3, 6), (2, 3)),
        (reals(3, 7),),
        lambda x: np.array([[x[0, 1], x[0, 4]], [x[2, 1], x[2, 4]]]),
        name="steps",
    ),
    Sample(
        Slice((0,), (5,), (2,)), (complexes(6),), lambda x: np.take(x, [0, 2, 4]), name="complex"
    ),
    Sample(Slice((2,), (2,), (1,)), (reals(4),), lambda x: np.zeros(0), name="to no elements"),
    Sample(Slice((), (), ()), (reals(),), lambda x: x, name="0-d"),
    Sample(Slice((1,), (3,), (1,)), (integers(4),), lambda x: np.take(x, [1, 2]), name="int"),
    Sample(Slice((3,), (4,), (1,), (0,)), (reals(5),), lambda x: np.take(x, 3), name="element"),
    Sample(
        Slice((1, 0, 2), (2, 3, 3), (1, 2, 1), (0, 2)),
        (complexes(2, 3, 4),),
        lambda x: np.array([x[1, 0, 2], x[1, 2, 2]]),
        name="two axes dropped",
    ),
    Sample(
        Slice((1, 0), (2, 1), (1, 1), (1,)),
        (integers(3, 1),),
        lambda x: np.take(x, [1]),
        name="one of two axes dropped",
    ),
    Sample(
        Slice((1, 2), (2, 2), (1, 1), (0,)),
        (reals(2, 3),),
        lambda x: np.zeros(0),
        name="to no elements of a row",
    ),
    sample_pad("outside", reals(3), (2,), (1,), (0,)),
    sample_pad("interior", reals(2, 3), (0, 1), (0, 0), (0, 2)),
    sample_pad("all", reals(2, 3), (1, 2), (0, 1), (3, 1)),
    sample_pad("crop", reals(5), (-1,), (-2,), (0,)),
    sample_pad("crop and pad", reals(2, 4), (-1, 2), (3, -1), (0, 0)),
    sample_pad("crop inside the interior", complexes(3, 4), (-2, -1), (1, -3), (2, 1), 1 - 2j),
    sample_pad("shift out altogether", reals(2), (5,), (-6,), (0,)),
    sample_pad("no elements", reals(0, 2), (2, 0), (1, 1), (3, 0)),
    sample_pad("to no elements", reals(3), (-2,), (-1,), (0,)),
    sample_pad("0-d", reals(), (), (), ()),
    sample_pad("int", integers(3), (1,), (1,), (1,), 7),
    sample_pad("an element", reals(), (2,), (1,), (0,), dropped=(0,)),
    sample_pad("a column", complexes(3), (0, 1), (1, 2), (1, 0), dropped=(1,)),
    sample_pad("a dropped axis cropped", reals(2), (-1, 0), (2, 1), (0, 1), dropped=(0,)),
    sample_pad(
        "a value for each row of a dropped axis", reals(2), (0, 1), (0, 0), (0, 1), [3.5], (0,)
    ),
    sample_pad("a value for each row", reals(2, 3), (0, 1), (0, -2), (0, 1), reals(2, seed=1)),
]
