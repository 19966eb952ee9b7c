"""Repeating arrays along new axes. As in NumPy, the result is a view that cannot be written into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import Shape, type_of
from fungrad.lax.checks import array_of, integers_of, no_such_option
from fungrad.lax.glossary import public


@public
def broadcast(operand: Any, sizes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Repeat an array along new leading axes of lengths `sizes`.

    Parameters
    ----------
    sizes
        The lengths of the new axes.

    Returns
    -------
    array
        Of shape ``(*sizes, *operand.shape)``.

    Examples
    --------
    >>> lax.broadcast(np.array([1, 2]), (2,))
    array([[1, 2],
           [1, 2]])
    """
    no_such_option("broadcast", out_sharding=out_sharding)
    x = array_of("broadcast", "operand", operand)
    return fnp.broadcast_to(x, (*integers_of("broadcast", "sizes", sizes), *np.shape(x)))


@public
def broadcast_in_dim(
    operand: Any,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Any:
    """Repeat an array to `shape`, its axis ``i`` becoming axis ``broadcast_dimensions[i]``.

    Parameters
    ----------
    shape
        The shape of the result.
    broadcast_dimensions
        Where the axes of the operand go, in ascending order. Their lengths are those of the result, or 1.

    Returns
    -------
    array
        Of the shape given.

    Raises
    ------
    ValueError
        If an axis of the operand has no place.

    Examples
    --------
    >>> lax.broadcast_in_dim(np.array([1, 2]), (2, 3), (0,))
    array([[1, 1, 1],
           [2, 2, 2]])
    """
    name = "broadcast_in_dim"
    no_such_option(name, out_sharding=out_sharding)
    x = array_of(name, "operand", operand)
    wanted = integers_of(name, "shape", shape)
    axes = integers_of(name, "broadcast_dimensions", broadcast_dimensions)
    lengths = np.shape(x)
    fits = len(axes) == len(lengths) and list(axes) == sorted({*axes})
    fits = fits and all(
        0 <= a < len(wanted) and n in (1, wanted[a]) for a, n in zip(axes, lengths, strict=True)
    )
    if not fits:
        raise ValueError(
            f"lax.{name}: broadcast_dimensions must give each axis of the operand, ascending, an axis of the "
            f"result that is as long, unless its own length is 1; got {axes} for {type_of(x)} and shape {wanted}"
        )
    places = dict(zip(axes, lengths, strict=True))
    return fnp.broadcast_to(
        fnp.reshape(x, tuple(places.get(a, 1) for a in range(len(wanted)))), wanted
    )


@public
def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """Repeat an array to the shape of another, by NumPy's rules of broadcasting.

    Parameters
    ----------
    arr
        An array of any shape and dtype.
    like_arr
        An array of the shape that is wanted.

    Returns
    -------
    array
        Of the shape of `like_arr` and the dtype of `arr`.

    Examples
    --------
    >>> lax.broadcast_like(1.0, np.zeros(3))
    array([1., 1., 1.])
    """
    x = array_of("broadcast_like", "arr", arr)
    return fnp.broadcast_to(x, np.shape(array_of("broadcast_like", "like_arr", like_arr)))


@public
def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """Return the shape that arrays of these shapes are broadcast to.

    Parameters
    ----------
    *shapes
        Shapes, as tuples.

    Returns
    -------
    tuple of int
        Their common shape by NumPy's rules.

    Examples
    --------
    >>> lax.broadcast_shapes((3, 1), (2,))
    (3, 2)
    """
    return np.broadcast_shapes(*[tuple(s) for s in shapes])


@public
def broadcast_to_rank(x: Any, rank: int) -> Any:
    """Put axes of length 1 in front of an array until it has `rank` axes.

    Parameters
    ----------
    x
        An array of any dtype, of at most `rank` axes.
    rank
        The number of axes wanted.

    Returns
    -------
    array
        With the same elements.

    Examples
    --------
    >>> lax.broadcast_to_rank(np.zeros(3), 3).shape
    (1, 1, 3)
    """
    x = array_of("broadcast_to_rank", "x", x)
    missing = rank - np.ndim(x)
    if missing < 0:
        raise ValueError(f"lax.broadcast_to_rank: {type_of(x)} has more than {rank} axes")
    return fnp.reshape(x, (1,) * missing + np.shape(x)) if missing else x
