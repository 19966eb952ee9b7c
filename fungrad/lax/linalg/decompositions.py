"""Cholesky, LU, QR, Schur, eigenvalue and singular value decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import type_of
from fungrad.lax.checks import array_of, no_such_option
from fungrad.lax.glossary import public, public_like
from fungrad.lax.linalg.operands import arrays_of, check, matrices_of
from fungrad.primitives.decompositions import Eig
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.elimination import ColumnPivots, Lu, Permutation
from fungrad.primitives.linalg import Inv
from fungrad.primitives.matrix_functions import Schur
from fungrad.primitives.stacks import Triangle, adjoint, conjugated, diagonal


def _symmetrized(x: Any) -> Any:
    return (x + adjoint(x)) * 0.5


def _of_subset(name: str, subset: Any) -> None:
    if subset is not None:
        raise NotImplementedError(
            f"lax.linalg.{name}: subset_by_index is not supported; LAPACK would compute all of them too, so take "
            "a slice of the results"
        )


@public
def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """Return the lower triangular L with ``L L^H = x``, of positive definite matrices.

    Parameters
    ----------
    x
        An array of shape ``(..., n, n)``.
    symmetrize_input
        Whether to take the Hermitian part of `x` first; otherwise the lower triangle is read.

    Returns
    -------
    array
        Of the same shape.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not positive definite.

    Examples
    --------
    >>> linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[2., 0.],
           [1., 1.]])
    """
    a = matrices_of("cholesky", x, square=True)
    return fnp.linalg.cholesky(_symmetrized(a) if symmetrize_input else a)


@public
def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """Return the Cholesky factor of ``R^H R + w w^H``, upper triangular like R.

    It is that of the QR decomposition of R with one row more, w^H, so nothing is squared.

    Parameters
    ----------
    r_matrix
        Upper triangular matrices R of shape ``(..., n, n)``.
    w_vector
        Vectors of shape ``(..., n)``.

    Returns
    -------
    array
        Of the shape of R, with a positive diagonal.

    Examples
    --------
    >>> linalg.cholesky_update(np.array([[3.0]]), np.array([4.0]))
    array([[5.]])
    """
    name = "cholesky_update"
    r, w = arrays_of(name, r_matrix=r_matrix, w_vector=w_vector)
    shape = np.shape(r)
    fits = len(shape) >= 2 and shape[-1] == shape[-2] and np.shape(w) == shape[:-1]
    check(name, fits, "arrays of shapes (..., n, n) and (..., n)", r, w)
    row = fnp.expand_dims(conjugated(w), -2)
    factor = fnp.linalg.qr(fnp.concatenate([Triangle(False)(r), row], axis=-2), mode="r")
    one = np.ones((), type_of(r).dtype)[()]
    sign = fnp.where(fnp.real(diagonal(factor)) < 0, -one, one)
    return factor * fnp.expand_dims(sign, -1)


@public
def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = True,
    implementation: Any = None,
    use_magma: Any = None,
) -> list[Any]:
    """Return eigenvalues and eigenvectors of square matrices, complex ones.

    Parameters
    ----------
    x
        An array of shape ``(..., n, n)``.
    compute_left_eigenvectors, compute_right_eigenvectors
        Which vectors to return.
    enable_eigvec_derivs
        Makes no difference: vectors have derivatives, with norms of 1 and their largest elements real.
    implementation, use_magma
        Must be None.

    Returns
    -------
    list of arrays
        The eigenvalues, of shape ``(..., n)``; left and right vectors as columns of arrays of the shape of `x`.

    Examples
    --------
    >>> linalg.eig(np.diag([1.0, 2.0]))[0]
    array([1.+0.j, 2.+0.j])
    """
    no_such_option("linalg.eig", implementation=implementation, use_magma=use_magma)
    w, v = Eig()(matrices_of("eig", x, square=True))
    results = [w]
    if compute_left_eigenvectors:
        dual = adjoint(Inv()(v))
        results.append(dual / fnp.linalg.norm(dual, axis=-2, keepdims=True))
    if compute_right_eigenvectors:
        results.append(v)
    return results


@public_like(eig)
def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: Any = None,
    implementation: Any = None,
) -> tuple[Any, Any]:
    """Return eigenvectors and eigenvalues, in this order, of Hermitian matrices.

    Parameters
    ----------
    lower
        Which triangle is read, if the input is not symmetrized.
    symmetrize_input
        Whether to take the Hermitian part of `x` first.
    sort_eigenvalues
        Makes no difference: they are ascending.
    subset_by_index, implementation
        Must be None.

    Returns
    -------
    tuple of arrays
        Vectors as columns, of the shape of `x`, and the eigenvalues, of shape ``(..., n)``.

    Examples
    --------
    >>> linalg.eigh(np.diag([2.0, 1.0]))[1]
    array([1., 2.])
    """
    no_such_option("linalg.eigh", implementation=implementation)
    _of_subset("eigh", subset_by_index)
    a = matrices_of("eigh", x, square=True)
    w, v = fnp.linalg.eigh(_symmetrized(a) if symmetrize_input else a, "L" if lower else "U")
    return v, w


@public
def lu(x: Any) -> tuple[Any, Any, Any]:
    """Return the LU decomposition of matrices with rows interchanged.

    Parameters
    ----------
    x
        An array of shape ``(..., m, n)``.

    Returns
    -------
    tuple of arrays
        Both triangles in one array of the shape of `x`; the pivots, int32 of shape ``(..., min(m, n))``: row i was
        interchanged with row ``pivots[i]``; and the order of rows that makes, int32 of shape ``(..., m)``.

    Examples
    --------
    >>> linalg.lu(np.array([[1.0, 2.0], [2.0, 2.0]]))
    (array([[2. , 2. ],
           [0.5, 1. ]]), array([1, 1], dtype=int32), array([1, 0], dtype=int32))
    """
    a = matrices_of("lu", x)
    triangles, pivots = Lu()(a)
    return triangles, pivots, lu_pivots_to_permutation(pivots, np.shape(a)[-2])


@public
def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """Return the order that interchanging item i with item ``pivots[i]``, for each i in turn, makes.

    Parameters
    ----------
    pivots
        Integers, an array of shape ``(..., k)``.
    permutation_size
        The number of items, at least k.

    Returns
    -------
    array
        Of int32 and shape ``(..., permutation_size)``.

    Examples
    --------
    >>> linalg.lu_pivots_to_permutation(np.array([1, 1]), 3)
    array([1, 0, 2], dtype=int32)
    """
    name = "lu_pivots_to_permutation"
    interchanges = array_of(name, "pivots", pivots)
    type_ = type_of(interchanges)
    if type_.dtype.kind not in "iu" or not type_.shape or type_.shape[-1] > permutation_size:
        raise TypeError(
            f"lax.linalg.{name} takes integers of shape (..., k) with k <= {permutation_size}, got {type_}"
        )
    return Cast(np.dtype(np.int32))(Permutation(permutation_size)(interchanges))


@public_like(lu)
def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: Any = None
) -> tuple[Any, ...]:
    """Return the QR decomposition of matrices.

    Parameters
    ----------
    pivoting
        Whether to take the columns in the order of what is left of them.
    full_matrices
        Whether Q is square, or has as many columns as R has rows at least.

    Returns
    -------
    tuple of arrays
        Q and R, and with `pivoting` the order of columns, int32 of shape ``(..., n)``.

    Examples
    --------
    >>> q, r = linalg.qr(np.ones((3, 2)), full_matrices=False)
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    no_such_option("linalg.qr", use_magma=use_magma)
    a = matrices_of("qr", x)
    mode = "complete" if full_matrices else "reduced"
    if not pivoting:
        return tuple(fnp.linalg.qr(a, mode))
    order = ColumnPivots()(a)
    index = fnp.expand_dims(Cast(np.dtype(np.int64))(order), -2)
    moved = fnp.take_along_axis(a, index, -1)
    return (*fnp.linalg.qr(moved, mode), order)


