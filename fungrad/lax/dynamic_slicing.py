"""Slices from starts that may be traced, computed when the program runs.

Where a start is out of range, it is moved so that the slice fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import type_of
from fungrad.lax.checks import (
    array_of,
    axis_of,
    check_same_dtypes,
    integer_of,
    integers_of,
    number_of,
)
from fungrad.lax.glossary import public, public_like
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice


def _start(name: str, start: Any, allow_negative: bool) -> Any:
    """Return a start as an integer scalar, at least 0 unless negative ones count from the end."""
    i = array_of(name, "a start index", start)
    type_ = type_of(i)
    if type_.shape or type_.dtype.kind not in "iu":
        raise TypeError(f"lax.{name}: start indices must be 0-d integers, got {type_}")
    return i if allow_negative else fnp.maximum(i, 0)


def _starts(name: str, starts: Any, allow_negative: Any, ndim: int) -> list[Any]:
    """Return one start for each axis, given as a sequence or as an array."""
    if len(getattr(starts, "shape", (0,))) != 1 or len(starts) != ndim:
        raise TypeError(
            f"lax.{name}: start_indices must be a sequence of integers, one for each of the {ndim} axes of the "
            f"operand, got {starts!r}"
        )
    allowed = (
        [bool(allow_negative)] * ndim
        if isinstance(allow_negative, (bool, np.bool_))
        else list(allow_negative)
    )
    if len(allowed) != ndim:
        raise ValueError(
            f"lax.{name}: allow_negative_indices must be a boolean or one for each axis, got {allow_negative!r}"
        )
    return [_start(name, starts[i], allowed[i]) for i in range(ndim)]


def _moving(
    shape: tuple[int, ...], sizes: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the axes along which a slice is not all there is, its sizes there and the largest starts."""
    axes = tuple(a for a, (n, size) in enumerate(zip(shape, sizes, strict=True)) if size != n)
    return axes, tuple(sizes[a] for a in axes), tuple(shape[a] - sizes[a] for a in axes)


def _check_fits(name: str, what: str, sizes: Sequence[int], x: Any) -> None:
    shape = np.shape(x)
    if len(sizes) != len(shape) or not all(
        0 <= size <= n for size, n in zip(sizes, shape, strict=True)
    ):
        raise ValueError(f"lax.{name}: {what} {tuple(sizes)} does not fit into {type_of(x)}")


@public
def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """Return a slice of a size that is known, from a start that may be traced.

    Parameters
    ----------
    start_indices
        An integer for each axis, as a sequence or an array of shape ``(operand.ndim,)``. Where the slice would
        not fit, the start is moved.
    slice_sizes
        The shape of the slice.
    allow_negative_indices
        Whether negative starts count from the end, for all axes or for each; otherwise they are 0.

    Returns
    -------
    array
        Of shape `slice_sizes`. Of a plain array it is a view.

    Raises
    ------
    ValueError
        If the slice is larger than the array.

    Examples
    --------
    >>> lax.dynamic_slice(np.arange(5), (2,), (2,))
    array([2, 3])
    >>> lax.dynamic_slice(np.arange(5), (9,), (2,))
    array([3, 4])
    """
    name = "dynamic_slice"
    x = array_of(name, "operand", operand)
    starts = _starts(name, start_indices, allow_negative_indices, np.ndim(x))
    sizes = integers_of(name, "slice_sizes", slice_sizes)
    return _sliced(name, "a slice of slice_sizes", x, starts, sizes)


def _sliced(
    name: str, what: str, x: Any, starts: Sequence[Any], sizes: Sequence[int], *dropped: int
) -> Any:
    _check_fits(name, what, sizes, x)
    axes, lengths, limits = _moving(np.shape(x), sizes)
    return DynamicSlice(axes, lengths, limits, dropped)(x, *[starts[a] for a in axes])


