"""Integers of indices as operands, where they change from call to call.

``x[3]`` is recorded with the 3 as a parameter: then it is known what is a view of what, and programs are fastest. But in a
loop in Python that reads ``x[i]``, every call would record another structure. So what is met anew is compared with
what is equal to it but for such integers. The slices that start elsewhere become dynamic ones, and their starts are captured
as numbers are: from then on one program serves all starts.

Design: docs/design/14-first-gradients-and-structures.md.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.cache import LRUCache
from fungrad.core.primitive import Primitive
from fungrad.core.recorder import Recorder
from fungrad.core.trace import Trace
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.slices import Slice

Starts = tuple[int, ...]


class Met(NamedTuple):
    """Record of structures that differ only in where slices start."""

    starts: tuple[Starts, ...]
    """Of each slice, as they were first."""
    moving: frozenset[int]
    """The slices that have started elsewhere since, by their number."""


_met: LRUCache[Met] = LRUCache(maxsize=4096, maxweight=1 << 18)
"""By the hash of the structure: of two with one hash, both may get more operands than they need."""


def make_operands(trace: Trace, outputs: Sequence[int], kind: Hashable) -> bool:
    """Turn starts that have changed since the first meeting into operands; return whether there are any.

    The equations in `trace` are changed in place.
    """
    if _is_baked(trace.outer):
        return False
    slices = []
    equations = list(trace.equations)
    for number, (primitive, inputs, results) in enumerate(equations):
        if type(primitive) in (Slice, UpdateSlice):
            replacement = dynamic(primitive, trace.types[inputs[0]])
            if replacement is not None:
                slices.append((number, *replacement))
                equations[number] = replacement[0], inputs, results
    if not slices:
        return False
    types = tuple([trace.types[v] for v in (*trace.captures, *trace.inputs)])
    key = hash((kind, tuple(equations), types, tuple(outputs), len(trace.known)))
    starts = tuple([s for _, _, s, _ in slices])
    met = _met.get(key)
    if met is None or len(met.starts) != len(starts):
        _met.put(key, Met(starts, frozenset()), len(starts))
        return False
    moved = [i for i, (now, then) in enumerate(zip(starts, met.starts, strict=True)) if now != then]
    if not met.moving.issuperset(moved):
        met = Met(met.starts, met.moving.union(moved))
        _met.put(key, met, len(starts))
    for i in sorted(met.moving):
        number, primitive, _, operands = slices[i]
        _, inputs, results = equations[number]
        trace.equations[number] = (
            primitive,
            (*inputs, *[trace.add_input(type_of(x), x) for x in operands]),
            results,
        )
    return bool(met.moving)


def _is_baked(trace: Recorder | None) -> bool:
    """Whether a program that is made once is being recorded, in which integers are best known."""
    while trace is not None:
        if trace.mode.bake:
            return True
        trace = trace.outer
    return False


@functools.lru_cache(maxsize=1 << 13)
def dynamic(
    primitive: Any, type_: ArrayType
) -> tuple[Primitive, Starts, tuple[np.int64, ...]] | None:
    """Return the dynamic form of a static slice or update of an array of `type_`, and its starts.

    With that come the starts as operands. None if there are none, or if it is taken in steps.
    """
    axes, sizes, limits, starts = [], [], [], []
    region = zip(primitive.start, primitive.stop, primitive.step, type_.shape, strict=True)
    for axis, (start, stop, step, n) in enumerate(region):
        if stop - start == n:
            continue
        if step != 1:
            return None
        axes.append(axis)
        sizes.append(stop - start)
        limits.append(n - (stop - start))
        starts.append(start)
    if not axes:
        return None
    where = tuple(axes), tuple(sizes), tuple(limits)
    made: Primitive
    if type(primitive) is Slice:
        made = DynamicSlice(*where, primitive.dropped, True)
    else:
        made = DynamicUpdateSlice(*where, primitive.kind, primitive.dropped, True)
    return made, tuple(starts), tuple(map(np.int64, starts))
