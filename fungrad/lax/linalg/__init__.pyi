# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from typing import Literal as _Literal, overload as _overload

def cholesky(x: _ArrayLike, *, symmetrize_input: _bool = ...) -> _Array: r"""Return the lower triangular L with ``L L^H = x``, of positive definite matrices."""
def cholesky_update(r_matrix: _ArrayLike, w_vector: _ArrayLike) -> _Array: r"""Return the Cholesky factor of ``R^H R + w w^H``, upper triangular like R."""
def eig(x: _ArrayLike, *, compute_left_eigenvectors: _bool = ..., compute_right_eigenvectors: _bool = ..., enable_eigvec_derivs: _bool = ..., implementation: None = ..., use_magma: None = ...) -> list[_Array]: r"""Return eigenvalues and eigenvectors of square matrices, complex ones."""
def eigh(x: _ArrayLike, *, lower: _bool = ..., symmetrize_input: _bool = ..., sort_eigenvalues: _bool = ..., subset_by_index: None = ..., implementation: None = ...) -> tuple[_Array, _Array]: r"""Return eigenvectors and eigenvalues, in this order, of Hermitian matrices."""
def lu(x: _ArrayLike) -> tuple[_Array, _Array, _Array]: r"""Return the LU decomposition of matrices with rows interchanged."""
def lu_pivots_to_permutation(pivots: _ArrayLike, permutation_size: int) -> _Array: r"""Return the order that interchanging item i with item ``pivots[i]``, for each i in turn, makes."""
@_overload
def qr(x: _ArrayLike, *, pivoting: _Literal[False] = ..., full_matrices: _bool = ..., use_magma: None = ...) -> tuple[_Array, _Array]: r"""Return the QR decomposition of matrices."""
@_overload
def qr(x: _ArrayLike, *, pivoting: _Literal[True], full_matrices: _bool = ..., use_magma: None = ...) -> tuple[_Array, _Array, _Array]: ...
@_overload
def qr(x: _ArrayLike, *, pivoting: _bool = ..., full_matrices: _bool = ..., use_magma: None = ...) -> _Any: ...
def schur(x: _ArrayLike, *, compute_schur_vectors: _bool = ..., sort_eig_vals: _bool = ..., select_callable: _Callable[..., _Any] | None = ...) -> list[_Array]: r"""Return the Schur form of square matrices: of real ones the real form. It has no derivative."""
@_overload
def svd(x: _ArrayLike, *, full_matrices: _bool = ..., compute_uv: _Literal[True] = ..., subset_by_index: None = ..., algorithm: object = ...) -> tuple[_Array, _Array, _Array]: r"""Return the singular value decomposition ``U diag(s) V^H`` of matrices."""
@_overload
def svd(x: _ArrayLike, *, full_matrices: _bool = ..., compute_uv: _Literal[False], subset_by_index: None = ..., algorithm: object = ...) -> _Array: ...
@_overload
def svd(x: _ArrayLike, *, full_matrices: _bool = ..., compute_uv: _bool = ..., subset_by_index: None = ..., algorithm: object = ...) -> _Any: ...
def hessenberg(a: _ArrayLike) -> tuple[_Array, _Array]: r"""Return the Hessenberg form of square matrices and the reflections that lead to it. No derivative."""
def householder_product(a: _ArrayLike, taus: _ArrayLike) -> _Array: r"""Return the product of reflections, a matrix with orthonormal columns."""
def ormqr(a: _ArrayLike, taus: _ArrayLike, c: _ArrayLike, *, left: _bool = ..., transpose: _bool = ...) -> _Array: r"""Multiply by the product Q of reflections, which is not formed."""
def tridiagonal(a: _ArrayLike, *, lower: _bool = ...) -> tuple[_Array, _Array, _Array, _Array]: r"""Return the tridiagonal form of Hermitian matrices, and its reflections. No derivative."""
def symmetric_product(a_matrix: _ArrayLike, c_matrix: _ArrayLike, *, alpha: float = ..., beta: float = ..., symmetrize_output: _bool = ...) -> _Array: r"""Return ``alpha A A^T + beta C``."""
def triangular_solve(a: _ArrayLike, b: _ArrayLike, *, left_side: _bool = ..., lower: _bool = ..., transpose_a: _bool = ..., conjugate_a: _bool = ..., unit_diagonal: _bool = ...) -> _Array: r"""Solve ``x a = b``, or ``a x = b``, for triangular matrices."""
def tridiagonal_solve(dl: _ArrayLike, d: _ArrayLike, du: _ArrayLike, b: _ArrayLike, *, perturb_singular: _bool = ...) -> _Array: r"""Solve systems with tridiagonal matrices, whose row i is ``dl[i], d[i], du[i]``."""
