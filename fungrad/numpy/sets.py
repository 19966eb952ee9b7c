"""Sets: arrays without repetitions, in order.

How many elements a set has depends on values. Where these are known the results are NumPy's; elsewhere,
under `jit` and `vmap`, the argument `size` says how many elements to return. All set operations sort, mark
the elements that stay, and pick those.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer
from fungrad.numpy.dispatch import implements
from fungrad.numpy.extended import extends
from fungrad.numpy.indexing import getitem
from fungrad.numpy.promotion import as_array, as_tracer, broadcast_to, cast, has_tracer, promote
from fungrad.numpy.searching import search
from fungrad.numpy.selecting import SIZE_NEEDED, first_true, value_needed
from fungrad.numpy.shaping import reshaped
from fungrad.numpy.sorting import sort
from fungrad.primitives import elementwise as e
from fungrad.primitives.reductions import ReduceOr
from fungrad.primitives.shaping import zeros_like

UniqueAll, UniqueCounts, UniqueInverse = (
    type(f(np.zeros(1))) for f in (np.unique_all, np.unique_counts, np.unique_inverse)
)

# Membership


@implements(np.isin, zero_d=True)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    """`kind` chooses between NumPy's algorithms; traced there is one."""
    x, tests = promote(as_tracer(element), as_tracer(test_elements))
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: {kind!r}. Please use None, 'sort' or 'table'.")
    if kind == "table" and x.dtype.kind not in "biu":
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' "
            "or None for kind."
        )
    tests = reshaped(tests, (tests.size,))
    n = tests.size
    if n == 0:
        contained = cast(zeros_like(x), np.dtype(bool))
    elif n <= 16:
        shape = (*x.shape, n)
        pairs = (reshaped(x, (*x.shape, 1)), tests)
        contained = ReduceOr((x.ndim,))(e.equal(*[broadcast_to(y, shape) for y in pairs]))
    else:
        tests = sort(tests)
        at = np.minimum(search(tests, x, "left"), n - 1)
        contained = e.equal(getitem(tests, at), x)
    return e.logical_not(contained) if invert else contained


# What all sets are made of. These work on arrays too, for a `size` that is asked for without tracing.


def _differs(x: Any, equal_nan: bool = True) -> Any:
    """Return where an element of a sorted array, or a row, differs from the one before it."""
    later, earlier = x[1:], x[:-1]
    differs = np.not_equal(later, earlier)
    if equal_nan and x.dtype.kind in "fc":
        differs = differs & ~(np.isnan(later) & np.isnan(earlier))
    return differs if x.ndim == 1 else differs.any(axis=1)


def _firsts(x: Any, equal_nan: bool = True) -> Any:
    """Return where a run of equal elements, or rows, begins in a sorted array."""
    return np.concatenate([np.ones(min(x.shape[0], 1), bool), _differs(x, equal_nan)])


def _positions(wanted: Any, size: Any, what: str) -> Any:
    """Return where `wanted` is true: `size` positions, with -1 for those that do not exist."""
    if size is not None:
        return first_true(wanted, operator.index(size))
    value = value_needed(wanted, what, SIZE_NEEDED) if type(wanted) is Tracer else wanted
    return np.flatnonzero(value)


