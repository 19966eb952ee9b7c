"""Making arrays by the names of `jax.lax`, and telling their dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.backend import namespace, target_of
from fungrad.core.types import Shape, type_of
from fungrad.lax.checks import array_of, axis_of, integer_of, integers_of, no_such_option
from fungrad.lax.glossary import public, public_like
from fungrad.primitives import shaping


@public
def iota(dtype: Any, size: int) -> Any:
    """Return the numbers 0, 1, 2, ... as an array.

    Parameters
    ----------
    dtype
        The dtype of the numbers: integer, real or complex.
    size
        How many there are.

    Returns
    -------
    array
        Of shape ``(size,)``.

    Examples
    --------
    >>> lax.iota(int, 3)
    array([0, 1, 2])
    """
    return broadcasted_iota(dtype, (integer_of("iota", "size", size),), 0)


@public_like(iota)
def broadcasted_iota(
    dtype: Any, shape: Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Any:
    """Return the numbers 0, 1, 2, ... along an axis of an array that is constant along the others.

    Parameters
    ----------
    dimension
        The axis along which they count.

    Returns
    -------
    array
        Of the shape given.

    Examples
    --------
    >>> lax.broadcasted_iota(int, (2, 3), 1)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    name = "broadcasted_iota"
    no_such_option(name, out_sharding=out_sharding)
    lengths = integers_of(name, "shape", shape)
    return shaping.iota(lengths, dtype, axis_of(name, "dimension", dimension, len(lengths)))


@public
def full(shape: Sequence[int], fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """Return an array of one value.

    Parameters
    ----------
    dtype
        The dtype of the array, by default that of the value.

    Returns
    -------
    array
        Of the shape given.

    Examples
    --------
    >>> lax.full((2,), 3.0)
    array([3., 3.])
    """
    no_such_option("full", sharding=sharding)
    value = array_of("full", "fill_value", fill_value)
    return _filled("full", integers_of("full", "shape", shape), value, dtype, value)


def _filled(name: str, shape: Shape, value: Any, dtype: Any, near: Any) -> Any:
    """Return an array of one value on the device of `near`."""
    if np.ndim(value):
        raise TypeError(f"lax.{name}: fill_value must be a scalar, got {type_of(value)}")
    xp = namespace((near,))
    return (fnp if target_of(xp).on_host else xp).full(shape, value, dtype)


@public
def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Any:
    """Return an array of one value, of the shape and dtype of another.

    Parameters
    ----------
    x
        An array, or anything with a shape and a dtype.
    dtype, shape
        Where they are to be others than those of `x`.

    Returns
    -------
    array
        Of the shape and dtype of `x`, unless others are given.

    Examples
    --------
    >>> lax.full_like(np.zeros(2, int), 3)
    array([3, 3])
    """
    no_such_option("full_like", sharding=sharding)
    like = type_of(x)
    lengths = like.shape if shape is None else integers_of("full_like", "shape", shape)
    value = array_of("full_like", "fill_value", fill_value)
    return _filled("full_like", lengths, value, like.dtype if dtype is None else dtype, x)


@public
def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Any:
    """Return an array whose elements are not to be read before they are set.

    Parameters
    ----------
    dtype
        Its dtype.

    Returns
    -------
    array
        Of the shape and dtype given.

    Examples
    --------
    >>> lax.empty((2, 3), float).shape
    (2, 3)
    """
    no_such_option("empty", out_sharding=out_sharding)
    return fnp.empty(integers_of("empty", "shape", shape), dtype)


@public
def dtype(x: Any) -> np.dtype[Any]:
    """Return the dtype of an array, a tracer, a number, or of a name of a dtype.

    Parameters
    ----------
    x
        An array or a number, or a dtype such as ``float`` or ``"float32"``.

    Returns
    -------
    numpy.dtype
        Its dtype.

    Examples
    --------
    >>> lax.dtype(1.0), lax.dtype("float32")
    (dtype('float64'), dtype('float32'))
    """
    return np.dtype(x) if isinstance(x, (type, str, np.dtype)) else type_of(x).dtype


@public
def shape_as_value(shape: Sequence[int]) -> Any:
    """Return a shape as an array of integers.

    Parameters
    ----------
    shape
        A tuple of integers.

    Returns
    -------
    array
        Of int64.

    Examples
    --------
    >>> lax.shape_as_value((2, 3))
    array([2, 3])
    """
    return np.asarray(integers_of("shape_as_value", "shape", shape), np.int64)
