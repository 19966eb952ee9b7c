"""Matrices of a special form, made of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import dft, hadamard, helmert, hilbert, invhilbert, invpascal, pascal

from fungrad.numpy.dispatch import implements
from fungrad.numpy.linalg.operands import numbers
from fungrad.numpy.promotion import as_tracer, promote
from fungrad.numpy.shaping import reshaped
from fungrad.scipy.arguments import double
from fungrad.scipy.mirrors import mirrors

__all__ = [
    "block_diag", "circulant", "companion", "convolution_matrix", "dft", "diagsvd", "fiedler",
    "hadamard", "hankel", "helmert", "hilbert", "invhilbert", "invpascal", "khatri_rao",
    "leslie", "matmul_toeplitz", "pascal", "solve_circulant", "solve_toeplitz", "toeplitz",
]  # fmt: skip


@implements(scipy.linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    blocks = [np.atleast_2d(x) for x in promote(*[as_tracer(a) for a in arrs])]
    stack = np.broadcast_shapes(*[x.shape[:-2] for x in blocks])
    width = sum(x.shape[-1] for x in blocks)
    before, rows = 0, []
    for x in blocks:
        x = np.broadcast_to(x, stack + x.shape[-2:])
        after = width - before - x.shape[-1]
        rows.append(np.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)]))
        before += x.shape[-1]
    return np.concatenate(rows, -2)


def _vectors(x: Any) -> Any:
    return np.atleast_1d(as_tracer(x))


def _indexed(values: Any, index: Any) -> Any:
    """Return for each vector the matrix whose elements are at positions `index` in it."""
    return np.take(values, index, axis=-1)


@implements(scipy.linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """The last axis is that of the vectors."""
    column = _vectors(c)
    row = np.conj(column) if r is None else _vectors(r)
    column, row = promote(column, row)
    stack = np.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    m, n = column.shape[-1], row.shape[-1]
    column, row = [np.broadcast_to(x, (*stack, x.shape[-1])) for x in (column, row)]
    values = np.concatenate([column[..., ::-1], row[..., 1:]], -1)
    return _indexed(values, m - 1 - np.arange(m)[:, None] + np.arange(n))


@implements(scipy.linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """`c` and `r` are vectors."""
    first: Any = as_tracer(c)
    operands: list[Any] = promote(first, np.zeros_like(first) if r is None else as_tracer(r))
    column, row = operands
    if column.ndim != 1 or row.ndim != 1:
        raise ValueError(f"hankel takes vectors, got {column._type} and {row._type}: ravel them")
    values = np.concatenate([column, row[1:]])
    return _indexed(values, np.arange(column.size)[:, None] + np.arange(row.size))


@implements(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    """The last axis is that of the vectors."""
    x = _vectors(c)
    places = np.arange(x.shape[-1])
    return _indexed(x, (places[:, None] - places) % max(x.shape[-1], 1))


@implements(scipy.linalg.companion)
def companion(a: Any) -> Any:
    """The last axis is that of the polynomial."""
    x = _vectors(a)
    n = x.shape[-1]
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    first = -x[..., 1:] / (1.0 * x[..., :1])
    shape = (*first.shape[:-1], n - 2, n - 1)
    below = np.broadcast_to(np.eye(n - 2, n - 1, dtype=first.dtype), shape)
    return np.concatenate([first[..., None, :], below], -2)


@implements(scipy.linalg.convolution_matrix)
def convolution_matrix(a: Any, n: Any, mode: str = "full") -> Any:
    """The last axis is that of the vectors."""
    x = as_tracer(a)
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if not x.size or not x.ndim:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    length = x.shape[-1]
    trim = 0 if mode == "full" else min(n, length) - 1
    start = trim // 2 if mode == "same" else trim
    rows = np.arange(start, length + n - 1 - (trim - start if mode == "same" else trim))
    shifted = rows[:, None] - np.arange(n)
    inside = (shifted >= 0) & (shifted < length)
    return np.where(inside, _indexed(x, np.where(inside, shifted, 0)), np.zeros((), x.dtype))


@implements(scipy.linalg.leslie)
def leslie(f: Any, s: Any) -> Any:
    """`f` and `s` are vectors."""
    operands: list[Any] = promote(_vectors(f), _vectors(s))
    fecundity, survival = operands
    if fecundity.ndim > 1 or fecundity.shape[-1] != survival.shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of f."
        )
    if not survival.size:
        raise ValueError("The length of s must be at least 1.")
    below = np.pad(np.diag(survival), ((0, 0), (0, 1)))
    return np.concatenate([fecundity[None], below])


@implements(scipy.linalg.fiedler)
def fiedler(a: Any) -> Any:
    """The last axis is that of the vectors."""
    x = _vectors(a)
    return np.abs(x[..., :, None] - x[..., None, :])


@implements(scipy.linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    operands: list[Any] = promote(as_tracer(a), as_tracer(b))
    x, y = operands
    if x.ndim != 2 or y.ndim != 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if x.shape[1] != y.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    product = x[:, None] * y[None]
    return reshaped(product, (x.shape[0] * y.shape[0], x.shape[1]))


@implements(scipy.linalg.diagsvd)
def diagsvd(s: Any, M: int, N: int) -> Any:
    x = as_tracer(s)
    if x.size not in (M, N):
        raise ValueError("Length of s must be M or N.")
    square: Any = np.diag(reshaped(x, (x.size,)))
    return np.pad(square, ((0, M - x.size), (0, N - x.size)))


# Systems of such matrices


@mirrors(scipy.linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any) -> Any:
    """Traced, by LU decomposition of the whole matrix; in double precision, as SciPy."""
    return _solved(double(toeplitz_of(c_or_cr)), b)


def toeplitz_of(c_or_cr: Any) -> Any:
    """Return `toeplitz` of a vector, or of two in a tuple, traced or not."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    column = np.ravel(c)
    return toeplitz(column, np.conj(column) if r is None else np.ravel(r))


def _solved(matrix: Any, b: Any) -> Any:
    x, y = numbers(matrix, b)
    flat = reshaped(y, (y.shape[0], math.prod(y.shape[1:])))
    solution: Any = np.linalg.solve(x, flat)
    return reshaped(solution, y.shape)


@mirrors(scipy.linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr: Any, x: Any) -> Any:
    """Traced, by a product with the whole matrix; in double precision, as SciPy."""
    y = double(as_tracer(x))
    flat = reshaped(y, (y.shape[0], math.prod(y.shape[1:])))
    product: Any = np.matmul(toeplitz_of(c_or_cr), flat)
    return reshaped(product, (product.shape[0], *y.shape[1:]))


@mirrors(scipy.linalg.solve_circulant)
def solve_circulant(
    c: Any, b: Any, singular: str = "raise", caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Any:
    """Traced, by LU decomposition of the whole matrix, for vectors c; singular ones raise."""
    if singular != "raise":
        raise TypeError("solve_circulant: traced, singular matrices raise; use lstsq for them")
    column = _vectors(c)
    if column.ndim > 1:
        raise TypeError("solve_circulant: traced, c is one vector; use vmap for several")
    y = np.moveaxis(_vectors(b), baxis, 0)
    return np.moveaxis(_solved(circulant(column), y), 0, outaxis)
