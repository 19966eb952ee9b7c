"""Index sets: for each element of an array, the inputs on which it depends.

The sets of an array are the rows of a boolean matrix of SciPy's in CSR format, one row for each element in C order and one
column for each input. None stands for empty sets.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

Sets: TypeAlias = Any
"""A boolean matrix in CSR format, or None."""

LARGEST = 50_000_000
"""Entries of a matrix from which on it is no sparse one: 200 MB of column numbers."""


class TooDense(Exception):
    """The sets have more than `LARGEST` entries."""


def identity(size: int, columns: int, first: int) -> Sets:
    """Return the sets of an input: element i depends on column ``first + i``."""
    indices = np.arange(first, first + size, dtype=np.int32)
    return _matrix(indices, np.arange(size + 1, dtype=np.int32), columns)


def union(sets: Iterable[Sets]) -> Sets:
    """Return the union, element by element, of sets of arrays of one size."""
    return functools.reduce(_union_of_two, sets, None)


def _union_of_two(a: Sets, b: Sets) -> Sets:
    if a is None or a is b:
        return b
    if b is None or (
        a.nnz == b.nnz
        and np.array_equal(a.indptr, b.indptr)
        and np.array_equal(a.indices, b.indices)
    ):
        return a
    return _checked(a + b)


def taken(sets: Sets, which: np.ndarray[Any, Any]) -> Sets:
    """Return the sets of the elements at positions `which`; -1 stands for an empty set."""
    which = which.reshape(-1)
    if sets is None or not which.size:
        return None
    counts = np.diff(sets.indptr)
    if (which < 0).any():
        counts = np.append(counts, 0)  # the last is that of -1
    _check(int(counts[which].sum()))
    if len(counts) > sets.shape[0]:
        empty = sp.csr_array((1, sets.shape[1]), dtype=bool)
        sets = sp.vstack([sets, empty], format="csr")
        which = np.where(which < 0, sets.shape[0] - 1, which)
    return _some(sets[which])


def stacked(parts: Sequence[Sets], sizes: Sequence[int]) -> Sets:
    """Return the sets of arrays one after the other."""
    some = [x for x in parts if x is not None]
    if not some:
        return None
    columns = some[0].shape[1]
    empty = [sp.csr_array((n, columns), dtype=bool) for n in sizes]
    rows = [e if x is None else x for x, e in zip(parts, empty, strict=True)]
    return rows[0] if len(rows) == 1 else sp.vstack(rows, format="csr")


def related(relation: Any, sets: Sets) -> Sets:
    """Return the sets of elements that depend on others by a matrix, whose rows are the new elements."""
    if sets is None:
        return None
    relation = sp.csr_array(relation, dtype=bool)
    _check(int(np.diff(sets.indptr)[relation.indices].sum()) // 8)  # the sums may overlap
    product = relation @ sets
    product.sort_indices()
    return _checked(product)


def grouped(sets: Sets, groups: np.ndarray[Any, Any], count: int) -> Sets:
    """Return the union of the sets of each of `count` groups; `groups` has the group of each element."""
    if sets is None:
        return None
    groups = groups.reshape(-1)
    places = (groups, np.arange(groups.size))
    return related(sp.csr_array((np.ones(groups.size, bool), places), (count, groups.size)), sets)


def everything(sets: Sequence[Sets], size: int) -> Sets:
    """Return the sets of `size` elements that each depend on all elements of all operands."""
    columns = [np.unique(x.indices) for x in sets if x is not None]
    if not columns or not size:
        return None
    used = functools.reduce(np.union1d, columns).astype(np.int32)
    _check(size * used.size)
    width = next(x.shape[1] for x in sets if x is not None)
    ends = np.arange(0, size * used.size + 1, max(used.size, 1))[: size + 1]
    return _some(_matrix(np.tile(used, size), ends, width)) if used.size else None


def without(sets: Sets, zero: np.ndarray[Any, Any]) -> Sets:
    """Return the sets with those of the elements in `zero`, an array of booleans, empty."""
    return taken(sets, np.where(zero.reshape(-1), -1, np.arange(zero.size)))


def numbered(shape: Sequence[int], first: int = 0) -> np.ndarray[Any, Any]:
    """Return an array of a shape that holds the positions of its elements in C order."""
    return np.arange(first, first + math.prod(shape)).reshape(tuple(shape))


def _matrix(indices: Any, ends: Any, columns: int) -> Any:
    return sp.csr_array(
        (np.ones(len(indices), bool), indices, ends), shape=(len(ends) - 1, columns)
    )


def _some(sets: Any) -> Sets:
    return sets if sets.nnz else None


def _checked(sets: Any) -> Sets:
    _check(sets.nnz)
    return _some(sets)


def _check(entries: int) -> None:
    if entries > LARGEST:
        raise TooDense
