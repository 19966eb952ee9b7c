"""The dtype in which a function computes, and that of its result.

Numbers of two bytes or fewer are computed with in float32, and rounded once: the result. So sums neither overflow nor
lose what is small, whatever NumPy's own loops for such dtypes do, and a Python number never decides a dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import lattice
from fungrad.core.config import settings
from fungrad.core.types import kind_of, type_of
from fungrad.numpy.promotion import as_array

SINGLE: np.dtype[Any] = np.dtype(np.float32)
DOUBLE: np.dtype[Any] = np.dtype(np.float64)


def floating_dtype(*operands: Any) -> np.dtype[Any]:
    """Return the floating-point or complex dtype that NumPy promotes operands to; integers are float64.

    Python numbers give way, unless there is nothing else. Where promotion is JAX's, it is the dtype that JAX promotes them to.
    """
    types = [type_of(x) for x in operands]
    if settings.get().jax_types:
        return lattice.inexact(lattice.promoted(tuple(types))[0])
    strong = [t.dtype for t in types if not t.weak] or [t.dtype for t in types]
    dtype: np.dtype[Any] = np.result_type(*strong)
    return DOUBLE if kind_of(dtype) in "biu" else dtype


def computing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to compute in, for results of a dtype."""
    return SINGLE if dtype.itemsize < SINGLE.itemsize else dtype


def converted(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return an array, a tracer or a scalar of a dtype; the same one if it is of that dtype.

    Python numbers become NumPy scalars, which the arrays of any library compute with.
    """
    t = type_of(x)
    if t.dtype == dtype and not t.weak:
        return x
    return fnp.astype(x, dtype) if hasattr(x, "dtype") else dtype.type(x)


def array(x: Any) -> Any:
    """Return an array, a NumPy scalar or a tracer; lists and Python numbers become the former."""
    x = as_array(x)
    return x if hasattr(x, "dtype") else np.asarray(x)


def widened(*operands: Any) -> tuple[np.dtype[Any], list[Any]]:
    """Return the dtype of the result, and the operands in the dtype to compute in."""
    arrays = [as_array(x) for x in operands]
    dtype = floating_dtype(*arrays)
    return dtype, [converted(x, computing_dtype(dtype)) for x in arrays]


def computed(rule: Callable[..., Any], *operands: Any) -> Any:
    """Return ``rule(*operands)`` for operands that are `widened`, in the dtype of the result."""
    dtype, arrays = widened(*operands)
    return converted(rule(*arrays), dtype)
