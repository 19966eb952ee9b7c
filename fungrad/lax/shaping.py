"""Shapes and orders of axes of arrays. As in NumPy, the result is a view where it can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import type_of
from fungrad.lax.checks import array_of, axes_of, integers_of, no_such_option
from fungrad.lax.glossary import public


@public
def reshape(
    operand: Any,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Give the elements, in row-major order, another shape.

    Parameters
    ----------
    new_sizes
        The new shape; no length in it can be left open.
    dimensions
        An order of the operand's axes in which to take them, by default their own.

    Returns
    -------
    array
        Of the new shape.

    Raises
    ------
    ValueError
        If there are more or fewer elements than the shape has.

    Examples
    --------
    >>> lax.reshape(np.array([[1, 2, 3], [4, 5, 6]]), (3, 2), dimensions=(1, 0))
    array([[1, 4],
           [2, 5],
           [3, 6]])
    """
    no_such_option("reshape", out_sharding=out_sharding)
    x = array_of("reshape", "operand", operand)
    shape = integers_of("reshape", "new_sizes", new_sizes)
    if min(shape, default=0) < 0 or math.prod(shape) != type_of(x).size:
        raise ValueError(
            f"lax.reshape: {type_of(x)} cannot have the shape {shape}; to leave a length open, use "
            "fungrad.numpy.reshape, which takes -1"
        )
    return fnp.reshape(x if dimensions is None else transpose(x, dimensions), shape)


@public
def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Join neighbouring axes into one.

    Parameters
    ----------
    start_dimension, stop_dimension
        The first of the axes and the one after the last, by default the number of axes.

    Returns
    -------
    array
        With the same elements in the same order.

    Examples
    --------
    >>> lax.collapse(np.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    x = array_of("collapse", "operand", operand)
    shape = np.shape(x)
    first, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if not first < stop:
        raise ValueError(
            f"lax.collapse: there are no axes from {start_dimension} up to {stop_dimension} in {type_of(x)}"
        )
    return fnp.reshape(x, (*shape[:first], math.prod(shape[first:stop]), *shape[stop:]))


@public
def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """Reorder the axes: axis ``i`` of the result is axis ``permutation[i]`` of the operand.

    Parameters
    ----------
    permutation
        All axes of the operand in their new order.

    Returns
    -------
    array
        With its axes in the new order.

    Examples
    --------
    >>> lax.transpose(np.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    x = array_of("transpose", "operand", operand)
    axes = axes_of("transpose", "permutation", permutation, np.ndim(x))
    if len(axes) != np.ndim(x):
        raise ValueError(
            f"lax.transpose: permutation {axes} does not name all axes of {type_of(x)}"
        )
    return fnp.transpose(x, axes)


@public
def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """Reverse the order of elements along axes.

    Returns
    -------
    array
        Of the same shape.

    Examples
    --------
    >>> lax.rev(np.array([1, 2, 3]), (0,))
    array([3, 2, 1])
    """
    x = array_of("rev", "operand", operand)
    return fnp.flip(x, axes_of("rev", "dimensions", dimensions, np.ndim(x)))


@public
def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """Insert axes of length 1.

    Parameters
    ----------
    array
        An array of any shape and dtype.
    dimensions
        Where the new axes are in the result.

    Returns
    -------
    array
        With the same elements.

    Examples
    --------
    >>> lax.expand_dims(np.zeros(3), (0, 2)).shape
    (1, 3, 1)
    """
    x = array_of("expand_dims", "array", array)
    new = integers_of("expand_dims", "dimensions", dimensions)
    return fnp.expand_dims(x, axes_of("expand_dims", "dimensions", new, np.ndim(x) + len(new)))


@public
def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Remove axes of length 1.

    Parameters
    ----------
    array
        An array of any shape and dtype.

    Returns
    -------
    array
        With the same elements.

    Examples
    --------
    >>> lax.squeeze(np.zeros((1, 3, 1)), (0,)).shape
    (3, 1)
    """
    x = array_of("squeeze", "array", array)
    axes = axes_of("squeeze", "dimensions", dimensions, np.ndim(x))
    if any(np.shape(x)[i] != 1 for i in axes):
        raise ValueError(f"lax.squeeze: axes {axes} of {type_of(x)} must have length 1")
    return fnp.squeeze(x, axes)
