"""Sorting, and search in sorted arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer
from fungrad.numpy.dispatch import implemented, implements, not_for_tracers
from fungrad.numpy.extended import extends
from fungrad.numpy.indexing import getitem
from fungrad.numpy.promotion import as_tracer, cast, has_tracer
from fungrad.numpy.reductions import is_exact
from fungrad.numpy.shaping import is_sequence, reshaped
from fungrad.primitives.sorting import ArgSort, Sort


def _to_sort(a: Any, axis: Any, order: Any) -> tuple[Any, int]:
    """Return the array and the axis, for an axis of None the flattened array."""
    not_for_tracers("sort", {"order": order})
    x = as_tracer(a)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    return x, normalize_axis_index(axis, x.ndim)


def _is_stable(kind: Any, stable: Any, descending: Any) -> bool:
    if kind is not None and not (stable is None and descending is None):
        raise ValueError("`kind` and keyword parameters can't be provided at the same time.")
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise ValueError("sort kind must be one of 'quick', 'heap', or 'stable'")
    return bool(stable) or kind in ("stable", "mergesort")


def _opposite(x: Any) -> Any:
    """Return numbers that sort in the opposite order; NaN is unchanged, and comes last in both."""
    return ~x if is_exact(x.dtype) else -x


def _ordering(numpy_function: Any, traced: Any, of_plain: Any) -> Any:
    """Return `sort` or `argsort`; `of_plain` is applied to NumPy's result on opposite plain numbers."""

    def rule(
        a: Any,
        axis: Any = -1,
        kind: Any = None,
        order: Any = None,
        *,
        stable: Any = None,
        descending: Any = None,
    ) -> Any:
        """With ``descending=True``, which is of the array API standard, the largest come first, and NaN last.

        What is equal stays in order if `stable`.
        """
        is_stable = _is_stable(kind, stable, descending or None)
        if has_tracer((a,)):
            return traced(a, axis, order, is_stable, descending)
        if not descending:
            return public(a, axis, kind, order, stable=stable)
        return of_plain(public(_opposite(np.asanyarray(a)), axis, order=order, stable=stable))

    public = extends(numpy_function, first="descending")(rule)  # NumPy has it since 2.5
    return public


def _sorted(a: Any, axis: Any, order: Any, stable: bool, descending: Any) -> Any:
    x, axis = _to_sort(a, axis, order)
    sort = Sort(axis, 1, stable)
    return _opposite(sort(_opposite(x))[0]) if descending else sort(x)[0]


def _positions(a: Any, axis: Any, order: Any, stable: bool, descending: Any) -> Any:
    if not np.ndim(a):
        a = reshaped(as_tracer(a), (1,))  # as NumPy does here, though not in sort
    x, axis = _to_sort(a, axis, order)
    return ArgSort(axis, stable)(_opposite(x) if descending else x)


sort = _ordering(np.sort, _sorted, _opposite)
argsort = _ordering(np.argsort, _positions, lambda positions: positions)


def _partition(numpy_function: Any, ordered: Any) -> Any:
    def rule(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
        """Tracers are sorted fully, which is one of the orders allowed."""
        result = ordered(a, axis, order, True, None)
        n = result.shape[-1 if axis is None else axis]
        for k in kth if is_sequence(kth) else (kth,):
            if not -n <= operator.index(k) < n and result.size:
                raise ValueError(f"kth(={k}) out of bounds ({n})")
        return result

    return implemented(rule, numpy_function)


partition, argpartition = _partition(np.partition, _sorted), _partition(np.argpartition, _positions)


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Any:
    if type(keys) is Tracer:
        keys = [getitem(keys, i) for i in range(len(keys))]
    if not len(keys):
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    arrays = [as_tracer(x) for x in keys]
    if len({x.shape for x in arrays}) > 1:
        raise ValueError("all keys need to be the same shape")
    if not arrays[0].ndim:
        first: Any = ArgSort(0)(*[reshaped(x, (1,)) for x in arrays])
        return reshaped(first, ())
    return ArgSort(normalize_axis_index(axis, arrays[0].ndim))(*arrays[::-1])


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    x: Any = sort(as_tracer(a))
    if x.dtype.kind == "c":
        return x
    char = {"b": "F", "h": "F", "B": "F", "H": "F", "g": "G"}.get(x.dtype.char, "D")
    return cast(x, np.dtype(char))
