"""Writing into arrays at places that may be hit repeatedly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.types import Shape

LONG_ROW = 512
"""Elements from which rows are accumulated one by one: then a loop over them is no overhead."""

BLOCK = 1 << 13
"""Elements of shorter rows whose places are found at once: each place takes eight bytes."""


def rows_of(xp: Any, shape: Shape, indices: Sequence[Any]) -> Any:
    """Return the positions of rows of an array with axes `shape`, counted in row-major order.

    Raises IndexError as NumPy does.
    """
    rows: Any = 0
    for axis, (n, index) in enumerate(zip(shape, indices, strict=True)):
        i = index.reshape(-1)
        if i.dtype.kind != "i" or i.dtype.itemsize < 8:
            i = i.astype(np.int64)
        if target_of(xp).on_host:  # else the device would be waited for
            low, high = int(i.min(initial=0)), int(i.max(initial=-1))
            if low < -n or high >= n:
                bad = i[(i < -n) | (i >= n)][0]
                raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {n}")
            if low < 0:
                i = np.where(i < 0, i + n, i)
        else:
            i = i % max(n, 1)  # as CuPy's own indexing does, which does not raise
        rows = rows * n + i if axis else i
    return rows


def write(ufunc: np.ufunc | None, out: Any, updates: Any, indices: Sequence[Any]) -> None:
    """Combine NumPy arrays, in the order of the updates, where places may be hit repeatedly."""
    k = len(indices)
    if ufunc is None:
        # NumPy writes at contiguous index arrays in order; for others the order is its own affair.
        flat = tuple([np.ascontiguousarray(i).reshape(-1) for i in indices])
        out[flat] = updates.reshape(flat[0].shape + out.shape[k:])
        return
    if out.ndim == 1:
        ufunc.at(out, indices[0].reshape(-1), updates.reshape(-1))
        return
    # ufunc.at is several times faster with one index of a flat array than with anything else.
    rows = rows_of(np, out.shape[:k], indices)
    width = math.prod(out.shape[k:])
    if width == 1:
        ufunc.at(out.reshape(-1), rows, updates.reshape(-1))
    elif width < LONG_ROW:
        flat, updates, count = (
            out.reshape(-1),
            updates.reshape(len(rows), width),
            BLOCK // (width or 1),
        )
        for first in range(0, len(rows), count):
            part = slice(first, first + count)
            places = rows[part, None] * width + np.arange(width)
            ufunc.at(flat, places.reshape(-1), updates[part].reshape(-1))
    else:
        target = out.reshape(-1, width)
        for row, update in zip(rows.tolist(), updates.reshape(-1, width), strict=True):
            ufunc(target[row], update, out=target[row])
