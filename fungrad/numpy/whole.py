"""Arrays whose elements were taken one by one, and are put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.core.tracer import Tracer, new_tracer
from fungrad.primitives.slices import Slice

__all__ = ["whole_of"]


def whole_of(rows: Sequence[Any]) -> Tracer | None:
    """Return the array whose elements along the first axis are `rows`, in order; or None."""
    first = rows[0]
    if type(first) is not Tracer:
        return None
    trace: Any = first._owner
    primitive, inputs = trace.maker(first._variable)
    if type(primitive) is not Slice or primitive.dropped != (0,):
        return None
    type_ = trace.types[inputs[0]]
    n, *others = type_.shape
    ones, zeros = (1,) * len(others), (0,) * len(others)
    if n != len(rows):
        return None
    for i, x in enumerate(rows):
        if type(x) is not Tracer or x._owner is not trace:
            return None
        primitive, of = trace.maker(x._variable)
        if of != inputs or primitive != Slice((i, *zeros), (i + 1, *others), (1, *ones), (0,)):
            return None
    return new_tracer(trace, inputs[0], type_)
