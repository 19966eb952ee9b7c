"""Keys of random numbers as operands: they are compared, and nothing is computed with them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fungrad.core.types import is_key
from fungrad.primitives.bits import reinterpret
from fungrad.primitives.elementwise import Elementwise, equal

_OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}


def hold_keys(operands: Iterable[Any]) -> bool:
    """Whether all operands are arrays of keys."""
    dtypes = [getattr(x, "dtype", None) for x in operands]
    return all(isinstance(dtype, np.dtype) and is_key(dtype) for dtype in dtypes)


def comparison(function: np.ufunc, operands: tuple[Any, ...]) -> Callable[[Any, Any], Any] | None:
    """Return the operator that compares arrays of keys, which ufuncs do not; None for others."""
    return _OPERATORS.get(function) if hold_keys(operands) else None


def compared(primitive: Elementwise, operands: Iterable[Any]) -> Any:
    """Return whether keys are equal, or unequal, where one is traced."""
    x, y = [reinterpret(keys, np.dtype(np.uint32)) for keys in operands]
    return np.all(x == y, -1) if primitive is equal else np.any(x != y, -1)