def _at(x: Any, positions: Any, fill_value: Any) -> Any:
    """Return the elements at positions; at -1 the fill value, by default the first of those."""
    if type(positions) is not Tracer and not (positions < 0).any():
        return x[positions]
    if not x.shape[0]:
        rest = x.shape[1:]
        return np.full((len(positions), *rest), 0 if fill_value is None else fill_value, x.dtype)
    if not len(positions):
        return x[:0]
    elements = x[np.maximum(np.where(positions < 0, positions[0], positions), 0)]
    if fill_value is None:
        return elements
    missing = (positions < 0).reshape((-1, *[1] * (x.ndim - 1)))
    return np.where(missing, fill_value, elements).astype(x.dtype)


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two arrays, flattened, of one dtype."""
    first: Any
    second: Any
    if has_tracer((x, y)):
        first, second = promote(as_tracer(x), as_tracer(y))
    else:
        dtype = np.result_type(x, y)
        first, second = np.asarray(x, dtype), np.asarray(y, dtype)
    return first.reshape(-1), second.reshape(-1)


# One set


def _by_value(x: Any, axis: int | None) -> tuple[Any, Any]:
    """Return the elements, or rows, to be made unique, and the order that sorts them stably."""
    if axis is None:
        x = x.reshape(-1)
        return x, np.argsort(x, stable=True)
    x = np.moveaxis(x, axis, 0)
    rows = x.reshape((x.shape[0], -1))
    return x, np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(rows.shape[0])


def _unique_of_size(
    x: Any, axis: int | None, equal_nan: bool, size: int, fill_value: Any
) -> tuple[Any, Any, Any, Any]:
    items, order = _by_value(x, axis)
    n = items.shape[0]
    ordered = items[order]
    begins = _firsts(ordered.reshape((n, -1)) if axis is not None else ordered, equal_nan)
    starts = first_true(begins, size + 1)
    starts, ends = starts[:-1], starts[1:]
    values = _at(ordered, starts, fill_value)
    # The number of an element's run, brought from sorted to original order.
    inverse = (np.cumsum(begins) - 1)[np.argsort(order, stable=True)]
    if axis is None:
        inverse = inverse.reshape(x.shape)
    else:
        values = np.moveaxis(values, 0, axis)
    counts = np.where(starts < 0, 0, np.where(ends < 0, n, ends) - starts)
    return values, _at(order, starts, None), inverse, counts


def _unique_of_value(x: Tracer, axis: int | None, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    value = value_needed(x, "unique", SIZE_NEEDED)
    _, first, inverse, counts = np.unique(value, True, True, True, axis=axis, equal_nan=equal_nan)
    key = (first,) if axis is None else (slice(None),) * axis + (first,)
    values = getitem(reshaped(x, (x.size,)) if axis is None else x, key)
    return values, first, inverse, counts


@extends(np.unique, first="size")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """With `size`, so many elements are returned, needed where values are not known.

    `fill_value`, by default the least element, stands in place of those that do not exist; their index is
    that of the first element, their count 0.
    """
    x: Any = as_tracer(ar) if has_tracer((ar,)) else np.asarray(ar)
    if axis is not None:
        axis = normalize_axis_index(axis, x.ndim)
    if size is None:
        values, *results = _unique_of_value(x, axis, equal_nan)
    else:
        n = operator.index(size)
        values, *results = _unique_of_size(x, axis, equal_nan, n, fill_value)
    wanted = (return_index, return_inverse, return_counts)
    extra = [y for y, is_wanted in zip(results, wanted, strict=True) if is_wanted]
    return (values, *extra) if extra else values


def _of_unique(function: Any, make: Any, index: bool, inverse: bool, counts: bool) -> Any:
    """Return one of the functions that give some results of `unique`, with or without `size`."""

    def rule(x: Any, *, size: Any = None, fill_value: Any = None) -> Any:
        """`size` and `fill_value` as in `unique`. Traced, values are sorted."""
        sizes = {"size": size, "fill_value": fill_value}
        results = unique(x, index, inverse, counts, equal_nan=False, **sizes)
        return make(*results) if make else results

    return extends(function, first="size")(rule)


unique_all = _of_unique(np.unique_all, UniqueAll, True, True, True)
unique_counts = _of_unique(np.unique_counts, UniqueCounts, False, False, True)
unique_inverse = _of_unique(np.unique_inverse, UniqueInverse, False, True, False)
unique_values = _of_unique(np.unique_values, None, False, False, False)


# Two sets


@extends(np.union1d, first="size")
def union1d(ar1: Any, ar2: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """`size` and `fill_value` as in `unique`."""
    ordered = np.sort(np.concatenate(_pair(ar1, ar2)))
    return _at(ordered, _positions(_firsts(ordered), size, "union1d"), fill_value)


@extends(np.intersect1d, first="size")
def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """`size` and `fill_value` as in `unique`; elements that do not exist have the index past the end.

    Derivatives go to `ar1`.
    """
    x, y = _pair(ar1, ar2)
    order = np.argsort(x, stable=True)
    ordered = x[order]
    positions = _positions(_firsts(ordered) & np.isin(ordered, y), size, "intersect1d")
    common = _at(ordered, positions, fill_value)
    if not return_indices:
        return common
    order_of_y = np.argsort(y, stable=True)
    places = np.searchsorted(y[order_of_y], ordered)
    if y.shape[0]:
        places = order_of_y[np.minimum(places, y.shape[0] - 1)]
    # Where there is no common element, the index is one past the end.
    exists = positions >= 0
    at_x = np.where(exists, _at(order, positions, 0), x.shape[0])
    at_y = np.where(exists, _at(places, positions, 0), y.shape[0])
    return common, at_x, at_y


@extends(np.setdiff1d, first="size")
def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: Any = None, fill_value: Any = None
) -> Any:
    """`size` and `fill_value` as in `unique`."""
    x, y = _pair(ar1, ar2)
    x = x if assume_unique else np.sort(x)
    stays = np.isin(x, y, invert=True)
    stays = stays if assume_unique else stays & _firsts(x)
    difference = _at(x, _positions(stays, size, "setdiff1d"), fill_value)
    return difference.astype(np.result_type(as_array(ar1)))


@extends(np.setxor1d, first="size")
def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: Any = None, fill_value: Any = None
) -> Any:
    """`size` and `fill_value` as in `unique`."""
    x, y = _pair(ar1, ar2)
    both = np.concatenate([x, y])
    order = np.argsort(both, stable=True)  # equal ones: those of x, then those of y
    ordered, is_of_y = both[order], order >= x.shape[0]
    in_both = np.isin(ordered, x) & np.isin(ordered, y)
    begins = _firsts(ordered) | _firsts(is_of_y)
    return _at(ordered, _positions(begins & ~in_both, size, "setxor1d"), fill_value)
