"""Places of a sparse matrix's entries: constant rows and columns, and the orders of formats."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

Indices = np.ndarray[Any, Any]


class Structure:
    """Rows and columns of a matrix's entries, in the order of its data. Entries at one place add up.

    Its arrays are read-only, so that traces need no copies of them; equal ones are equal, and have one hash.
    """

    def __init__(self, shape: tuple[int, int], rows: Any, cols: Any) -> None:
        self.shape = (int(shape[0]), int(shape[1]))
        self.rows, self.cols = (_constant(x) for x in (rows, cols))
        if self.rows.shape != self.cols.shape or self.rows.ndim != 1:
            raise ValueError(
                f"rows and columns must be vectors of one length, got {self.rows.shape} and {self.cols.shape}"
            )
        for name, x, n in zip(("row", "column"), (self.rows, self.cols), self.shape, strict=True):
            if x.size and not (x.min() >= 0 and x.max() < n):
                raise ValueError(f"{name} indices must be within 0 and {n - 1}, for shape {shape}")

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return int(self.rows.size)

    @functools.cached_property
    def flat(self) -> Indices:
        """Where the entries are in the raveled matrix."""
        return _constant(self.rows * self.shape[1] + self.cols)

    @functools.cached_property
    def by_rows(self) -> tuple[Indices | None, Indices, Indices]:
        """The order of entries in compressed rows (None: as they are), and their columns and ends.

        Columns and ends are int32 where these suffice, as SciPy's are.
        """
        return _compressed(self.rows, self.cols, self.shape[0])

    @functools.cached_property
    def by_columns(self) -> tuple[Indices | None, Indices, Indices]:
        """The same for compressed columns."""
        return _compressed(self.cols, self.rows, self.shape[1])

    @functools.cached_property
    def summed(self) -> tuple[Structure, Indices | None]:
        """The structure with one entry per place, by rows, and the target of each of these entries.

        None for that if there is nothing to add, and entries are in that order.
        """
        places, which = np.unique(self.flat, return_inverse=True)
        if len(places) == self.nnz and np.array_equal(which, np.arange(self.nnz)):
            return self, None
        n = max(self.shape[1], 1)
        return Structure(self.shape, places // n, places % n), _constant(which.reshape(-1))

    @functools.cached_property
    def transposed(self) -> Structure:
        """The structure of the transposed matrix, its entries in the same order."""
        return Structure(self.shape[::-1], self.cols, self.rows)

    @functools.cached_property
    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.rows.tobytes(), self.cols.tobytes()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Structure) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<{self.nnz} entries in {self.shape[0]} by {self.shape[1]}>"


def _constant(x: Any, dtype: Any = np.int64) -> Indices:
    indices = np.array(x, dtype)
    indices.setflags(write=False)
    return indices


def _compressed(major: Indices, minor: Indices, n: int) -> tuple[Indices | None, Indices, Indices]:
    order: Indices | None = None
    if np.any(major[1:] < major[:-1]):
        order = _constant(np.argsort(major, kind="stable"))
        minor = minor[order]
    ends = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=n))])
    largest = max(len(major), int(minor.max(initial=0)))
    dtype = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
    return order, _constant(minor, dtype), _constant(ends, dtype)


def product_of(a: Structure, b: Structure) -> tuple[Structure, Indices, Indices]:
    """Return the entries of a product of two matrices, and the pairs of entries that make them.

    Also returned is which these are.
    """
    order, _, ends = b.by_rows
    lengths = np.diff(ends)[a.cols]
    first = np.repeat(np.arange(a.nnz), lengths)
    starts = np.repeat(ends[a.cols] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    second = starts + np.arange(len(first))
    second = second if order is None else order[second]
    return Structure((a.shape[0], b.shape[1]), a.rows[first], b.cols[second]), first, second
