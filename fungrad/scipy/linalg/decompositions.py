"""Decompositions of matrices and their applications."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from fungrad.numpy.dispatch import implements
from fungrad.numpy.indexing import getitem
from fungrad.numpy.linalg.decompositions import cholesky_factor
from fungrad.numpy.linalg.operands import matrices, numbers
from fungrad.numpy.promotion import cast
from fungrad.primitives.decompositions import Qr, Svd
from fungrad.primitives.elimination import ColumnPivots, Lu, Permutation
from fungrad.primitives.matrix_functions import Hessenberg, Polar, Schur
from fungrad.primitives.stacks import (
    Triangle,
    adjoint,
    columns,
    identity_like,
    matmul,
    real_type,
    rows,
)
from fungrad.scipy.mirrors import mirrors

__all__ = [
    "cho_factor", "cholesky", "hessenberg", "lu", "lu_factor", "null_space", "orth",
    "orthogonal_procrustes", "polar", "qr", "rq", "schur", "svd", "svdvals",
]  # fmt: skip


@mirrors(scipy.linalg.cholesky)
def cholesky(a: Any, lower: bool = False) -> Any:
    """The derivative is with respect to Hermitian matrices, as for `fungrad.numpy.linalg.cholesky`."""
    return cholesky_factor(a, lower)


@mirrors(scipy.linalg.cho_factor)
def cho_factor(a: Any, lower: bool = False) -> Any:
    """For a traced `a` the other triangle is zero, where SciPy leaves elements of `a`."""
    return cholesky_factor(a, lower), lower


# LU


def _triangles(packed: Any) -> tuple[Any, Any]:
    """Return L and U from the matrix that holds both."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    low = Triangle(True, -1)(columns(packed, 0, k))
    ones = identity_like(rows(low, 0, k))
    if m > k:
        ones = np.concatenate([ones, np.zeros_like(rows(low, k, m))], -2)
    return low + ones, Triangle(False)(rows(packed, 0, k))


@mirrors(scipy.linalg.lu)
def lu(a: Any, permute_l: bool = False, p_indices: bool = False) -> Any:
    packed, pivots = Lu()(matrices(a))
    low, up = _triangles(packed)
    m = packed.shape[-2]
    order = Permutation(m)(pivots)
    if not (permute_l or p_indices):
        # Row r of P holds a 1 where `order` says r.
        p: Any = np.equal(order[..., None, :], np.arange(m)[:, None])
        return cast(p, real_type(packed._type).dtype), low, up
    inverse = np.argsort(order, -1)
    if permute_l:
        return np.take_along_axis(low, inverse[..., None], -2), up
    return inverse, low, up


@mirrors(scipy.linalg.lu_factor)
def lu_factor(a: Any) -> Any:
    return Lu()(matrices(a))


# QR


@mirrors(scipy.linalg.qr)
def qr(a: Any, mode: str = "full", pivoting: bool = False) -> Any:
    """Traced, there is no mode 'raw'. Derivatives are those of `fungrad.numpy.linalg.qr`."""
    if mode == "raw":
        raise TypeError(
            "qr: the mode 'raw' gives Householder vectors, which have no derivative here; use mode 'full' or "
            "'economic'"
        )
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    x = matrices(a)
    order: Any = None
    if pivoting:
        order = ColumnPivots()(x)
        x = np.take_along_axis(x, order[..., None, :].astype(np.int64), -1)
    q, r = Qr(mode != "economic")(x)
    results = (r,) if mode == "r" else (q, r)
    return (*results, order) if pivoting else results


@mirrors(scipy.linalg.rq)
def rq(a: Any, mode: str = "full") -> Any:
    """By QR of the adjoint with rows and columns reversed."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    backwards = (..., slice(None, None, -1), slice(None, None, -1))
    q, r = Qr(mode != "economic")(adjoint(getitem(matrices(a), backwards)))
    r, q = [getitem(adjoint(x), backwards) for x in (r, q)]
    return r if mode == "r" else (r, q)


# Singular values


@mirrors(scipy.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    factors = Svd(bool(full_matrices), bool(compute_uv))(matrices(a))
    return factors if compute_uv else factors[0]


@mirrors(scipy.linalg.svdvals)
def svdvals(a: Any) -> Any:
    return Svd(vectors=False)(matrices(a))[0]


def _rank(s: Any, shape: tuple[int, ...], rcond: Any) -> int:
    """Return how many singular values are not negligible. Their values must be known."""
    if rcond is None:
        rcond = np.finfo(s.dtype).eps * max(shape)
    return int(np.count_nonzero(np.greater(s, np.max(s, initial=0) * rcond)))


@implements(scipy.linalg.orth)
def orth(A: Any, rcond: Any = None) -> Any:
    """How many vectors there are depends on values, which must be known: not under `jit` or `vmap`."""
    x = _one_matrix(A)
    u, s, _ = Svd()(x)
    return columns(u, 0, _rank(s, x.shape, rcond))


@mirrors(scipy.linalg.null_space)
def null_space(A: Any, rcond: Any = None) -> Any:
    """How many vectors there are depends on values, which must be known: not under `jit` or `vmap`."""
    x = _one_matrix(A)
    _, s, vh = Svd(True)(x)
    return adjoint(rows(vh, _rank(s, x.shape, rcond), x.shape[-1]))


def _one_matrix(a: Any) -> Any:
    x = matrices(a)
    if x.ndim > 2:
        raise ValueError(
            "each matrix of a stack may have a rank of its own: give one matrix at a time"
        )
    return x


@implements(scipy.linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    """The derivative needs full rank. Repeated singular values do no harm."""
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    x = matrices(a)
    is_wide = x.shape[-2] < x.shape[-1]
    u, p = Polar()(
        adjoint(x) if is_wide else x
    )  # x = u p if x is not wide, else p u, by its adjoint
    u = adjoint(u) if is_wide else u
    if (side == "left") == is_wide:
        return u, p
    if is_wide:
        return u, matmul(adjoint(u), matmul(p, u))
    return u, matmul(u, matmul(p, adjoint(u)))


@mirrors(scipy.linalg.orthogonal_procrustes)
def orthogonal_procrustes(A: Any, B: Any) -> Any:
    x, y = numbers(A, B)
    if x.ndim != 2:
        raise ValueError(f"expected ndim to be 2, but observed {x.ndim}")
    if x.shape != y.shape:
        raise ValueError(f"the shapes of A and B differ ({x.shape} vs {y.shape})")
    u, p = Polar()(matmul(adjoint(x), y))
    return u, np.real(np.trace(p))


# Forms without a derivative


@mirrors(scipy.linalg.schur)
def schur(a: Any, output: str = "real", sort: Any = None) -> Any:
    """It has no derivative; `eig` has. Traced, it cannot sort."""
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    if sort is not None:
        raise TypeError(
            "schur: the eigenvalues of a traced matrix cannot be sorted; leave out `sort`"
        )
    return Schur(output[0] == "r")(matrices(a, square=True))


@mirrors(scipy.linalg.hessenberg)
def hessenberg(a: Any, calc_q: bool = False) -> Any:
    """It has no derivative."""
    h, q = Hessenberg()(matrices(a, square=True))
    return (h, q) if calc_q else h
