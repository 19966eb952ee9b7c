"""Householder reflections: reductions by them, and their products."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import type_of
from fungrad.lax.glossary import public
from fungrad.lax.linalg.operands import arrays_of, check, matrices_of
from fungrad.primitives.linalg import TriangularSolve
from fungrad.primitives.stacks import Triangle, adjoint, columns, identity_like, matmul, scaled_rows
from fungrad.primitives.tridiagonal import PackedHessenberg, PackedTridiagonal


@public
def hessenberg(a: Any) -> tuple[Any, Any]:
    """Return the Hessenberg form of square matrices and the reflections that lead to it. No derivative.

    Parameters
    ----------
    a
        An array of shape ``(..., n, n)``.

    Returns
    -------
    tuple of arrays
        The form, with the vectors of the reflections below its first subdiagonal, and their factors, of
        shape ``(..., n - 1)``. `householder_product` makes the unitary matrix.

    Examples
    --------
    >>> form, factors = linalg.hessenberg(np.ones((3, 3)))
    >>> factors.shape
    (2,)
    """
    form, factors = PackedHessenberg()(matrices_of("hessenberg", a, square=True))
    return form, factors


@public
def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """Return the tridiagonal form of Hermitian matrices, and its reflections. No derivative.

    Parameters
    ----------
    a
        An array of shape ``(..., n, n)``, of which one triangle is read.
    lower
        Which triangle.

    Returns
    -------
    tuple of arrays
        The form with the vectors of the reflections, of the shape of `a`; its diagonal and the one beside it; the
        factors of the reflections.

    Examples
    --------
    >>> linalg.tridiagonal(np.eye(3))[1]
    array([1., 1., 1.])
    """
    form, middle, beside, factors = PackedTridiagonal(bool(lower))(
        matrices_of("tridiagonal", a, square=True)
    )
    return form, middle, beside, factors


def _reflections(a: Any, taus: Any) -> tuple[Any, Any]:
    """Return V and T with which the product of reflections ``1 - tau v v^H`` is ``1 - V T V^H``.

    T is upper triangular with ``T^-1 = D^-1 + S``, D the diagonal matrix of the factors and S the strict upper
    triangle of ``V^H V``. T. Joffrain et al., "Accumulating Householder transformations, revisited"
    (2006), theorem 1.
    """
    k = np.shape(taus)[-1]
    low = columns(Triangle(True, -1)(a), 0, k)
    v = low + columns(_ones_on_diagonal(a), 0, k)
    strict = Triangle(False, 1)(matmul(adjoint(v), v))
    one = identity_like(strict)
    scaled = scaled_rows(taus, one)
    return v, TriangularSolve(False)(one + scaled_rows(taus, strict), scaled)


def _ones_on_diagonal(a: Any) -> Any:
    *_, rows, columns = shape = np.shape(a)
    return fnp.broadcast_to(fnp.eye(rows, columns, dtype=type_of(a).dtype), shape)


def _check_reflections(name: str, a: Any, taus: Any) -> None:
    shape = np.shape(a)
    fits = len(shape) >= 2 and shape[-2] >= shape[-1] and np.shape(taus)[:-1] == shape[:-2]
    fits = fits and len(np.shape(taus)) == len(shape) - 1 and np.shape(taus)[-1] <= shape[-1]
    check(name, fits, "arrays of shapes (..., m, n) and (..., k) with k <= n <= m", a, taus)


@public
def householder_product(a: Any, taus: Any) -> Any:
    """Return the product of reflections, a matrix with orthonormal columns.

    Parameters
    ----------
    a
        The vectors of the reflections: the parts below the diagonal of an array of shape ``(..., m, n)``.
    taus
        Their factors, an array of shape ``(..., k)`` with k <= n <= m.

    Returns
    -------
    array
        The first n columns of the product of the k reflections, of the shape of `a`.

    Examples
    --------
    >>> linalg.householder_product(np.array([[0.0], [0.0]]), np.array([2.0]))
    array([[-1.],
           [ 0.]])
    """
    x, factors = arrays_of("householder_product", a=a, taus=taus)
    _check_reflections("householder_product", x, factors)
    v, t = _reflections(x, factors)
    one = _ones_on_diagonal(x)
    return one - matmul(v, matmul(t, matmul(adjoint(v), one)))


@public
def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Multiply by the product Q of reflections, which is not formed.

    Parameters
    ----------
    a, taus
        The reflections, as `householder_product` takes them.
    c
        What to multiply: an array of shape ``(..., m, k)``, or ``(..., k, m)`` from the right.
    left
        Whether to return ``Q c`` or ``c Q``.
    transpose
        Whether to multiply by the conjugate transpose of Q.

    Returns
    -------
    array
        Of the shape of `c`.

    Examples
    --------
    >>> linalg.ormqr(np.array([[0.0], [0.0]]), np.array([2.0]), np.eye(2))
    array([[-1.,  0.],
           [ 0.,  1.]])
    """
    x, factors, y = arrays_of("ormqr", a=a, taus=taus, c=c)
    _check_reflections("ormqr", x, factors)
    length = np.shape(y)[-2 if left else -1] if np.ndim(y) == np.ndim(x) else None
    fits = length == np.shape(x)[-2] and np.shape(y)[:-2] == np.shape(x)[:-2]
    check("ormqr", fits, "c of as many rows (columns, if not left) as a has rows", x, y)
    v, t = _reflections(x, factors)
    middle = adjoint(t) if transpose else t
    if left:
        return y - matmul(v, matmul(middle, matmul(adjoint(v), y)))
    return y - matmul(matmul(matmul(y, v), middle), adjoint(v))
