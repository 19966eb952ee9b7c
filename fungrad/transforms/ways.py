"""Joining the results of calls that went different ways through a mapped function."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.backend import to_host
from fungrad.core.config import settings
from fungrad.core.errors import Place, describe_source
from fungrad.core.lattice import promoted
from fungrad.core.tracer import Tracer, asked
from fungrad.core.tree import unflatten
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexing import Gather
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import move_axis
from fungrad.transforms.dtypes import weakly_typed
from fungrad.transforms.lane_programs import Numbers
from fungrad.transforms.lanes import Lanes, way_of


class Traced(NamedTuple):
    """A run of a mapped function: its trace, the variables of its results, their tree and axes."""

    trace: Lanes
    outputs: Sequence[int]
    structure: Any
    axes: tuple[int | None, ...]

    @property
    def types(self) -> list[ArrayType]:
        """The types of the results."""
        return [self.trace.types[v] for v in self.outputs]


class _Part(NamedTuple):
    """The results of some lanes, with the batch in front, and where these have parted from others last."""

    lanes: Numbers
    run: Traced
    results: list[Any]
    place: Place | None


def all_results(first: Traced, run: Callable[..., Traced]) -> tuple[list[Any], int]:
    """Return the results of all lanes, and in how many runs these went.

    The `first` has been made; `run` is given its trace, lanes and where these parted, and makes another.

    The next to be run is the lane that a loop would come to next, so of several errors it is the same one that is raised.
    """
    way = way_of(first.trace)
    if not way.left and len(way.lanes) == first.trace.mapping[0]:
        return list(weakly_typed(way.results(first.outputs, first.axes), first.types)), 1
    parts: list[_Part] = []
    waiting: list[tuple[int, Numbers, Place | None]] = []
    traced = first
    while True:
        way = way_of(traced.trace)
        results = way.results(traced.outputs, [None if a is None else 0 for a in traced.axes])
        parts.append(_Part(way.lanes, traced, results, way.place))
        _check_alike(parts[0], parts[-1])
        for lanes, place in way.left:
            heapq.heappush(waiting, (int(lanes[0]), lanes, place))
        if not waiting:
            return _joined(parts), len(parts)
        _, lanes, place = heapq.heappop(waiting)
        traced = run(first.trace, lanes, place)


def _check_alike(first: _Part, other: _Part) -> None:
    """Raise unless the results of two ways have the same tree and shapes."""
    label = first.run.trace.label
    one, two = first.run, other.run
    if one.structure == two.structure and [t.shape for t in one.types] == [
        t.shape for t in two.types
    ]:
        return
    a, b = (unflatten(run.structure, run.types) for run in (one, two))
    raise ValueError(
        f"{label}: calls {first.lanes[0]} and {other.lanes[0]} give results that cannot be stacked: {a} and {b}. They go different "
        f"ways since {describe_source(other.place)}. Return arrays of the same shapes in the same tree, or use a Python loop."
    )


def _joined(parts: Sequence[_Part]) -> list[Any]:
    """Return the results of all lanes in their order."""
    order = np.argsort(np.concatenate([part.lanes for part in parts]))
    first = parts[0].run
    joined, types = [], []
    for i, axis in enumerate(first.axes):
        given = [part.run.types[i] for part in parts]
        results = [part.results[i] for part in parts]
        if axis is None:
            _check_equal(parts, results)
            joined.append(results[0])
            types.append(given[0])
            continue
        type_ = _common(given)
        types.append(type_)
        rows = Concatenate(0)(*[_cast(x, type_.dtype) for x in results])
        x = move_axis(Gather(True)(rows, order), 0, axis)
        joined.append(np.ascontiguousarray(x) if type(x) is np.ndarray else x)
    return list(weakly_typed(joined, types))


def _common(types: Sequence[ArrayType]) -> ArrayType:
    """Return the type that results of different dtypes have when they are stacked, but for its shape."""
    if settings.get().dtypes:
        dtype, weak = promoted(tuple(types))
        return types[0].update(dtype=dtype, weak=weak)
    return types[0].update(dtype=np.result_type(*[t.dtype for t in types]))


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if x.dtype == dtype else Cast(dtype)(x)


def _check_equal(parts: Sequence[_Part], results: Sequence[Any]) -> None:
    """Raise unless a result is the same in all lanes."""
    first, *others = [asked(x) for x in results]
    for part, x in zip(parts[1:], others, strict=True):
        known = Tracer not in (type(first), type(x))
        if x is not first and not (known and np.array_equal(to_host(first), to_host(x))):
            raise ValueError(
                f"{part.run.trace.label}: out_axes is None for a result that differs between the calls mapped over, which go "
                f"different ways at {describe_source(part.place)}; give the axis that holds the batch"
            )