@public_like(eig)
def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Any]:
    """Return the Schur form of square matrices: of real ones the real form. It has no derivative.

    Parameters
    ----------
    compute_schur_vectors
        Whether to return the unitary matrix as well.
    sort_eig_vals, select_callable
        Must be False and None: eigenvalues are not sorted.

    Returns
    -------
    list of arrays
        The triangular form T and the unitary Z of ``x = Z T Z^H``.

    Examples
    --------
    >>> linalg.schur(np.array([[1.0, 2.0], [0.0, 3.0]]))[0]
    array([[1., 2.],
           [0., 3.]])
    """
    no_such_option(
        "linalg.schur", sort_eig_vals=sort_eig_vals or None, select_callable=select_callable
    )
    a = matrices_of("schur", x, square=True)
    results = list(Schur(type_of(a).dtype.kind == "f")(a))
    return results if compute_schur_vectors else results[:1]


@public_like(qr)
def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> Any:
    """Return the singular value decomposition ``U diag(s) V^H`` of matrices.

    Parameters
    ----------
    full_matrices
        Whether U and V are square.
    compute_uv
        Whether to return them; otherwise the values alone are returned.
    subset_by_index, algorithm
        Must be None.

    Returns
    -------
    tuple of arrays, or array
        U, the singular values, descending, and V^H.

    Examples
    --------
    >>> linalg.svd(np.diag([1.0, 2.0]), compute_uv=False)
    array([2., 1.])
    """
    no_such_option("linalg.svd", algorithm=algorithm)
    _of_subset("svd", subset_by_index)
    a = matrices_of("svd", x)
    result = fnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(result) if compute_uv else result
