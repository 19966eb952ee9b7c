"""Functions of `jax.numpy` that change an array in NumPy: here they return a changed copy."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import enter, leave
from fungrad.compat.jax.places import Places
from fungrad.core.tracer import Tracer


def _refuse_to_change(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"jax.numpy.{name}: arrays of JAX do not change; pass inplace=False for a changed copy"
        )


def _on_copy(name: str, a: Any, inplace: bool, *args: Any) -> Any:
    """Return a copy that a function of NumPy has changed."""
    _refuse_to_change(name, inplace)
    x = enter(a)
    changed = fnp.array(x) if type(x) is Tracer else np.array(x)
    getattr(fnp, name)(changed, *map(enter, args))
    return leave(changed)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """Return a copy with values on the main diagonal."""
    return _on_copy("fill_diagonal", a, inplace, val, wrap)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """Return a copy with values, one after the other, where a mask is true."""
    return _on_copy("place", arr, inplace, mask, vals)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """Return a copy with values at flat indices; by default the nearest to those out of bounds."""
    if mode is None and not inplace:
        # Indices count from the end, too, as they do not for NumPy's "clip".
        i, size = fnp.ravel(enter(ind)), fnp.size(enter(a))
        ind, mode = fnp.where(i < 0, i + size, i), "clip"
    return _on_copy("put", a, inplace, ind, v, mode)


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Any:
    """Return a copy with values at indices along an axis; by default none where an index is out of bounds."""
    _refuse_to_change("put_along_axis", inplace)
    x, i = fnp.asarray(enter(arr)), fnp.asarray(enter(indices))
    rows = fnp.ravel(x) if axis is None else x
    if rows.ndim != i.ndim:
        raise ValueError(
            f"put_along_axis arguments 'arr' and 'indices' must have same ndim. Got {rows.ndim} and {i.ndim}."
        )
    at: list[Any] = [*np.ix_(*map(np.arange, rows.shape))]
    at[0 if axis is None else axis] = i
    put = Places(rows)[tuple(at)].set(fnp.broadcast_to(enter(values), i.shape), mode=mode)
    return leave(fnp.reshape(enter(put), x.shape))
