"""Rows of `fungrad.primitives.indexed`."""

from typing import Any

import numpy as np

from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from tests.samples.row import Sample, complexes, integers, reals

Key = tuple[Any, ...]


def bounds_of(key: Key, x: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Return the axes that are indexed, and the bounds of the slices along the others."""
    slices = [
        range(*item.indices(n)) if isinstance(item, slice) else range(n)
        for item, n in zip(key, x.shape)
    ]
    axes = tuple([a for a, item in enumerate(key) if not isinstance(item, slice)])
    return axes, *zip(*[(s.start, s.stop, s.step) for s in slices])


def places_in(key: Key) -> tuple[np.ndarray, ...]:
    return tuple([np.asarray(item) for item in key if not isinstance(item, slice)])


def taken(name: str, x: np.ndarray, key: Key) -> Sample:
    return Sample(
        IndexedSlice(*bounds_of(key, x)), (x, *places_in(key)), lambda x, *_: x[key], name=name
    )


def written(name: str, kind: str, x: np.ndarray, key: Key) -> Sample:
    def oracle(x: np.ndarray, updates: np.ndarray, *_: Any) -> np.ndarray:
        out = np.array(x)
        out[key] = updates if kind == "set" else out[key] + updates
        return out

    updates = np.resize(x[..., ::-1] if x.size else x, x[key].shape)
    primitive = IndexedUpdate(*bounds_of(key, x), kind)
    return Sample(primitive, (x, updates, *places_in(key)), oracle, name=f"{kind}-{name}")


S = slice
CALLS: list[tuple[str, np.ndarray, Key]] = [
    ("part-of-a-row", reals(3, 5), (1, S(1, 4))),
    ("part-of-a-column", reals(5, 3), (S(1, 4), 2)),
    ("column", complexes(4, 3), (S(None), 0)),
    ("from-the-end", reals(3, 5), (-1, S(0, 2))),
    ("every-other", reals(5, 3), (S(0, 5, 2), 1)),
    ("in-the-middle", reals(2, 3, 4), (S(None), 1, S(1, 3))),
    ("around", integers(2, 3, 4), (1, S(0, 2), 2)),
    ("in-front", reals(2, 3, 4), (1, np.int8(-2), S(1, 2))),
    ("unsigned", reals(3, 5), (np.uint64(2), S(1, 4))),
    ("nothing", reals(3, 5), (1, S(2, 2))),
    ("along-a-unit", reals(3, 1), (2, S(0, 1))),
]

ROWS = [
    *[taken(*call) for call in CALLS],
    *[written(name, kind, x, key) for kind in ("set", "add") for name, x, key in CALLS],
]
