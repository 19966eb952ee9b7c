"""Errors for keys that a traced array does not take."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from fungrad.core.errors import ConcretizationError
from fungrad.core.tracer import Tracer, known_value, resolve
from fungrad.core.types import type_of
from fungrad.numpy.promotion import has_tracer


def without_value(mask: Tracer, place: str) -> ConcretizationError:
    """Return the error for a mask that picks elements at a place, and has no value."""
    return ConcretizationError(
        f"at {place}\na boolean mask picks a number of elements that depends on its values, and a tracer of type {mask._type} under "
        f"`{resolve(mask)._owner.label}` has none: the function is traced once for all values. Keep the shape instead: choose between "
        "elements with fungrad.numpy.where(mask, x, y), leave elements out of a sum or a maximum with its argument where=mask, or "
        "give fungrad.numpy.nonzero(mask, size=n) a fixed size and index with what it returns."
    )


def raise_as_numpy(x: Any, key: Any, error: Exception, values: Any = None) -> NoReturn:
    """Raise NumPy's error for this key and these values; `error` if there is none."""
    stand_in = np.lib.stride_tricks.as_strided(
        np.zeros((), type_of(x).dtype), type_of(x).shape, (0,) * type_of(x).ndim
    )
    static = tuple(map(_static, key)) if type(key) is tuple else _static(key)
    if values is None:
        stand_in[static]
    else:
        stand_in[static] = _static(values)
    raise error


def _static(item: Any) -> Any:
    """Return an item of a key with NumPy arrays in place of tracers and arrays on a GPU.

    Their elements are zeros where they are not known; errors about shapes are the same.
    """
    if type(item) in (list, tuple) and has_tracer(item):
        return [_static(i) for i in item]
    value = known_value(item) if type(item) is Tracer and item.dtype.kind == "b" else item
    if hasattr(item, "reshape") and not isinstance(value, (np.ndarray, np.generic)):
        return np.zeros(item.shape, item.dtype)
    return value
