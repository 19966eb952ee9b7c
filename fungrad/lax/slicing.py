"""Slices with bounds that are known: views, as in NumPy."""

from __future__ import annotations

from builtins import slice as Bounds
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.types import type_of
from fungrad.lax.checks import array_of, axis_of, integer_of, integers_of
from fungrad.lax.glossary import public


@public
def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """Return a slice with bounds that are known.

    Parameters
    ----------
    start_indices, limit_indices
        For each axis the first place and the one where the slice ends, which it does not contain.
    strides
        For each axis the distance between elements, by default 1.

    Returns
    -------
    array
        The slice, a view.

    Raises
    ------
    ValueError
        If bounds are negative, or beyond the array.

    Examples
    --------
    >>> lax.slice(np.arange(10), (2,), (9,), (3,))
    array([2, 5, 8])
    """
    x = array_of("slice", "operand", operand)
    shape = np.shape(x)
    start = integers_of("slice", "start_indices", start_indices)
    limit = integers_of("slice", "limit_indices", limit_indices)
    step = (1,) * len(shape) if strides is None else integers_of("slice", "strides", strides)
    fits = len(start) == len(limit) == len(step) == len(shape) and all(
        0 <= a <= b <= n and s > 0 for a, b, s, n in zip(start, limit, step, shape, strict=True)
    )
    if not fits:
        raise ValueError(
            f"lax.slice: each axis of {type_of(x)} needs 0 <= start <= limit <= length and a positive stride, got "
            f"start_indices {start}, limit_indices {limit}, strides {step}; x[-3:] counts from the end"
        )
    return x[tuple([Bounds(*bounds) for bounds in zip(start, limit, step, strict=True)])]


@public
def slice_in_dim(
    operand: Any,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """Return a slice along one axis, with bounds that are known.

    Parameters
    ----------
    start_index, limit_index
        The first place and the one where the slice ends. None stands for the ends of the axis;
        negative ones count from the last.
    stride
        The distance between elements.

    Returns
    -------
    array
        The slice, a view.

    Examples
    --------
    >>> lax.slice_in_dim(np.arange(5), 1, -1)
    array([1, 2, 3])
    """
    x = array_of("slice_in_dim", "operand", operand)
    shape = np.shape(x)
    along = axis_of("slice_in_dim", "axis", axis, len(shape))
    n = shape[along]
    first, stop = [
        default if bound is None else _from_start(integer_of("slice_in_dim", argument, bound), n)
        for argument, bound, default in (
            ("start_index", start_index, 0),
            ("limit_index", limit_index, n),
        )
    ]
    step = integer_of("slice_in_dim", "stride", stride)
    if not (0 <= first <= stop <= n and step > 0):
        raise ValueError(
            f"lax.slice_in_dim: from {start_index} to {limit_index} in steps of {step} is no slice of axis "
            f"{along} of {type_of(x)}"
        )
    return x[(*(Bounds(None),) * along, Bounds(first, stop, step))]


def _from_start(place: int, n: int) -> int:
    """Return a place on an axis of length `n`, counted from the first; negative ones are from the last."""
    return place + n if place < 0 else place


@public
def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """Return the elements at one place of an axis; the place is known.

    Parameters
    ----------
    index
        The place; negative ones count from the last.

    Returns
    -------
    array
        A view.

    Raises
    ------
    IndexError
        If there is no such place.

    Examples
    --------
    >>> lax.index_in_dim(np.array([[1, 2], [3, 4]]), 1, axis=1, keepdims=False)
    array([2, 4])
    """
    x = array_of("index_in_dim", "operand", operand)
    shape = np.shape(x)
    along = axis_of("index_in_dim", "axis", axis, len(shape))
    n, i = shape[along], integer_of("index_in_dim", "index", index)
    if not -n <= i < n:
        raise IndexError(f"lax.index_in_dim: {i} is out of range for axis {along} of {type_of(x)}")
    place = Bounds(i % n, i % n + 1) if keepdims else i
    return x[(*(Bounds(None),) * along, place)]
