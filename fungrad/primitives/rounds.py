"""Writing into arrays of CuPy at places that may be hit repeatedly, with operations on whole arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.backend import target_of
from fungrad.primitives.writing import rows_of


def write_on_device(xp: Any, ufunc: Any, out: Any, updates: Any, indices: Sequence[Any]) -> None:
    """Combine CuPy arrays where places may be hit repeatedly."""
    if ufunc in (xp.maximum, xp.minimum) and out.dtype.kind == "f":
        write_extrema(xp, ufunc, out, updates, indices)
        return
    if ufunc is not None:
        try:
            ufunc.at(out, tuple(indices), updates)
            return
        except (TypeError, AttributeError, NotImplementedError):
            pass  # there is no atomic operation for this ufunc and dtype
    write_in_rounds(xp, ufunc, out, updates, indices)


def write_extrema(xp: Any, ufunc: Any, out: Any, updates: Any, indices: Sequence[Any]) -> None:
    """Combine the extremum of the sorted updates of each place; NaN comes last, and counts.

    CuPy 14's own operation compares numbers of double precision in single precision, and leaves NaN out.
    """
    k = len(indices)
    flat, width = out.reshape(-1), math.prod(out.shape[k:])
    rows = rows_of(xp, out.shape[:k], indices)
    if not (out.size and rows.size):
        return
    places = (rows[:, None] * width + xp.arange(width)).reshape(-1)
    updates = updates.reshape(-1)
    ranked = (updates if ufunc is xp.maximum else -updates).astype(np.float64)
    order = xp.lexsort(xp.stack([ranked, places.astype(np.float64)]))
    places = places[order]
    last = xp.concatenate([places[1:] != places[:-1], xp.ones(1, bool)])
    places = places[last]
    flat[places] = ufunc(flat[places], updates[order[last]])


def write_in_rounds(xp: Any, ufunc: Any, out: Any, updates: Any, indices: Sequence[Any]) -> None:
    """Combine the first update of every place, then the second of every place, ...

    In order, and with operations on whole arrays only. To set, the last update of each place suffices.
    """
    if not out.size:
        return
    k = len(indices)
    rows = rows_of(xp, out.shape[:k], indices)
    target = out.reshape(math.prod(out.shape[:k]), -1)
    updates = updates.reshape(len(rows), -1)
    kind = {} if target_of(xp).sorts_stably else {"kind": "stable"}
    order = xp.argsort(rows, **kind)
    rows = rows[order]
    differs, end = rows[1:] != rows[:-1], xp.ones(1, bool)
    if ufunc is None:
        last = xp.concatenate([differs, end])
        target[rows[last]] = updates[order[last]]
        return
    numbers = xp.arange(len(rows))
    starts = numbers[xp.concatenate([end, differs])]
    turn = numbers - starts[xp.searchsorted(starts, numbers, side="right") - 1]
    for t in range(int(turn.max()) + 1):
        now = turn == t
        places = rows[now]
        target[places] = ufunc(target[places], updates[order[now]])
