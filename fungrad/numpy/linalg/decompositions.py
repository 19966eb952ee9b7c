"""Cholesky, QR, eigenvalues and singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.numpy.dispatch import implements
from fungrad.numpy.linalg.operands import hermitian, matrices
from fungrad.primitives.decompositions import Cholesky, Eig, Eigh, Qr, Svd
from fungrad.primitives.stacks import adjoint
from fungrad.primitives.tridiagonal import PackedQr

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]

_ONE = np.eye(1)
# NumPy's classes of results; they have no public names.
QRResult: Any = type(np.linalg.qr(_ONE))
EigResult: Any = type(np.linalg.eig(_ONE))
EighResult: Any = type(np.linalg.eigh(_ONE))
SVDResult: Any = type(np.linalg.svd(_ONE))


def cholesky_factor(a: Any, lower: bool) -> Any:
    """Return the lower or upper Cholesky factor; that triangle of `a` is read."""
    x = hermitian(a)
    return Cholesky()(x) if lower else adjoint(Cholesky()(adjoint(x)))


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Only one triangle of `a` is read; the derivative is that by Hermitian matrices, see the module."""
    return cholesky_factor(a, not upper)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Mode 'raw' has no derivative.

    Derivatives keep the diagonal of R real, as LAPACK makes it, and need as many independent leading
    columns as there can be; otherwise they raise `LinAlgError`.
    """
    if mode == "raw":
        packed, factors = PackedQr()(matrices(a))
        return packed, factors
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    q, r = Qr(mode == "complete")(matrices(a))
    return r if mode == "r" else QRResult(q, r)


def _triangle(uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return uplo.upper() == "L"


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Only one triangle of `a` is read; the derivative is that by Hermitian matrices, see the module."""
    return EighResult(*Eigh(_triangle(UPLO))(hermitian(a)))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Only one triangle of `a` is read; the derivative is that by Hermitian matrices, see the module."""
    (w,) = Eigh(_triangle(UPLO), vectors=False)(hermitian(a))
    return w


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    """Traced, the results are always complex: whether all eigenvalues are real depends on values.

    Vectors keep norm 1 and their largest element real, as LAPACK makes them, under differentiation.
    """
    return EigResult(*Eig()(matrices(a, square=True)))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Traced, the result is always complex: whether all eigenvalues are real depends on values."""
    # With vectors, which derivatives need; without them LAPACK may give another order.
    return Eig()(matrices(a, square=True))[0]


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Vectors of a full U or V that belong to no singular value do not rotate among themselves."""
    if hermitian:
        return _svd_of_hermitian(a, compute_uv)
    factors = Svd(bool(full_matrices), bool(compute_uv))(matrices(a))
    return SVDResult(*factors) if compute_uv else factors[0]


def _svd_of_hermitian(a: Any, compute_uv: bool) -> Any:
    if not compute_uv:
        return np.sort(np.abs(eigvalsh(a)), axis=-1)[..., ::-1]
    w, v = eigh(a)
    order = np.argsort(np.abs(w), axis=-1)[..., ::-1]
    w = np.take_along_axis(w, order, -1)
    u = np.take_along_axis(v, order[..., None, :], -1)
    return SVDResult(u, np.abs(w), adjoint(u * np.copysign(1.0, w)[..., None, :].astype(u.dtype)))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """The derivative of a singular value at 0 is one-sided."""
    return Svd(vectors=False)(matrices(x))[0]
