"""Functions of `jax.numpy` that fungrad.numpy has not, or with another meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.crossing import dtype_of, enter, leave
from fungrad.core.tracer import Tracer

__all__ = [
    "array_equal",
    "array_equiv",
    "finfo",
    "iinfo",
    "isscalar",
    "issubdtype",
    "ndim",
    "result_type",
    "shape",
    "size",
]


def _of_array(x: Any) -> Any:
    """Return the dtype of an array, or a dtype as it is."""
    return getattr(x, "dtype", x)


def finfo(dtype: Any) -> Any:
    """Return what floating-point numbers of a dtype, or of that of an array, can hold."""
    return fnp.finfo(np.dtype(_of_array(dtype)))


def iinfo(int_type: Any) -> Any:
    """Return what integers of a dtype, or of that of an array, can hold."""
    return fnp.iinfo(np.dtype(_of_array(int_type)))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Return whether a dtype is of a kind."""

    def plain(x: Any) -> Any:
        return (
            _of_array(x)
            if not isinstance(x, type) or (hasattr(x, "dtype") and not issubclass(x, np.generic))
            else x
        )

    return bool(np.issubdtype(plain(arg1), plain(arg2)))


def result_type(*args: Any) -> Any:
    """Return the dtype that operands are promoted to."""
    return dtype_of(fnp.result_type(*map(enter, args)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether shapes and elements are equal."""
    return leave(np.asarray(fnp.array_equal(enter(a1), enter(a2), equal_nan)))


def array_equiv(a1: Any, a2: Any) -> Any:
    """Return whether elements are equal once broadcast."""
    return leave(np.asarray(fnp.array_equiv(enter(a1), enter(a2))))


def isscalar(element: Any) -> bool:
    """Return whether something is a number, or an array without axes."""
    if isinstance(element, (np.ndarray, Tracer)):
        return isinstance(element, (Array, Tracer)) and element.ndim == 0
    return bool(np.isscalar(element))


shape, size, ndim = fnp.shape, fnp.size, fnp.ndim
