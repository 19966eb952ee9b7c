"""Sorting, and the greatest elements. Order is NumPy's: NaNs count as the greatest numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from fungrad.core.types import ArrayType, type_of
from fungrad.lax.checks import axis_of, integer_of
from fungrad.lax.glossary import public, public_like
from fungrad.lax.operands import ANY, FLOAT, ORDERED, aligned, array_type_of, described
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexing import take_along_axis
from fungrad.primitives.slices import Reverse, slice_axis
from fungrad.primitives.sorting import ArgSort, Sort


@public
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Return arrays sorted along an axis, by the first of them.

    Parameters
    ----------
    operand
        An array, or a sequence of arrays of one shape, all of which are put in the same order.
    is_stable
        Whether elements with equal keys keep their order.
    num_keys
        How many of the arrays are keys; where the first ones are equal, the next ones decide. Complex
        numbers are ordered by real part, then imaginary part; NaNs come last.

    Returns
    -------
    array or tuple of arrays
        As `operand`, sorted. Differentiable by every array.

    Raises
    ------
    TypeError
        If there is no array, or shapes differ.
    ValueError
        If there is no such axis, or there are not as many keys.

    Examples
    --------
    >>> lax.sort(np.array([3.0, 1.0, 2.0]))
    array([1., 2., 3.])
    >>> lax.sort((np.array([2, 1, 1]), np.array([1.0, 2.0, 3.0])))
    (array([1, 1, 2]), array([2., 3., 1.]))
    """
    several = isinstance(operand, tuple | list)
    arrays = list(operand) if several else [operand]
    if not arrays:
        raise TypeError("lax.sort needs an array")
    names = [f"operand {i}" for i in range(len(arrays))] if several else ["operand"]
    types = [array_type_of("sort", n, x) for n, x in zip(names, arrays, strict=True)]
    if len({t.shape for t in types}) > 1:
        raise TypeError(f"lax.sort takes arrays of one shape, got {described(types, names)}")
    axis = axis_of("sort", "dimension", dimension, types[0].ndim)
    keys = integer_of("sort", "num_keys", num_keys)
    if not 1 <= keys <= len(arrays):
        raise ValueError(
            f"lax.sort: num_keys must be between 1 and the number of operands, {len(arrays)}; got {keys}"
        )
    arrays = [aligned("sort", ANY, (x,), ("operand",))[0] for x in arrays]
    results = Sort(axis, keys, operator.truth(is_stable))(*arrays)
    return results if several else results[0]


@public_like(sort)
def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """Return `keys` sorted along an axis, and `values` in the same order.

    Parameters
    ----------
    keys, values
        Arrays of one shape.

    Returns
    -------
    tuple of arrays
        The two.

    Raises
    ------
    TypeError
        If shapes differ.

    Examples
    --------
    >>> lax.sort_key_val(np.array([3, 1, 2]), np.array([0.3, 0.1, 0.2]))
    (array([1, 2, 3]), array([0.1, 0.2, 0.3]))
    """
    return sort((keys, values), dimension, is_stable)


def _counted(name: str, k: Any, type_: ArrayType, axis: int) -> int:
    """Return how many elements are asked for; raise ValueError if there are not as many."""
    number = integer_of(name, "k", k)
    if not 0 <= number <= type_.shape[axis]:
        raise ValueError(
            f"lax.{name}: k must be from 0 to {type_.shape[axis]}, the length of axis {axis} of {type_}; got {number}"
        )
    return number


def _extreme(x: Any, k: int, axis: int, largest: bool) -> tuple[Any, Any]:
    """Return the `k` greatest or least elements in order, and their positions; of equals the first."""
    if largest:
        # Sorted stably from the end to the start, and turned around, equals keep their order.
        flipped = Reverse((axis,))
        order = flipped(type_of(x).shape[axis] - 1 - ArgSort(axis)(flipped(x)))
    else:
        order = ArgSort(axis)(x)
    order = slice_axis(order, axis, 0, k)
    return take_along_axis(x, order, axis, unique=True), Cast(np.dtype(np.int32))(order)


@public
def top_k(operand: Any, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """Return the greatest elements along an axis, from the greatest on, and their positions.

    Parameters
    ----------
    operand
        Array that is not complex. NaNs count as the greatest.
    k
        How many.

    Returns
    -------
    values, indices
        Arrays of length `k` along the axis; positions are int32. Of equal elements the first ones are taken.
        The values are differentiable.

    Raises
    ------
    TypeError
        If `operand` is complex.
    ValueError
        If there is no such axis, or there are not as many elements.

    Examples
    --------
    >>> lax.top_k(np.array([1.0, 5.0, 3.0, 5.0]), 3)
    (array([5., 5., 3.]), array([1, 3, 2], dtype=int32))
    """
    (x,) = aligned("top_k", ORDERED, (operand,), ("operand",))
    number = axis_of("top_k", "axis", axis, type_of(x).ndim)
    return _extreme(x, _counted("top_k", k, type_of(x), number), number, True)


def _approximate(
    name: str, operand: Any, k: int, dimension: int, aggregated: bool, largest: bool
) -> tuple[Any, Any]:
    if not aggregated:
        raise ValueError(
            f"lax.{name}: aggregate_to_topk=False gives partial results of some devices; results are whole here"
        )
    (x,) = aligned(name, FLOAT, (operand,), ("operand",))
    axis = axis_of(name, "reduction_dimension", dimension, type_of(x).ndim)
    return _extreme(x, _counted(name, k, type_of(x), axis), axis, largest)


@public_like(top_k)
def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """Return the result of `top_k` for floating-point numbers: here it is exact.

    Parameters
    ----------
    operand
        Array, floating-point.
    reduction_dimension
        The axis.
    recall_target, reduction_input_size_override
        How good an approximation has to be; the result is exact whatever they are.
    aggregate_to_topk
        True: there are no partial results.

    Raises
    ------
    TypeError
        If `operand` is not floating-point.
    ValueError
        If there is no such axis, or there are not as many elements.

    Examples
    --------
    >>> lax.approx_max_k(np.array([1.0, 5.0, 3.0]), 2)
    (array([5., 3.]), array([1, 2], dtype=int32))
    """
    return _approximate(
        "approx_max_k", operand, k, reduction_dimension, aggregate_to_topk, largest=True
    )


@public_like(approx_max_k)
def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """Return the least elements along an axis, from the least on, and their positions: here it is exact.

    Returns
    -------
    values, indices
        As of `top_k`; NaNs count as the greatest numbers.

    Examples
    --------
    >>> lax.approx_min_k(np.array([1.0, 5.0, 3.0]), 2)
    (array([1., 3.]), array([0, 2], dtype=int32))
    """
    return _approximate(
        "approx_min_k", operand, k, reduction_dimension, aggregate_to_topk, largest=False
    )
