"""Norms, condition numbers, ranks and determinants."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.linalg import LinAlgError

from fungrad.numpy.dispatch import implements
from fungrad.numpy.linalg.operands import check_matrices, matrices
from fungrad.numpy.promotion import as_tracer, cast
from fungrad.numpy.reductions import is_exact, length, with_axes
from fungrad.numpy.shaping import moveaxis, reshaped
from fungrad.primitives.determinants import Det, Slogdet
from fungrad.primitives.stacks import identity_like

__all__ = ["cond", "det", "matrix_norm", "matrix_rank", "norm", "slogdet", "vector_norm"]

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """The first and second derivatives are right for singular matrices too.

    Third ones need distinct singular values.
    """
    return Det()(matrices(a, square=True))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """The derivative at a singular matrix does not exist: it raises `LinAlgError`."""
    return SlogdetResult(*Slogdet()(matrices(a, square=True)))


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The first derivative at 0 is 0, by convention.

    Further ones are 0 there in directions in which the norm stays 0, and NaN in others, in which they do not exist. Those of
    the norm's square are NaN too: write that as a sum of squares.
    """
    a = as_tracer(x)
    if is_exact(a.dtype) or a.dtype.kind == "V":  # NumPy does not know bfloat16 for a float
        a = cast(a, np.dtype(np.float64))
    if axis is None:
        if ord is None or (ord in ("f", "fro") and a.ndim == 2) or (ord == 2 and a.ndim == 1):
            return length(a, None, keepdims)
        axis = tuple(range(a.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (operator.index(axis),)
        except TypeError as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    if len(axis) == 1:
        return _vector_norm(a, ord, axis[0], keepdims)
    if len(axis) == 2:
        return _matrix_norm(a, ord, axis, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return length(x, axis, keepdims)
    size = np.abs(x)
    if ord == math.inf:
        return np.max(size, axis, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return np.min(size, axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(np.not_equal(x, 0).astype(size.dtype), axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis, keepdims=keepdims)
    if ord > 1:
        return length(x, axis, keepdims, order=ord)
    return _power(np.sum(_power(size, ord), axis, keepdims=keepdims), 1 / ord)


def _power(x: Any, exponent: float) -> Any:
    """Return a power of nonnegative numbers; at 0 its first derivative is 0, and the second NaN."""
    positive = np.not_equal(x, 0)
    of_zero = np.where(positive, 1, x) ** 1.5  # value and slope are 0, the curvature is infinite
    of_zero = of_zero + math.inf if exponent < 0 else of_zero
    return np.where(positive, np.where(positive, x, 1) ** exponent, of_zero)


def _matrix_norm(x: Any, ord: Any, axes: tuple[Any, ...], keepdims: bool) -> Any:
    row, column = [normalize_axis_index(operator.index(i), x.ndim) for i in axes]
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        result = length(x, (row, column))
    elif ord in (2, -2, "nuc"):
        result = _of_singular_values(moveaxis(x, (row, column), (-2, -1)), ord)
    elif ord in (1, -1, math.inf, -math.inf):
        summed, other = (row, column) if abs(ord) == 1 else (column, row)
        sums = np.sum(np.abs(x), summed, keepdims=True)
        result = np.max(sums, other, initial=0) if ord > 0 else np.min(sums, other)
    else:
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        return with_axes(result, x.shape, (row, column))
    others = [n for i, n in enumerate(x.shape) if i not in (row, column)]
    return reshaped(result, tuple(others))  # of sums one axis is still there


def _of_singular_values(x: Any, ord: Any) -> Any:
    """Return a norm of singular values; of zeros it is the Frobenius norm, for its derivatives."""
    if 0 not in x.shape:
        size = length(x, (-2, -1), True)
        zero = np.equal(size, 0)
        m, n = x.shape[-2:]
        x = np.where(zero, np.eye(m, n) * np.arange(1.0, n + 1), x).astype(x.dtype)
    s = np.linalg.svdvals(x)
    if ord == -2:
        result = np.min(s, -1)
    else:
        result = np.max(s, -1, initial=0) if ord == 2 else np.sum(np.abs(s), -1)
    if 0 in x.shape:
        return result
    return np.where(zero[..., 0, 0], size[..., 0, 0], result)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Derivatives at 0 are those of `norm`."""
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Derivatives at 0 are those of `norm`."""
    a = as_tracer(x)
    if axis is not None and not isinstance(axis, tuple):
        return norm(a, ord, axis, keepdims)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    others = [n for i, n in enumerate(a.shape) if i not in axes]
    length = math.prod([a.shape[i] for i in axes])
    merged = reshaped(moveaxis(a, axes, tuple(range(len(axes)))), (length, *others))
    result = norm(merged, ord, 0)
    return with_axes(result, a.shape, axes) if keepdims else result


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    a = as_tracer(x)
    if 0 in a.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = np.linalg.svdvals(a)
        first, last = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        singular = np.equal(last, 0)
        return np.where(singular, math.inf, first / np.where(singular, 1, last))
    a = matrices(a, square=True)
    # What `slogdet` finds singular is what `inv` refuses.
    singular = np.equal(Slogdet()(a)[0], 0)
    safe = np.where(singular[..., None, None], identity_like(a), a)
    product = norm(a, p, (-2, -1)) * norm(np.linalg.inv(safe), p, (-2, -1))
    return np.where(singular, math.inf, product)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    a = as_tracer(A)
    if a.ndim < 2:
        return np.any(np.not_equal(a, 0)).astype(np.int64)
    check_matrices(a)
    s = np.linalg.svd(a, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(a.shape[-2:]) * np.finfo(s.dtype).eps
        tol = np.max(s, -1, initial=0) * rtol
    return np.count_nonzero(np.greater(s, np.expand_dims(tol, -1)), axis=-1)
