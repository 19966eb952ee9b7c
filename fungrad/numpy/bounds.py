"""Keys of ``at(x)[key]`` with indices out of bounds, by JAX's rules."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape, type_of
from fungrad.numpy import promotion
from fungrad.numpy.indexing import getitem
from fungrad.numpy.nearest import inside, nearest, outside
from fungrad.numpy.promotion import as_tracer, cast, has_tracer, strong

Items = Sequence[tuple[Any, int | None]]
"""The items of a key, each with the axis it indexes if it is integers."""


def clamped(items: Items, shape: Shape) -> tuple[Any, ...]:
    """Return a key with its integers brought to the nearest in bounds."""
    return tuple(
        [p if a is None or a >= len(shape) else nearest(_integers(p), shape[a]) for p, a in items]
    )


def _integers(item: Any) -> Any:
    return item if type(item) in (int, Tracer) else np.asarray(item)


def kept(x: Any, items: Items, kind: str, values: Any) -> tuple[str | None, Any]:
    """Return the mode in which updates out of bounds are dropped, and the values of an update.

    Nothing is to be done for integers that are known to be in bounds. Where only one place is written, the element of the nearest
    one is written once more.
    """
    shape = type_of(x).shape
    indices = [(strong(p), shape[a]) for p, a in items if a is not None and a < len(shape)]
    unknown = [(i, n) for i, n in indices if not inside(i, n)]
    if not unknown:
        return None, values
    if kind != "set" or any(type_of(i).shape or not n for i, n in indices):
        return "drop", values
    beyond = functools.reduce(np.logical_or, [outside(i, n) for i, n in unknown])
    if not has_tracer((x, beyond)):
        return "drop", values
    old = getitem(as_tracer(x), clamped(items, shape))
    return "clip", promotion.where(beyond, old, cast(as_tracer(values), old.dtype))