@public_like(dynamic_slice)
def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """Return an array with another in place of a slice, from a start that may be traced.

    Compiled, it writes into the operand's memory where nothing reads that any more.

    Parameters
    ----------
    update
        What replaces the slice: an array of as many axes and the same dtype, nowhere longer.

    Returns
    -------
    array
        Of the shape of the operand, which keeps its values.

    Raises
    ------
    TypeError
        If the dtypes differ.
    ValueError
        If the update does not fit.

    Examples
    --------
    >>> lax.dynamic_update_slice(np.zeros(4), np.array([1.0, 2.0]), (1,))
    array([0., 1., 2., 0.])
    """
    name = "dynamic_update_slice"
    x = array_of(name, "operand", operand)
    new = array_of(name, "update", number_of(update, x))
    check_same_dtypes(name, operand=x, update=new)
    shape = np.shape(x)
    starts = _starts(name, start_indices, allow_negative_indices, len(shape))
    sizes = np.shape(new)
    _check_fits(name, "an update of shape", sizes, x)
    axes, lengths, limits = _moving(shape, sizes)
    return DynamicUpdateSlice(axes, lengths, limits)(x, new, *[starts[a] for a in axes])


@public
def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Return a slice along one axis, of a size that is known, from a start that may be traced.

    Parameters
    ----------
    start_index
        An integer. Where the slice would not fit, it is moved.
    slice_size
        How many elements.

    Returns
    -------
    array
        Of length `slice_size` along the axis. Of a plain array it is a view.

    Examples
    --------
    >>> lax.dynamic_slice_in_dim(np.arange(5), -2, 2)
    array([3, 4])
    """
    name = "dynamic_slice_in_dim"
    size = integer_of(name, "slice_size", slice_size)
    return _sliced_in_dim(name, operand, start_index, size, axis, allow_negative_indices)


def _sliced_in_dim(
    name: str, operand: Any, start: Any, size: int, axis: int, allow: bool, drop: bool = False
) -> Any:
    x = array_of(name, "operand", operand)
    shape = np.shape(x)
    along = axis_of(name, "axis", axis, len(shape))
    starts = [_start(name, start, allow)] * len(shape)
    sizes = [*shape[:along], size, *shape[along + 1 :]]
    return _sliced(name, "a slice of shape", x, starts, sizes, *[along] * drop)


@public
def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Return the elements at one place of an axis; the place may be traced.

    Parameters
    ----------
    index
        The place, an integer; where it is out of range, the next that is not.

    Returns
    -------
    array
        The elements there.

    Examples
    --------
    >>> lax.dynamic_index_in_dim(np.array([[1, 2], [3, 4]]), 1, keepdims=False)
    array([3, 4])
    """
    name = "dynamic_index_in_dim"
    return _sliced_in_dim(name, operand, index, 1, axis, allow_negative_indices, not keepdims)


@public
def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """Return an array with another in place of a slice along one axis; the start may be traced.

    Parameters
    ----------
    update
        What replaces the slice: an array of the same dtype and, but along the axis, the same shape.
    start_index
        An integer. Where the update would not fit, it is moved.

    Returns
    -------
    array
        Of the shape of the operand.

    Examples
    --------
    >>> lax.dynamic_update_slice_in_dim(np.zeros(4), np.ones(2), 9, axis=0)
    array([0., 0., 1., 1.])
    """
    name = "dynamic_update_slice_in_dim"
    ndim = np.ndim(array_of(name, "operand", operand))
    starts: list[Any] = [0] * ndim
    starts[axis_of(name, "axis", axis, ndim)] = start_index
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@public_like(dynamic_index_in_dim)
def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """Return an array with another at one place of an axis; the place may be traced.

    Parameters
    ----------
    update
        What is put there: an array of the same dtype with all axes of the operand but this one, or
        with this one of length 1.

    Returns
    -------
    array
        Of the shape of the operand.

    Examples
    --------
    >>> lax.dynamic_update_index_in_dim(np.zeros(3), 5.0, 1, axis=0)
    array([0., 5., 0.])
    """
    name = "dynamic_update_index_in_dim"
    x = array_of(name, "operand", operand)
    ndim = np.ndim(x)
    along = axis_of(name, "axis", axis, ndim)
    new = array_of(name, "update", number_of(update, x))
    if np.ndim(new) == ndim - 1:
        new = fnp.expand_dims(new, along)
    return dynamic_update_slice_in_dim(
        x, new, index, along, allow_negative_indices=allow_negative_indices
    )
