"""Products and powers of matrices, and the functions that `numpy.linalg` has from elsewhere in NumPy."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from fungrad.numpy.dispatch import implements
from fungrad.numpy.linalg.operands import check_matrices
from fungrad.numpy.products import vecdot as vector_products
from fungrad.numpy.promotion import as_array, as_tracer
from fungrad.numpy.shaping import reshaped
from fungrad.primitives.stacks import identity_like

__all__ = [
    "cross", "diagonal", "matmul", "matrix_power", "matrix_transpose", "multi_dot", "outer",
    "tensordot", "trace", "vecdot",
]  # fmt: skip


@implements(np.linalg.matrix_power, view=True)
def matrix_power(a: Any, n: Any) -> Any:
    """By repeated squaring; negative powers are those of the inverse."""
    x: Any = as_tracer(a)
    check_matrices(x, square=True)
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n == 0:
        return identity_like(x)
    if n < 0:
        x, n = np.linalg.inv(x), -n
    if n == 3:
        return np.matmul(np.matmul(x, x), x)  # in NumPy's order
    result = None
    while True:
        if n & 1:
            result = x if result is None else np.matmul(result, x)
        n >>= 1
        if not n:
            return result
        x = np.matmul(x, x)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """In the order that takes the fewest multiplications."""
    xs = [as_array(x) for x in arrays]
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(xs) == 2:
        return np.dot(*xs)
    is_row, is_column = np.ndim(xs[0]) == 1, np.ndim(xs[-1]) == 1
    if is_row:
        xs[0] = np.reshape(xs[0], (1, -1))
    if is_column:
        xs[-1] = np.reshape(xs[-1], (-1, 1))
    for x in xs:
        if np.ndim(x) != 2:
            raise LinAlgError(
                f"{np.ndim(x)}-dimensional array given. Array must be two-dimensional"
            )
    for step in _order([np.shape(x)[0] for x in xs] + [np.shape(xs[-1])[1]]):
        xs[step : step + 2] = [np.dot(xs[step], xs[step + 1])]
    result = as_tracer(xs[0])
    if is_row and is_column:
        return reshaped(result, ())
    return reshaped(result, (result.size,)) if is_row or is_column else result


def _order(lengths: Sequence[int]) -> list[int]:
    """Return which neighbours to multiply, in turn; matrix i has shape ``lengths[i:i + 2]``.

    T. Cormen et al., "Introduction to Algorithms", on matrix chains.
    """
    n = len(lengths) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            cost[i][j], split[i][j] = min(
                (
                    cost[i][k] + cost[k + 1][j] + lengths[i] * lengths[k + 1] * lengths[j + 1],
                    k,
                )
                for k in range(i, j)
            )
    # Of each range i..j the parts come first, the right one before the left one: then the
    # places of what is on the left do not change.
    steps: list[int] = []
    pending = [(0, n - 1)]
    while pending:
        i, j = pending.pop()
        if i < j:
            steps.append(i)
            k = split[i][j]
            pending += [(k + 1, j), (i, k)]
    return steps[::-1]


@implements(np.linalg.matmul)
def matmul(x1: Any, x2: Any, /) -> Any:
    return np.matmul(as_array(x1), as_array(x2))


@implements(np.linalg.matrix_transpose, view=True)
def matrix_transpose(x: Any, /) -> Any:
    return np.matrix_transpose(as_tracer(x))


@implements(np.linalg.diagonal, view=True, writable=False)
def diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    return np.diagonal(as_tracer(x), offset, -2, -1)


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    return np.trace(as_tracer(x), offset, -2, -1, dtype)


@implements(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    lengths = [np.shape(x)[axis] for x in (x1, x2)]
    if lengths != [3, 3]:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{lengths[0]} and {lengths[1]} dimensional instead."
        )
    return np.cross(x1, x2, axis=axis)


@implements(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    axes = [np.ndim(x) for x in (x1, x2)]
    if axes != [1, 1]:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={axes[0]} and x2.ndim={axes[1]}."
        )
    return np.outer(x1, x2)


@implements(np.linalg.tensordot, zero_d=True)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return np.tensordot(as_array(x1), as_array(x2), axes)


@implements(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    return vector_products(x1, x2, axis=axis)
