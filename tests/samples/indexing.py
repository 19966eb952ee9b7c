"""Rows of `fungrad.primitives.indexing`."""

from collections.abc import Callable

import numpy as np

from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.writing import LONG_ROW
from tests.samples.row import Sample, booleans, complexes, integers, reals

COMBINE: dict[str, Callable[..., np.ndarray]] = {
    "set": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
LINEAR = {"set": ((0, 1),), "add": ((0, 1),), "mul": ((0,),), "min": (), "max": ()}

REPEATED = np.array([2, 0, 2, -1, 2])
DISTINCT = np.array([2, 0, -2])
SQUARE = np.array([[1, 1], [-3, 1]])
SCALAR = np.array(-1)
NOWHERE = np.zeros(0, int)


def gathered(x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
    """Gather one place after the other."""
    shape = indices[0].shape
    rows = [x[tuple(int(i[place]) for i in indices)] for place in np.ndindex(shape)]
    return np.reshape(np.asarray(rows, x.dtype), shape + x.shape[len(indices) :])


def scattered(kind: str) -> Callable[..., np.ndarray]:
    """Return the function that scatters one update after the other."""

    def oracle(x: np.ndarray, updates: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        out = np.array(x)
        for place in np.ndindex(indices[0].shape):
            target = tuple(int(i[place]) for i in indices)
            out[target] = COMBINE[kind](out[target], updates[place])
        return out

    return oracle


def sliced(primitive: UpdateSlice) -> Callable[..., np.ndarray]:
    """Return the function that updates the elements of a slice one after the other."""

    def oracle(x: np.ndarray, updates: np.ndarray) -> np.ndarray:
        out = np.array(x)
        updates = np.expand_dims(updates, primitive.dropped)
        for place in np.ndindex(updates.shape):
            target = tuple(np.add(primitive.start, np.multiply(place, primitive.step)))
            out[target] = COMBINE[primitive.kind](out[target], updates[place])
        return out

    return oracle


def like(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return other values of the kind of those in `x`, on both sides of them."""
    match x.dtype.kind:
        case "c":
            return complexes(*shape, seed=5)
        case "b":
            return booleans(*shape, seed=5)
        case "i":
            return integers(*shape, seed=5)
    return reals(*shape, seed=5).astype(x.dtype)


def gather(name: str, x: np.ndarray, *indices: np.ndarray, unique: bool = False) -> Sample:
    return Sample(Gather(unique), (x, *indices), gathered, name=name)


def scatter(
    name: str, kind: str, x: np.ndarray, *indices: np.ndarray, unique: bool = False
) -> Sample:
    return Sample(
        Scatter(kind, unique),
        (x, like(x, x[indices].shape), *indices),
        scattered(kind),
        linear=LINEAR[kind],
        name=f"{kind}-{name}",
    )


def update(name: str, kind: str, x: np.ndarray, *items: slice | int) -> Sample:
    slices = [i if isinstance(i, slice) else slice(i, i + 1) for i in items]
    bounds = zip(*[s.indices(n) for s, n in zip(slices, x.shape, strict=True)], strict=True)
    start, stop, step = map(tuple, bounds) if slices else ((), (), ())
    dropped = tuple([axis for axis, i in enumerate(items) if not isinstance(i, slice)])
    primitive = UpdateSlice(start, stop, step, kind, dropped)
    return Sample(primitive, (x, like(x, x[items].shape)), sliced(primitive), name=f"{kind}-{name}")


ROWS = [
    gather("one-index", reals(3), REPEATED),
    gather("rows", reals(3, 2), REPEATED),
    gather("two-indices", reals(3, 4, 2), REPEATED, REPEATED[::-1]),
    gather("all-axes", reals(3, 4), SQUARE, SQUARE.T),
    gather("square-index", reals(3, 2), SQUARE),
    gather("scalar-index", reals(3, 2), SCALAR),
    gather("scalar-indices", reals(3, 2), SCALAR, SCALAR),
    gather("unique", reals(3, 2), DISTINCT, unique=True),
    gather("small-integers", reals(3, 2), REPEATED.astype(np.int8)),
    gather("unsigned", reals(3, 2), np.array([2, 0, 2], np.uint16)),
    gather("complex", complexes(3, 2), REPEATED),
    gather("integers", integers(3, 2), REPEATED),
    gather("booleans", booleans(3, 2), REPEATED),
    gather("nowhere", reals(3, 2), NOWHERE),
    gather("from-nothing", reals(0, 2), NOWHERE),
    gather("empty-rows", reals(3, 0), REPEATED),
    *[
        row
        for kind in COMBINE
        for row in [
            scatter("one-index", kind, reals(3), REPEATED),
            scatter("rows", kind, reals(3, 2), REPEATED),
            scatter("two-indices", kind, reals(3, 4, 2), REPEATED, REPEATED[::-1]),
            scatter("all-axes", kind, reals(3, 4), SQUARE, SQUARE.T),
            scatter("square-index", kind, reals(3, 2), SQUARE.T),
            scatter("scalar-index", kind, reals(3, 2), SCALAR),
            scatter("scalar-indices", kind, reals(3, 2), SCALAR, SCALAR),
            scatter("unique", kind, reals(3, 2), DISTINCT, unique=True),
            scatter("small-integers", kind, reals(3, 2), REPEATED.astype(np.int8)),
            scatter("complex", kind, complexes(3, 2), REPEATED),
            scatter("integers", kind, integers(3, 2), REPEATED),
            scatter("booleans", kind, booleans(3, 2), REPEATED),
            scatter("nowhere", kind, reals(3, 2), NOWHERE),
            scatter("empty-rows", kind, reals(3, 0), REPEATED),
        ]
    ],
    scatter("long-rows", "add", reals(3, LONG_ROW), REPEATED[:3]),
    *[
        row
        for kind in ("set", "add")
        for row in [
            update("vector", kind, reals(5), slice(1, 4)),
            update("element", kind, reals(5), slice(2, 3)),
            update("strided", kind, reals(5, 4), slice(0, 5, 2), slice(1, 4, 2)),
            update("everything", kind, reals(2, 3), slice(None), slice(None)),
            update("nothing", kind, reals(2, 3), slice(1, 1), slice(None)),
            update("scalar", kind, reals()),
            update("complex", kind, complexes(3, 4), slice(0, 2), slice(3, 4)),
            update("integers", kind, integers(3, 4), slice(0, 2), slice(3, 4)),
            update("one-element", kind, reals(5), 2),
            update("one-element-of-a-matrix", kind, complexes(3, 2), 2, 1),
            update("row", kind, reals(3, 2), 2, slice(None)),
            update("column", kind, integers(3, 4), slice(0, 3, 2), 1),
            update("inner", kind, reals(2, 3, 4), 1, slice(0, 3), 2),
        ]
    ],
]
