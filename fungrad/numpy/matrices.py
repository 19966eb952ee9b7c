"""Matrices: triangles, diagonals, powers of a vector."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.joining import joined
from fungrad.numpy.parameters import parameters_of
from fungrad.numpy.promotion import as_tracer, cast, standin
from fungrad.numpy.shaping import reshaped
from fungrad.numpy.views import diagonal_of
from fungrad.primitives import shaping
from fungrad.primitives.shaping import ReduceSum, permuted
from fungrad.primitives.slices import Pad, Slice


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    x = as_tracer(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    dtype = np.promote_types(x.dtype, int)
    x = cast(x, dtype)
    n = x.size if N is None else operator.index(N)
    columns = [np.ones_like(x), x][:n]
    while len(columns) < n:
        columns.append(columns[-1] * x)
    if not columns:
        return shaping.full(ArrayType((x.size, 0), dtype), 0)
    columns = [reshaped(c, (x.size, 1)) for c in columns]
    return joined(columns if increasing else columns[::-1], 1)


# Triangles and diagonals


def _below(x: Tracer, k: Any) -> np.ndarray[Any, Any]:
    """Return where the last two axes of a matrix are on or below diagonal `k`."""
    rows, columns = (x.shape[-2:] * 2)[:2]  # of a vector NumPy makes a square matrix
    return np.tri(rows, columns, operator.index(k), bool)


def _keep(x: Tracer, mask: Any) -> Any:
    return promotion.where(mask, x, False)  # a number of any dtype


@implements(np.tril)
def tril(m: Any, k: Any = 0) -> Any:
    x = as_tracer(m)
    return _keep(x, _below(x, k))


@implements(np.triu)
def triu(m: Any, k: Any = 0) -> Any:
    x = as_tracer(m)
    return _keep(x, ~_below(x, k - 1))


def _of_shape(numpy_function: Any) -> Any:
    """Return a function that asks for the shape of an array alone."""

    @parameters_of(numpy_function)
    def rule(arr: Any, *args: Any, **kwargs: Any) -> Any:
        return numpy_function(standin(arr), *args, **kwargs)

    return implemented(rule, numpy_function)


diag_indices_from = _of_shape(np.diag_indices_from)
tril_indices_from = _of_shape(np.tril_indices_from)
triu_indices_from = _of_shape(np.triu_indices_from)


@implements(np.diag, view=True, writable=False)
def diag(v: Any, k: Any = 0) -> Any:
    x = as_tracer(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    k = operator.index(k)
    n = x.size + abs(k)
    if not x.size:
        return shaping.full(ArrayType((n, n), x.dtype), 0)
    # In the flattened matrix neighbours on the diagonal are n + 1 apart.
    low = k if k >= 0 else -k * n
    high = n * n - low - (x.size - 1) * (n + 1) - 1
    zero = np.zeros((), x.dtype)[()]
    return reshaped(Pad((low,), (high,), (n,))(x, zero), (n, n))


@implements(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Any:
    x = as_tracer(v)
    return diag(reshaped(x, (x.size,)), k)


@implements(np.diagonal, view=True, writable=False)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    given = x = as_tracer(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first = normalize_axis_index(axis1, x.ndim, "axis1")
    second = normalize_axis_index(axis2, x.ndim, "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = operator.index(offset)
    others = tuple([i for i in range(x.ndim) if i not in (first, second)])
    x = permuted(x, (*others, first, second))
    *batch, m, n = x.shape
    low = offset if offset >= 0 else -offset * n
    length = max(0, min(m + min(offset, 0), n - max(offset, 0)))
    if not length:
        low = 0
    stop = low + (length - 1) * (n + 1) + 1 if length else 0
    flat = reshaped(x, (*batch, m * n))
    zeros = (0,) * len(batch)
    on_diagonal = Slice((*zeros, low), (*batch, stop), (*(1 for _ in batch), n + 1))(flat)
    return diagonal_of(given, on_diagonal, offset, first, second)


@implements(np.trace)
def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    x: Any = diagonal(as_tracer(a), offset, axis1, axis2)
    wanted = np.dtype(dtype) if dtype else np.zeros(0, x.dtype).sum().dtype
    return ReduceSum((x.ndim - 1,))(cast(x, wanted))
