"""Rows of `fungrad.primitives.dynamic`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from tests.samples.row import Sample, booleans, complexes, integers, reals

Starts = Sequence[int | np.integer]


def starts_of(starts: Starts) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(s) for s in starts)


def places(
    axes: tuple[int, ...], sizes: tuple[int, ...], x: np.ndarray, starts: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Return an open mesh of the elements of the slice."""
    index = [np.arange(n) for n in x.shape]
    for axis, size, start in zip(axes, sizes, map(int, starts)):
        n = x.shape[axis]
        first = min(max(start + n * (start < 0), 0), n - size)
        index[axis] = np.arange(first, first + size)
    return np.ix_(*index)


def taken(axes: tuple[int, ...], sizes: tuple[int, ...]) -> Callable[..., np.ndarray]:
    return lambda x, *starts: x[places(axes, sizes, x, starts)]


def written(axes: tuple[int, ...], sizes: tuple[int, ...], kind: str) -> Callable[..., np.ndarray]:
    def oracle(x: np.ndarray, updates: np.ndarray, *starts: np.ndarray) -> np.ndarray:
        out = np.array(x)
        where = places(axes, sizes, x, starts)
        out[where] = updates if kind == "set" else out[where] + updates
        return out

    return oracle


def sliced(
    name: str,
    x: np.ndarray,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    *starts: int | np.integer,
    dropped: tuple[int, ...] = (),
    within: bool = False,
) -> Sample:
    limits = tuple(x.shape[a] - n for a, n in zip(axes, sizes))
    whole = taken(axes, sizes)
    return Sample(
        DynamicSlice(axes, sizes, limits, dropped, within),
        (x, *starts_of(starts)),
        lambda *operands: np.squeeze(whole(*operands), dropped),
        name=name,
    )


def updated(
    name: str,
    kind: str,
    x: np.ndarray,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    *starts: int | np.integer,
    dropped: tuple[int, ...] = (),
    within: bool = False,
) -> Sample:
    limits = tuple(x.shape[a] - n for a, n in zip(axes, sizes))
    shape = list(x.shape)
    for axis, size in zip(axes, sizes):
        shape[axis] = size
    updates = np.asarray(np.resize(x[..., ::-1] if x.size else x, shape))
    whole = written(axes, sizes, kind)
    return Sample(
        DynamicUpdateSlice(axes, sizes, limits, kind, dropped, within),
        (x, np.squeeze(updates, dropped), *starts_of(starts)),
        lambda x, updates, *starts: whole(x, np.expand_dims(updates, dropped), *starts),
        name=f"{kind}-{name}",
    )


CALLS = [
    ("element", reals(5), (0,), (1,), 4),
    ("columns", reals(3, 4), (1,), (2,), 1),
    ("two-axes", reals(3, 4, 2), (0, 1), (2, 3), 1, 0),
    ("axes-in-any-order", reals(3, 2, 4), (2, 0), (3, 2), 1, 1),
    ("beyond-the-end", reals(5), (0,), (2,), 9),
    ("before-the-start", reals(5), (0,), (2,), -9),
    ("from-the-end", reals(5), (0,), (2,), -3),
    ("small-integer", reals(5), (0,), (2,), np.int8(-3)),
    ("unsigned", reals(5), (0,), (2,), np.uint64(2**64 - 1)),
    ("nothing", reals(5), (0,), (0,), 2),
    ("no-axes", reals(2), (), ()),
    ("empty", reals(0, 2), (0,), (0,), 0),
    ("complex", complexes(3, 2), (0,), (2,), 1),
    ("integers", integers(3, 2), (0,), (2,), 1),
    ("booleans", booleans(3, 2), (0,), (2,), 1),
]

DROPPING: list[tuple[Any, tuple[int, ...]]] = [
    (("one-element", reals(5), (0,), (1,), 3), (0,)),
    (("one-element-from-the-end", reals(5), (0,), (1,), -2), (0,)),
    (("row", reals(3, 4), (0,), (1,), 1), (0,)),
    (("column", complexes(3, 4), (1,), (1,), 9), (1,)),
    (("element-of-a-matrix", integers(3, 4), (1, 0), (1, 1), 2, 1), (0, 1)),
    (("one-of-two-axes", reals(3, 4, 2), (0, 1), (1, 3), 1, 0), (0,)),
    (("axis-of-length-1", reals(3, 1, 2), (0,), (2,), 1), (1,)),
]

WITHIN: list[tuple[Any, tuple[int, ...]]] = [
    (("columns-within", reals(3, 4), (1,), (2,), 1), ()),
    (("two-axes-within", reals(3, 4, 2), (0, 1), (2, 3), 1, 0), ()),
    (("row-within", complexes(3, 4), (0,), (1,), 2), (0,)),
    (("element-within", integers(3, 4), (1, 0), (1, 1), 2, 1), (0, 1)),
]

ROWS = [
    *[sliced(*call) for call in CALLS],
    *[sliced(*call, dropped=dropped) for call, dropped in DROPPING],
    *[updated(name, kind, *call) for kind in ("set", "add") for name, *call in CALLS],
    *[
        updated(name, kind, *call, dropped=dropped)
        for kind in ("set", "add")
        for (name, *call), dropped in DROPPING
    ],
    *[sliced(*call, dropped=dropped, within=True) for call, dropped in WITHIN],
    *[
        updated(name, kind, *call, dropped=dropped, within=True)
        for kind in ("set", "add")
        for (name, *call), dropped in WITHIN
    ],
]
