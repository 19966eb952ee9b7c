"""Out-of-bounds indices by JAX's rules: reads take the nearest element, and updates are dropped."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.backend import to_host
from fungrad.core.nesting import trace_of
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import ArrayType, Shape, kind_of, type_of
from fungrad.numpy import promotion
from fungrad.numpy.promotion import as_tracer, broadcast_to, convert
from fungrad.primitives.elementwise import clamp, one_way


def nearest(index: Any, n: int) -> Any:
    """Return indices of an axis of length `n`, those out of bounds replaced by the nearest ones."""
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
    integers = np.asarray(index)
    return not integers.size or bool(-n <= integers.min() <= integers.max() < n)


def outside(index: Any, n: int) -> Any:
    """Return where integers are out of bounds."""
    dtype = type_of(index).dtype
    above = np.greater_equal(index, n) if n <= np.iinfo(dtype).max else np.zeros_like(index, bool)
    return above if kind_of(dtype) == "u" else np.logical_or(above, np.less(index, -n))


def filled(elements: Any, index: Any, n: int, axis: int, fill: Any) -> Any:
    """Return elements read at the nearest indices, with `fill` where these were out of bounds."""
    mask = as_tracer(outside(index, n))
    after = len(elements.shape) - axis - len(mask.shape)
    return promotion.where(np.reshape(mask, (*mask.shape, *[1] * after)), fill, elements)


def dropped(indices: Sequence[tuple[Any, int]], elements: Any, shape: Shape) -> Any:
    """Return elements read at the nearest indices; no cotangents go back where one was out of bounds.

    `indices` are the parts of the key, each with the length of its axis. As in JAX, tangents are those of the elements read, and
    single integers alone have both.
    """
    if not shape or not type_of(elements).inexact:
        return elements
    integers = [(i, n) for i, n in indices if type(i) is int or kind_of(i.dtype) in "iu"]
    beyond = [
        outside(np.asarray(i) if type(i) is int else i, n) for i, n in integers if not inside(i, n)
    ]
    if not beyond:
        return elements
    mask = broadcast_to(as_tracer(functools.reduce(np.logical_or, beyond)), shape)
    mask = np.reshape(mask, (*shape, *[1] * (len(elements.shape) - len(shape))))
    return one_way(elements, broadcast_to(mask, elements.shape))


# Arguments of functions that are indices along an axis


def within(index: Any, n: int, mode: Any) -> Any:
    """Bring indices into [0, n) as NumPy's `mode` says; "raise" leaves them as they are."""
    if mode == "raise":
        return index
    if mode == "wrap":
        return np.remainder(index, n)
    if mode == "clip":
        return np.minimum(np.maximum(index, 0), n - 1)
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def known_outside(index: Any, n: int) -> np.ndarray[Any, Any]:
    """Return those of the indices that are not in [0, n), as far as values are known."""
    value = known_value(index)
    value = np.zeros(0, np.intp) if value is None else to_host(value)
    return np.extract((value < 0) | (value >= n), value)


def check_along(index: ArrayType, axis: Any, ndim: int) -> None:
    """Raise NumPy's errors for indices along an axis of an array, of None the flattened one."""
    if index.dtype.kind not in "iu":
        from fungrad.core.refusals import float_index  # only errors need it

        raise IndexError(f"`indices` must be an integer array, and {float_index(index)}")
    if axis is None and index.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    if axis is not None and index.ndim != ndim:
        normalize_axis_index(axis, ndim)
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
