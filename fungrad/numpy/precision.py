"""The dtype in which a function computes, and that of its result.

Numbers of two bytes or fewer are computed with in float32, and rounded once: the result. So sums neither overflow nor
lose what is small, whatever NumPy's own loops for such dtypes do, and a Python number never decides a dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core import lattice
from fungrad.core.config import settings
from fungrad.core.types import kind_of, type_of
from fungrad.numpy.promotion import as_array
from fungrad.numpy.shaping import astype

SINGLE: np.dtype[Any] = np.dtype(np.float32)
DOUBLE: np.dtype[Any] = np.dtype(np.float64)


def floating_dtype(*operands: Any) -> np.dtype[Any]:
    """Return the floating-point or complex dtype that NumPy promotes operands to; integers are float64.

    Python numbers give way, unless there is nothing else. Where promotion is JAX's, it is the dtype that JAX promotes them to.

    Examples
    --------
    >>> import numpy as np
    >>> floating_dtype(np.arange(3)), floating_dtype(np.float32(1), 2.0)
    (dtype('float64'), dtype('float32'))
    """
    types = [type_of(x) for x in operands]
    if settings.get().jax_types:
        return lattice.inexact(lattice.promoted(tuple(types))[0])
    strong = [t.dtype for t in types if not t.weak] or [t.dtype for t in types]
    dtype: np.dtype[Any] = np.result_type(*strong)
    return DOUBLE if kind_of(dtype) in "biu" else dtype


def computing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to compute in, for results of a dtype: float32 for those of two bytes or fewer.

    Examples
    --------
    >>> import numpy as np
    >>> computing_dtype(np.dtype(np.float16)), computing_dtype(np.dtype(np.float64))
    (dtype('float32'), dtype('float64'))
    """
    return SINGLE if dtype.itemsize < SINGLE.itemsize else dtype


def converted(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return an array, a tracer or a scalar of a dtype; the same one if it is of that dtype.

    Python numbers become NumPy scalars, which the arrays of any library compute with.

    Examples
    --------
    >>> import numpy as np
    >>> converted(2.0, np.dtype(np.float32)), converted(np.arange(2), np.dtype(float))
    (np.float32(2.0), array([0., 1.]))
    """
    t = type_of(x)
    if t.dtype == dtype and not t.weak:
        return x
    return astype(x, dtype) if hasattr(x, "dtype") else dtype.type(x)


def array(x: Any) -> Any:
    """Return an array, a NumPy scalar or a tracer; lists and Python numbers become arrays.

    Examples
    --------
    >>> array([1, 2]), array(np.float32(1))
    (array([1, 2]), np.float32(1.0))
    """
    x = as_array(x)
    return x if hasattr(x, "dtype") else np.asarray(x)


def widened(*operands: Any) -> tuple[np.dtype[Any], list[Any]]:
    """Return the dtype of the result, and the operands in the dtype to compute in.

    Examples
    --------
    >>> import numpy as np
    >>> widened(np.float16(1), 2)
    (dtype('float16'), [np.float32(1.0), np.float32(2.0)])
    """
    arrays = [as_array(x) for x in operands]
    dtype = floating_dtype(*arrays)
    return dtype, [converted(x, computing_dtype(dtype)) for x in arrays]


def computed(rule: Callable[..., Any], *operands: Any) -> Any:
    """Return ``rule(*operands)`` for operands that are `widened`, in the dtype of the result.

    Examples
    --------
    >>> import numpy as np
    >>> computed(lambda x: x * 300 / 300, np.float16(300))
    np.float16(300.0)
    """
    dtype, arrays = widened(*operands)
    return converted(rule(*arrays), dtype)
