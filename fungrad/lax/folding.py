"""Reductions by any associative function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.types import type_list, type_of
from fungrad.lax.checks import axes_of, no_such_option
from fungrad.lax.glossary import public
from fungrad.lax.monoids import IDENTITIES, closed, monoid_of
from fungrad.lax.operands import ANY, aligned, array_type_of, brought_to
from fungrad.lax.reductions import REDUCTIONS, of_none
from fungrad.primitives import elementwise as e
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import Permute, Reshape
from fungrad.primitives.slices import slice_axis
from fungrad.programs.closing import Closure, batched_program


@public
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: None = None,
) -> Any:
    """Return arrays reduced over axes by an associative function of two elements.

    Parameters
    ----------
    operands
        An array, or a pytree of arrays of one shape.
    init_values
        Numbers in the same structure, the first of what is combined: usually the identity of `computation`. They
        take the dtypes of the arrays.
    computation
        Takes two trees of numbers, what was computed so far and the next element, and returns one. It must be
        associative: neighbours are combined in pairs, then pairs of these, and so on. Where it is one of addition,
        multiplication, maximum, minimum and the bitwise operations, that reduction of NumPy is used.
    dimensions
        The axes, of which the elements are taken in row-major order.

    Returns
    -------
    pytree
        Arrays in the structure and of the dtypes of `operands`, without the axes.

    Raises
    ------
    TypeError
        If shapes of the arrays differ, or `computation` returns something of another structure or dtype.
    ValueError
        If structures differ, or there is no such axis.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> lax.reduce(x, 0.0, lax.add, (0,))
    array([4., 6.])
    >>> def first_of_largest(a, b):
    ...     (x, i), (y, j) = a, b
    ...     later = y > x
    ...     return lax.select(later, y, x), lax.select(later, j, i)
    >>> values = np.array([3.0, 5.0, 5.0])
    >>> lax.reduce((values, np.arange(3)), (-np.inf, 0), first_of_largest, (0,))
    (np.float64(5.0), np.int64(1))
    """
    no_such_option("reduce", out_sharding=out_sharding)
    arrays, structure = tree.flatten(operands)
    starts, start_structure = tree.flatten(init_values)
    if structure != start_structure:
        raise ValueError(
            f"lax.reduce: init_values must have the structure of operands, {structure}, got {start_structure}"
        )
    types = [array_type_of("reduce", "operands", x) for x in arrays]
    if len({t.shape for t in types}) > 1:
        raise TypeError(f"lax.reduce: operands are arrays of one shape, got {type_list(types)}")
    if any(np.shape(x) for x in starts):
        given = type_list([array_type_of("reduce", "init_values", x) for x in starts])
        raise ValueError(f"lax.reduce: init_values are numbers, got {given}")
    if not arrays:
        return operands
    axes = axes_of("reduce", "dimensions", dimensions, types[0].ndim)
    arrays = [aligned("reduce", ANY, (x,), ("operands",))[0] for x in arrays]
    starts = [e.Cast(t.dtype)(x) for t, x in zip(types, starts, strict=True)]
    closure = closed("reduce", computation, structure, types)
    monoid = monoid_of(closure.program)
    if monoid is not None:
        (x,), (start,), dtype = arrays, starts, types[0].dtype
        result = REDUCTIONS[monoid](x, axes)
        if isinstance(start, np.generic) and start == IDENTITIES[monoid](dtype):
            return tree.unflatten(structure, [result])
        results = [monoid(*brought_to((start, result), [dtype] * 2, type_of(result).shape))]
    else:
        results = _folded(closure, arrays, starts, axes)
    return tree.unflatten(structure, results)


def _folded(
    closure: Closure, arrays: Sequence[Any], starts: Sequence[Any], axes: tuple[int, ...]
) -> list[Any]:
    """Combine neighbours along axes until one is left, which is combined with the start.

    Elements are in rows: a row holds all that are at one place along the axes.
    """
    shape = type_of(arrays[0]).shape
    kept = tuple([a for a in range(len(shape)) if a not in axes])
    length, width = (math.prod([shape[a] for a in which]) for which in (axes, kept))
    kept_shape = tuple([shape[a] for a in kept])
    rows = [Reshape((length, width))(Permute((*axes, *kept))(x)) for x in arrays]
    while length > 1:
        pairs = length // 2
        left, right = ([slice_axis(x, 0, k, 2 * pairs, 2) for x in rows] for k in (0, 1))
        flat = [Reshape((pairs * width,))(x) for x in (*left, *right)]
        combined = [Reshape((pairs, width))(x) for x in _mapped(closure, pairs * width, flat)]
        if length % 2:
            lasts = [slice_axis(x, 0, length - 1, length) for x in rows]
            combined = [Concatenate(0)(x, last) for x, last in zip(combined, lasts, strict=True)]
        rows, length = combined, pairs + length % 2
    if not length:
        return [of_none(x, axes, start) for x, start in zip(arrays, starts, strict=True)]
    lasts = [Reshape((width,))(x) for x in rows]
    return [Reshape(kept_shape)(x) for x in _mapped(closure, width, lasts, starts)]


def _mapped(
    closure: Closure, size: int, operands: Sequence[Any], starts: Sequence[Any] = ()
) -> list[Any]:
    """Apply a function of numbers to each element of arrays of one axis, after the numbers `starts`."""
    if not size:
        return list(operands[: len(closure.types)])
    alike = (*closure.captured, *starts)
    batched = [False] * len(alike) + [True] * len(operands)
    return list(batched_program(closure.program, size, batched)(*alike, *operands))
