"""Joining arrays, taking them apart, and padding. As in NumPy, parts are views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import type_of
from fungrad.lax.checks import array_of, axis_of, check_same_dtypes, integers_of, number_of
from fungrad.lax.glossary import public
from fungrad.primitives.slices import Pad


def _operands(name: str, operands: Any) -> list[Any]:
    """Return arrays of one dtype, at least one."""
    xs = [array_of(name, f"operands[{i}]", x) for i, x in enumerate(operands)]
    if not xs:
        raise ValueError(f"lax.{name} needs at least one operand")
    check_same_dtypes(name, **{f"operands[{i}]": x for i, x in enumerate(xs)})
    return xs


@public
def concatenate(operands: Any, dimension: int) -> Any:
    """Join arrays along an axis they have.

    Parameters
    ----------
    operands
        Arrays of one dtype, and of one shape but along the axis.

    Returns
    -------
    array
        With the elements of the first, then those of the second, ...

    Raises
    ------
    TypeError
        If the dtypes differ; `fungrad.numpy.concatenate` promotes.

    Examples
    --------
    >>> lax.concatenate([np.array([1, 2]), np.array([3])], 0)
    array([1, 2, 3])
    """
    xs = _operands("concatenate", operands)
    return fnp.concatenate(xs, axis_of("concatenate", "dimension", dimension, np.ndim(xs[0])))


@public
def stack(operands: Any, axis: int = 0) -> Any:
    """Join arrays along a new axis.

    Parameters
    ----------
    operands
        Arrays of one dtype and one shape.
    axis
        Where the new axis is in the result.

    Returns
    -------
    array
        With one axis more.

    Examples
    --------
    >>> lax.stack([np.array([1, 2]), np.array([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    xs = _operands("stack", operands)
    return fnp.stack(xs, axis_of("stack", "axis", axis, np.ndim(xs[0]) + 1))


@public
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """Take an array apart along an axis.

    Parameters
    ----------
    x
        An array of any dtype.

    Returns
    -------
    tuple of arrays
        As many as the axis is long; none of them has it.

    Examples
    --------
    >>> lax.unstack(np.array([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    x = array_of("unstack", "x", x)
    moved = fnp.moveaxis(x, axis_of("unstack", "axis", axis, np.ndim(x)), 0)
    return tuple([moved[i] for i in range(np.shape(moved)[0])])


@public
def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Cut an array along an axis into pieces of given lengths.

    Parameters
    ----------
    sizes
        The lengths of the pieces, whose sum is that of the axis.

    Returns
    -------
    list of arrays
        The pieces in order.

    Raises
    ------
    ValueError
        If the lengths do not add up.

    Examples
    --------
    >>> lax.split(np.array([1, 2, 3]), (1, 2))
    [array([1]), array([2, 3])]
    """
    x = array_of("split", "operand", operand)
    lengths = integers_of("split", "sizes", sizes)
    along = axis_of("split", "axis", axis, np.ndim(x))
    if min(lengths, default=0) < 0 or sum(lengths) != np.shape(x)[along]:
        raise ValueError(
            f"lax.split: sizes {lengths} must be lengths that add up to that of axis {along} of {type_of(x)}"
        )
    stops = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    index = (slice(None),) * along
    return [x[(*index, slice(stop - n, stop))] for stop, n in zip(stops, lengths, strict=True)]


@public
def tile(operand: Any, reps: Sequence[int]) -> Any:
    """Repeat an array as a whole along each of its axes.

    Parameters
    ----------
    reps
        How many times, for each axis.

    Returns
    -------
    array
        Of shape ``(reps[0] * operand.shape[0], ...)``.

    Examples
    --------
    >>> lax.tile(np.array([1, 2]), (2,))
    array([1, 2, 1, 2])
    """
    x = array_of("tile", "operand", operand)
    times = integers_of("tile", "reps", reps)
    if len(times) != np.ndim(x) or min(times, default=0) < 0:
        raise ValueError(
            f"lax.tile: reps must be a number of times for each axis of {type_of(x)}, got {times}; "
            "fungrad.numpy.tile adds axes"
        )
    return fnp.tile(x, times)


@public
def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put elements of one value around and between those of an array, or crop it.

    Parameters
    ----------
    padding_value
        The value, a scalar of the same dtype; Python's numbers take it.
    padding_config
        For each axis how many elements go before the first, after the last (so many are cut off, if
        negative), and between neighbours.

    Returns
    -------
    array
        The elements in their new places, and the value elsewhere.

    Raises
    ------
    TypeError
        If the dtypes differ.
    ValueError
        If more is cut off than there is, or a number between neighbours is negative.

    Examples
    --------
    >>> lax.pad(np.array([1, 2, 3]), 0, [(1, -1, 1)])
    array([0, 1, 0, 2, 0])
    """
    x = array_of("pad", "operand", operand)
    value = array_of("pad", "padding_value", number_of(padding_value, x))
    if np.ndim(value):
        raise TypeError(f"lax.pad: padding_value must be a scalar, got {type_of(value)}")
    check_same_dtypes("pad", operand=x, padding_value=value)
    config = [integers_of("pad", "padding_config", triple) for triple in padding_config]
    if len(config) != np.ndim(x) or any(len(triple) != 3 for triple in config):
        raise ValueError(
            f"lax.pad: padding_config must have (low, high, interior) for each axis of {type_of(x)}, got {config}"
        )
    low, high, interior = zip(*config, strict=True) if config else ((), (), ())
    step = [i + 1 for i in interior]
    lengths = [
        before + max(n - 1, 0) * s + min(n, 1) + after
        for n, before, after, s in zip(np.shape(x), low, high, step, strict=True)
    ]
    if min(interior, default=0) < 0 or min(lengths, default=0) < 0:
        raise ValueError(
            f"lax.pad: {type_of(x)} with padding_config {config} would have the shape {tuple(lengths)}; "
            "interior padding is not negative, and no more can be cut off than there is"
        )
    return Pad(low, high, interior)(x, value)
