"""Indices out of bounds where they are no errors: by JAX's rules, the nearest element is read, and an update is dropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.nesting import trace_of
from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape, kind_of, type_of
from fungrad.numpy import promotion
from fungrad.numpy.promotion import as_tracer, broadcast_to, convert
from fungrad.primitives.elementwise import clamp


def nearest(index: Any, n: int) -> Any:
    """Return integers with those out of bounds of an axis of length `n` replaced by the nearest in bounds; negative ones count from the end."""
    if type(index) is int:
        return min(max(index, -n), n - 1) if n else index
    dtype = type_of(index).dtype
    if not n or kind_of(dtype) not in "iu":
        return index
    limits = np.iinfo(dtype)
    low, high = max(-n, int(limits.min)), min(n - 1, int(limits.max))
    if type(index) is not Tracer:
        return np.clip(index, low, high)
    trace = trace_of((index,))
    assert trace is not None
    bounds = [broadcast_to(convert(trace, b, dtype), index.shape) for b in (low, high)]
    return clamp(bounds[0], index, bounds[1])


def inside(index: Any, n: int) -> bool:
    """Whether integers are known to be in bounds of an axis of length `n`."""
    if type(index) is Tracer:
        return False
    found = np.asarray(index)
    return not found.size or bool(-n <= found.min() <= found.max() < n)


def outside(index: Any, n: int) -> Any:
    """Return where integers are out of bounds."""
    dtype = type_of(index).dtype
    above = np.greater_equal(index, n) if n <= np.iinfo(dtype).max else np.zeros_like(index, bool)
    return above if kind_of(dtype) == "u" else np.logical_or(above, np.less(index, -n))


def clamped_key(x: Any, key: Any) -> Any:
    """Return a key of ``x[key]`` with its integers brought to the nearest in bounds."""
    from fungrad.numpy.at import index_axes  # which reads elements

    if type(key) is int and type_of(x).shape:
        return nearest(key, type_of(x).shape[0])
    if not isinstance(key, tuple) and (isinstance(key, slice) or key is None or key is Ellipsis):
        return key
    shape = type_of(x).shape
    found = index_axes(x, key)
    parts = [
        p if a is None else nearest(_integers(p), shape[a]) for p, a in found if _fits(a, shape)
    ]
    return tuple(parts) if len(parts) == len(found) else key


def _fits(axis: int | None, shape: Shape) -> bool:
    return axis is None or axis < len(shape)


def _integers(item: Any) -> Any:
    return item if type(item) in (int, Tracer) else np.asarray(item)


def filled(found: Any, index: Any, n: int, axis: int, fill: Any) -> Any:
    """Return elements read along an axis at the nearest of some integers, with `fill` where these were out of bounds."""
    mask = as_tracer(outside(index, n))
    after = len(found.shape) - axis - len(mask.shape)
    return promotion.where(np.reshape(mask, (*mask.shape, *[1] * after)), fill, found)
