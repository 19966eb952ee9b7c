# As NumPy 2.4 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from typing import Literal as _Literal, overload as _overload
from numpy.linalg._linalg import EigResult, EighResult, QRResult, SVDResult, SlogdetResult

from numpy.linalg import LinAlgError as LinAlgError
def cholesky(a: _ArrayLike, /, *, upper: _bool = ...) -> _Array: r"""Cholesky decomposition."""
def eig(a: _ArrayLike) -> EigResult: r"""Compute the eigenvalues and right eigenvectors of a square array."""
def eigh(a: _ArrayLike, UPLO: str = ...) -> EighResult: r"""Return the eigenvalues and eigenvectors of a complex Hermitian (conjugate symmetric) or a real symmetric matrix."""
def eigvals(a: _ArrayLike) -> _Array: r"""Compute the eigenvalues of a general matrix."""
def eigvalsh(a: _ArrayLike, UPLO: str = ...) -> _Array: r"""Compute the eigenvalues of a complex Hermitian or real symmetric matrix."""
@_overload
def qr(a: _ArrayLike, mode: _Literal['reduced','complete'] = ...) -> QRResult: r"""Compute the qr factorization of a matrix."""
@_overload
def qr(a: _ArrayLike, mode: _Literal['r']) -> _Array: ...
@_overload
def qr(a: _ArrayLike, mode: str = ...) -> _Any: ...
@_overload
def svd(a: _ArrayLike, full_matrices: _bool = ..., compute_uv: _Literal[True] = ..., hermitian: _bool = ...) -> SVDResult: r"""Singular Value Decomposition."""
@_overload
def svd(a: _ArrayLike, full_matrices: _bool = ..., *, compute_uv: _Literal[False], hermitian: _bool = ...) -> _Array: ...
@_overload
def svd(a: _ArrayLike, full_matrices: _bool = ..., compute_uv: _bool = ..., hermitian: _bool = ...) -> _Any: ...
def svdvals(x: _ArrayLike, /) -> _Array: r"""Returns the singular values of a matrix (or a stack of matrices) ``x``. When x is a stack of matrices, the function will compute the singular values for each matrix in the stack."""
def cond(x: _ArrayLike, p: _ArrayLike | None = ...) -> _Array: r"""Compute the condition number of a matrix."""
def det(a: _ArrayLike) -> _Array: r"""Compute the determinant of an array."""
def matrix_norm(x: _ArrayLike, /, *, keepdims: _bool | None = ..., ord: str = ...) -> _Array: r"""Computes the matrix norm of a matrix (or a stack of matrices) ``x``."""
def matrix_rank(A: _ArrayLike, tol: _ArrayLike | None = ..., hermitian: _bool = ..., *, rtol: _ArrayLike | None = ...) -> _Array: r"""Return matrix rank of array using SVD method"""
def norm(x: _ArrayLike, ord: _ArrayLike | None = ..., axis: int | _Sequence[int] | None = ..., keepdims: _bool | None = ...) -> _Array: r"""Matrix or vector norm."""
def slogdet(a: _ArrayLike) -> SlogdetResult: r"""Compute the sign and (natural) logarithm of the determinant of an array."""
def vector_norm(x: _ArrayLike, /, *, axis: int | _Sequence[int] | None = ..., keepdims: _bool | None = ..., ord: _ArrayLike = ...) -> _Array: r"""Computes the vector norm of a vector (or batch of vectors) ``x``."""
def cross(x1: _ArrayLike, x2: _ArrayLike, /, *, axis: int | _Sequence[int] = ...) -> _Array: r"""Returns the cross product of 3-element vectors."""
def diagonal(x: _ArrayLike, /, *, offset: int = ...) -> _Array: r"""Returns specified diagonals of a matrix (or a stack of matrices) ``x``."""
def matmul(x1: _ArrayLike, x2: _ArrayLike, /) -> _Array: r"""Computes the matrix product."""
def matrix_power(a: _ArrayLike, n: int) -> _Array: r"""Raise a square matrix to the (integer) power `n`."""
def matrix_transpose(x: _ArrayLike, /) -> _Array: r"""Transposes a matrix (or a stack of matrices) ``x``."""
def multi_dot(arrays: _Sequence[_ArrayLike], *, out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the dot product of two or more arrays in a single function call, while automatically selecting the fastest evaluation order."""
def outer(x1: _ArrayLike, x2: _ArrayLike, /) -> _Array: r"""Compute the outer product of two vectors."""
def tensordot(x1: _ArrayLike, x2: _ArrayLike, /, *, axes: int | _Sequence[int | _Sequence[int]] = ...) -> _Array: r"""Compute tensor dot product along specified axes."""
def trace(x: _ArrayLike, /, *, offset: int = ..., dtype: _DTypeLike | None = ...) -> _Array: r"""Returns the sum along the specified diagonals of a matrix (or a stack of matrices) ``x``."""
def vecdot(x1: _ArrayLike, x2: _ArrayLike, /, *, axis: int | _Sequence[int] = ...) -> _Array: r"""Computes the vector dot product."""
def inv(a: _ArrayLike) -> _Array: r"""Compute the inverse of a matrix."""
def lstsq(a: _ArrayLike, b: _ArrayLike, rcond: _ArrayLike | None = ...) -> tuple[_Array, _Array, _Array, _Array]: r"""Return the least-squares solution to a linear matrix equation."""
def pinv(a: _ArrayLike, rcond: _ArrayLike | None = ..., hermitian: _bool = ..., *, rtol: _ArrayLike | None = ...) -> _Array: r"""Compute the (Moore-Penrose) pseudo-inverse of a matrix."""
def solve(a: _ArrayLike, b: _ArrayLike) -> _Array: r"""Solve a linear matrix equation, or system of linear scalar equations."""
def tensorinv(a: _ArrayLike, ind: int = ...) -> _Array: r"""Compute the 'inverse' of an N-dimensional array."""
def tensorsolve(a: _ArrayLike, b: _ArrayLike, axes: int | _Sequence[int] | None = ...) -> _Array: r"""Solve the tensor equation ``a x = b`` for x."""
