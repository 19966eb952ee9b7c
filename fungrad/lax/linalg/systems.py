"""Triangular and tridiagonal systems, and products that are symmetric."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.lax.checks import no_such_option
from fungrad.lax.glossary import public
from fungrad.lax.linalg.operands import arrays_of, check
from fungrad.primitives.linalg import TriangularSolve
from fungrad.primitives.stacks import Triangle, conjugated, matmul, transposed
from fungrad.primitives.tridiagonal import TridiagonalSolve


@public
def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """Return ``alpha A A^T + beta C``.

    Parameters
    ----------
    a_matrix
        A, an array of shape ``(..., n, k)``.
    c_matrix
        C, symmetric matrices of shape ``(..., n, n)``.
    alpha, beta
        Numbers.
    symmetrize_output
        Whether to put the lower triangle of the result in place of the upper one too.

    Returns
    -------
    array
        Of shape ``(..., n, n)``.

    Examples
    --------
    >>> linalg.symmetric_product(np.array([[1.0], [2.0]]), np.eye(2), beta=1.0)
    array([[2., 2.],
           [2., 5.]])
    """
    name = "symmetric_product"
    a, c = arrays_of(name, a_matrix=a_matrix, c_matrix=c_matrix)
    shape = np.shape(a)
    fits = len(shape) >= 2 and np.shape(c) == (*shape[:-1], shape[-2])
    check(name, fits, "arrays of shapes (..., n, k) and (..., n, n)", a, c)
    result = matmul(a, transposed(a)) * alpha + c * beta
    if not symmetrize_output:
        return result
    return Triangle(True)(result) + transposed(Triangle(True, -1)(result))


@public
def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Solve ``x a = b``, or ``a x = b``, for triangular matrices.

    Parameters
    ----------
    a
        An array of shape ``(..., n, n)``, of which one triangle is read.
    b
        An array of shape ``(..., m, n)``, or with `left_side` ``(..., n, m)``; or of vectors, ``(..., n)``.
    left_side
        Whether `a` is on the left.
    lower
        Which triangle.
    transpose_a, conjugate_a
        Whether to take the transpose, or the complex conjugate, of `a`.
    unit_diagonal
        Whether the diagonal of `a` counts as ones.

    Returns
    -------
    array
        Of the shape of `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is a 0 on a diagonal.

    Examples
    --------
    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
    >>> linalg.triangular_solve(a, np.array([[2.0], [9.0]]), left_side=True, lower=True)
    array([[1.],
           [2.]])
    """
    name = "triangular_solve"
    x, y = arrays_of(name, a=a, b=b)
    shape, given = np.shape(x), np.shape(y)
    fits = len(shape) >= 2 and shape[-1] == shape[-2]
    vectors = fits and given == shape[:-1] and len(given) == len(shape) - 1
    along = -2 if left_side else -1
    fits = fits and (
        vectors
        or (len(given) == len(shape) and given[:-2] == shape[:-2] and given[along] == shape[-1])
    )
    check(name, fits, "arrays of shapes (..., n, n) and (..., m, n) (n, m if left_side)", x, y)
    if conjugate_a:
        x = conjugated(x)
    # From the right, x a = b, it is the transposed system; a vector is a column of either.
    turned = transpose_a != (not left_side)
    if vectors:
        columns_of_b = fnp.expand_dims(y, -1)
    else:
        columns_of_b = y if left_side else transposed(y)
    solve = TriangularSolve(bool(lower) != turned, bool(unit_diagonal))
    solution = solve(transposed(x) if turned else x, columns_of_b)
    if vectors:
        return fnp.squeeze(solution, -1)
    return solution if left_side else transposed(solution)


@public
def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """Solve systems with tridiagonal matrices, whose row i is ``dl[i], d[i], du[i]``.

    Parameters
    ----------
    dl, d, du
        The lower, main and upper diagonals, of shape ``(..., n)``. ``dl[0]`` and ``du[-1]`` do not count.
    b
        The right sides, of shape ``(..., n, k)``.
    perturb_singular
        Must be False.

    Returns
    -------
    array
        Of the shape of `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular.

    Examples
    --------
    >>> one = np.ones(3)
    >>> linalg.tridiagonal_solve(0 * one, 2 * one, 0 * one, np.array([[2.0], [4.0], [6.0]])).ravel()
    array([1., 2., 3.])
    """
    name = "tridiagonal_solve"
    no_such_option("linalg.tridiagonal_solve", perturb_singular=perturb_singular or None)
    low, middle, up, right = arrays_of(name, dl=dl, d=d, du=du, b=b)
    fits = np.ndim(right) >= 2 and all(
        np.shape(x) == np.shape(right)[:-1] for x in (low, middle, up)
    )
    check(name, fits, "diagonals of shape (..., n) and b (..., n, k)", low, middle, up, right)
    return TridiagonalSolve()(low, middle, up, right)
