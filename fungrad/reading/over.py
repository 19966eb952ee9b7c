"""The iterated values of a recorded loop, as arrays with a row for each round."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.tracer import Tracer
from fungrad.core.types import is_array, type_of
from fungrad.numpy.whole import whole_of
from fungrad.primitives.elementwise import Cast
from fungrad.reading.numbers import WHOLE
from fungrad.reading.rows import Rows

__all__ = ["RowsOf", "rows_of"]


class RowsOf:
    """The rows that a loop goes over.

    Attributes
    ----------
    count
        How many there are.
    arrays
        Arrays of which a row is handed to each round.
    row
        What the user's variable is in a round, of the rows of these.
    last
        What it is in the last round.
    sources
        The user's arrays that the rows are taken from.
    traced
        Whether one of the arrays is.
    """

    def __init__(
        self,
        count: int,
        arrays: list[Any],
        row: Callable[[Sequence[Any]], Any],
        last: Callable[[], Any],
        sources: Sequence[Any] = (),
    ) -> None:
        self.count = count
        self.arrays = arrays
        self.row = row
        self.last = last
        self.sources = sources
        self.traced = any(type(x) is Tracer for x in arrays)

    def first(self) -> Any:
        """Return the user's variable in the first round."""
        return self.row([x[0] for x in self.arrays])


def rows_of(over: Any, first: int = 0) -> RowsOf | None:
    """Return the rows that a loop goes over, from the `first` on; None if no program can go over them."""
    rows = _rows_of(over)
    if rows is None or not first:
        return rows
    count = max(rows.count - first, 0)
    return RowsOf(count, [x[first:] for x in rows.arrays], rows.row, rows.last, rows.sources)


def _rows_of(over: Any) -> RowsOf | None:
    kind = type(over)
    if kind is range:
        counted = np.arange(over.start, over.stop, over.step)
        return RowsOf(len(over), [counted], lambda xs: WHOLE(xs[0]), lambda: over[-1])
    if kind in (np.ndarray, Tracer):
        if not over.ndim or over.dtype.kind not in "biufc":
            return None
        return RowsOf(len(over), [over], lambda xs: xs[0], lambda: over[-1], [over])
    if kind in (list, tuple):
        return _of_list(over)
    return _of_parts(over) if kind is Rows else None


def _of_list(over: Any) -> RowsOf | None:
    """Return the rows of a list of arrays of one type."""
    if not over or not all(is_array(x) for x in over):
        return None
    types = {type_of(x) for x in over}
    if len(types) > 1:
        return None
    weak = next(iter(types)).weak
    made: Any = whole_of(over)
    if made is None:
        made = fnp.stack([fnp.asarray(x) for x in over])
    strong, cast = Cast(made.dtype), Cast(made.dtype, True)
    made = strong(made) if weak else made
    row = lambda xs: cast(xs[0]) if weak else xs[0]
    return RowsOf(len(over), [made], row, lambda: over[-1], over)


def _of_parts(over: Rows) -> RowsOf | None:
    if over.kind is builtins.range:
        return None
    if over.kind is builtins.enumerate:
        first = over.parts[1] if len(over.parts) > 1 else over.options.get("start", 0)
        part = rows_of(over.parts[0])
        if part is None or type(first) is not int:
            return None
        numbers = rows_of(range(first, first + part.count))
        assert numbers is not None
        return _zipped([numbers, part])
    parts = [rows_of(x) for x in over.parts]
    if any(x is None for x in parts):
        return None
    if over.kind is builtins.zip:
        if over.options.get("strict") and len({x.count for x in parts if x is not None}) > 1:
            return None  # Python raises
        return _zipped(parts)  # type: ignore[arg-type]
    (part,) = parts
    assert part is not None
    if type(over.parts[0]) is Rows:
        return None
    first_of = over.parts[0]
    arrays = [x[::-1] for x in part.arrays]
    return RowsOf(part.count, arrays, part.row, lambda: first_of[0], part.sources)


def _zipped(parts: list[RowsOf]) -> RowsOf:
    count = min([x.count for x in parts])
    whole = all(x.count == count for x in parts)
    sizes = [len(x.arrays) for x in parts]

    def row(xs: Sequence[Any]) -> Any:
        values, start = [], 0
        for part, size in zip(parts, sizes, strict=True):
            values.append(part.row(xs[start : start + size]))
            start += size
        return tuple(values)

    def last() -> Any:
        if whole:
            return tuple([x.last() for x in parts])
        return row([y[count - 1] for x in parts for y in x.arrays])

    arrays = [y[:count] for x in parts for y in x.arrays]
    return RowsOf(count, arrays, row, last, [y for x in parts for y in x.sources])
