# As SciPy 1.17 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from typing import Literal as _Literal, overload as _overload

from scipy.linalg import LinAlgError as LinAlgError, LinAlgWarning as LinAlgWarning
def block_diag(*arrs: _ArrayLike) -> _Array: r"""Create a block diagonal array from provided arrays."""
def cho_factor(a: _ArrayLike, lower: _bool = ..., overwrite_a: _bool = ..., check_finite: _bool = ...) -> tuple[_Array, _bool]: r"""Compute the Cholesky decomposition of a matrix, to use in cho_solve"""
def cho_solve(c_and_lower: tuple[_ArrayLike, _bool], b: _ArrayLike, overwrite_b: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Solve the linear equations A x = b, given the Cholesky factorization of A."""
def cho_solve_banded(cb_and_lower: tuple[_ArrayLike, _bool], b: _ArrayLike, overwrite_b: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Solve the linear equations ``A x = b``, given the Cholesky factorization of the banded Hermitian ``A``."""
def cholesky(a: _ArrayLike, lower: _bool = ..., overwrite_a: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Compute the Cholesky decomposition of a matrix."""
def cholesky_banded(ab: _ArrayLike, overwrite_ab: _bool = ..., lower: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Cholesky decompose a banded Hermitian positive-definite matrix"""
def circulant(c: _ArrayLike) -> _Array: r"""Construct a circulant matrix."""
def companion(a: _ArrayLike) -> _Array: r"""Create a companion matrix."""
def convolution_matrix(a: _ArrayLike, n: int, mode: str = ...) -> _Array: r"""Construct a convolution matrix."""
def coshm(A: _ArrayLike) -> _Array: r"""Compute the hyperbolic matrix cosine."""
def cosm(A: _ArrayLike) -> _Array: r"""Compute the matrix cosine."""
def det(a: _ArrayLike, overwrite_a: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Compute the determinant of a matrix"""
def dft(n: int, scale: _ArrayLike | None = ...) -> _Array: r"""Discrete Fourier transform matrix."""
def diagsvd(s: _ArrayLike, M: int, N: int) -> _Array: r"""Construct the sigma matrix in SVD from singular values and size M, N."""
@_overload
def eig(a: _ArrayLike, b: _ArrayLike | None = ..., left: _Literal[False] = ..., right: _Literal[True] = ..., overwrite_a: _bool = ..., overwrite_b: _bool = ..., check_finite: _bool = ..., homogeneous_eigvals: _bool = ...) -> tuple[_Array, _Array]: r"""Solve an ordinary or generalized eigenvalue problem of a square matrix."""
@_overload
def eig(a: _ArrayLike, b: _ArrayLike | None = ..., *, left: _Literal[True], right: _bool = ..., overwrite_a: _bool = ..., overwrite_b: _bool = ..., check_finite: _bool = ..., homogeneous_eigvals: _bool = ...) -> tuple[_Array, ...]: ...
@_overload
def eig(a: _ArrayLike, b: _ArrayLike | None = ..., left: _bool = ..., *, right: _Literal[False], overwrite_a: _bool = ..., overwrite_b: _bool = ..., check_finite: _bool = ..., homogeneous_eigvals: _bool = ...) -> _Any: ...
@_overload
def eig(a: _ArrayLike, b: _ArrayLike | None = ..., left: _bool = ..., right: _bool = ..., overwrite_a: _bool = ..., overwrite_b: _bool = ..., check_finite: _bool = ..., homogeneous_eigvals: _bool = ...) -> _Any: ...
@_overload
def eig_banded(a_band: _ArrayLike, lower: _bool = ..., eigvals_only: _Literal[False] = ..., overwrite_a_band: _bool = ..., select: str = ..., select_range: _ArrayLike | None = ..., max_ev: int = ..., check_finite: _bool = ...) -> tuple[_Array, _Array]: r"""Solve real symmetric or complex Hermitian band matrix eigenvalue problem."""
@_overload
def eig_banded(a_band: _ArrayLike, lower: _bool = ..., *, eigvals_only: _Literal[True], overwrite_a_band: _bool = ..., select: str = ..., select_range: _ArrayLike | None = ..., max_ev: int = ..., check_finite: _bool = ...) -> _Array: ...
@_overload
def eig_banded(a_band: _ArrayLike, lower: _bool = ..., eigvals_only: _bool = ..., overwrite_a_band: _bool = ..., select: str = ..., select_range: _ArrayLike | None = ..., max_ev: int = ..., check_finite: _bool = ...) -> _Any: ...
@_overload
def eigh(a: _ArrayLike, b: _ArrayLike | None = ..., *, lower: _bool = ..., eigvals_only: _Literal[False] = ..., overwrite_a: _bool = ..., overwrite_b: _bool = ..., type: int = ..., check_finite: _bool = ..., subset_by_index: _ArrayLike | None = ..., subset_by_value: _ArrayLike | None = ..., driver: str | None = ...) -> tuple[_Array, _Array]: r"""Solve a standard or generalized eigenvalue problem for a complex Hermitian or real symmetric matrix."""
@_overload
def eigh(a: _ArrayLike, b: _ArrayLike | None = ..., *, lower: _bool = ..., eigvals_only: _Literal[True], overwrite_a: _bool = ..., overwrite_b: _bool = ..., type: int = ..., check_finite: _bool = ..., subset_by_index: _ArrayLike | None = ..., subset_by_value: _ArrayLike | None = ..., driver: str | None = ...) -> _Array: ...
@_overload
def eigh(a: _ArrayLike, b: _ArrayLike | None = ..., *, lower: _bool = ..., eigvals_only: _bool = ..., overwrite_a: _bool = ..., overwrite_b: _bool = ..., type: int = ..., check_finite: _bool = ..., subset_by_index: _ArrayLike | None = ..., subset_by_value: _ArrayLike | None = ..., driver: str | None = ...) -> _Any: ...
@_overload
def eigh_tridiagonal(d: _ArrayLike, e: _ArrayLike, eigvals_only: _Literal[False] = ..., select: str = ..., select_range: _ArrayLike | None = ..., check_finite: _bool = ..., tol: _ArrayLike = ..., lapack_driver: str = ...) -> tuple[_Array, _Array]: r"""Solve eigenvalue problem for a real symmetric tridiagonal matrix."""
@_overload
def eigh_tridiagonal(d: _ArrayLike, e: _ArrayLike, eigvals_only: _Literal[True], select: str = ..., select_range: _ArrayLike | None = ..., check_finite: _bool = ..., tol: _ArrayLike = ..., lapack_driver: str = ...) -> _Array: ...
@_overload
def eigh_tridiagonal(d: _ArrayLike, e: _ArrayLike, eigvals_only: _bool = ..., select: str = ..., select_range: _ArrayLike | None = ..., check_finite: _bool = ..., tol: _ArrayLike = ..., lapack_driver: str = ...) -> _Any: ...
def eigvals(a: _ArrayLike, b: _ArrayLike | None = ..., overwrite_a: _bool = ..., check_finite: _bool = ..., homogeneous_eigvals: _bool = ...) -> _Array: r"""Compute eigenvalues from an ordinary or generalized eigenvalue problem."""
def eigvals_banded(a_band: _ArrayLike, lower: _bool = ..., overwrite_a_band: _bool = ..., select: str = ..., select_range: _ArrayLike | None = ..., check_finite: _bool = ...) -> _Array: r"""Solve real symmetric or complex Hermitian band matrix eigenvalue problem."""
def eigvalsh(a: _ArrayLike, b: _ArrayLike | None = ..., *, lower: _bool = ..., overwrite_a: _bool = ..., overwrite_b: _bool = ..., type: int = ..., check_finite: _bool = ..., subset_by_index: _ArrayLike | None = ..., subset_by_value: _ArrayLike | None = ..., driver: str | None = ...) -> _Array: r"""Solves a standard or generalized eigenvalue problem for a complex Hermitian or real symmetric matrix."""
def eigvalsh_tridiagonal(d: _ArrayLike, e: _ArrayLike, select: str = ..., select_range: _ArrayLike | None = ..., check_finite: _bool = ..., tol: _ArrayLike = ..., lapack_driver: str = ...) -> _Array: r"""Solve eigenvalue problem for a real symmetric tridiagonal matrix."""
def expm(A: _ArrayLike) -> _Array: r"""Compute the matrix exponential of an array."""
@_overload
def expm_frechet(A: _ArrayLike, E: _ArrayLike, method: str | None = ..., compute_expm: _Literal[True] = ..., check_finite: _bool = ...) -> tuple[_Array, _Array]: r"""Frechet derivative of the matrix exponential of A in the direction E."""
@_overload
def expm_frechet(A: _ArrayLike, E: _ArrayLike, method: str | None = ..., *, compute_expm: _Literal[False], check_finite: _bool = ...) -> _Array: ...
@_overload
def expm_frechet(A: _ArrayLike, E: _ArrayLike, method: str | None = ..., compute_expm: _bool = ..., check_finite: _bool = ...) -> _Any: ...
def fiedler(a: _ArrayLike) -> _Array: r"""Returns a symmetric Fiedler matrix"""
def fractional_matrix_power(A: _ArrayLike, t: _ArrayLike) -> _Array: r"""Compute the fractional power of a matrix."""
@_overload
def funm(A: _ArrayLike, func: _Callable[[_Any], _Any], disp: _Literal[True] = ...) -> _Array: r"""Evaluate a matrix function specified by a callable."""
@_overload
def funm(A: _ArrayLike, func: _Callable[[_Any], _Any], disp: _Literal[False]) -> tuple[_Array, _Any]: ...
@_overload
def funm(A: _ArrayLike, func: _Callable[[_Any], _Any], disp: _bool = ...) -> _Any: ...
def hadamard(n: int, dtype: _DTypeLike = ...) -> _Array: r"""Construct an Hadamard matrix."""
def hankel(c: _ArrayLike, r: _ArrayLike | None = ...) -> _Array: r"""Construct a Hankel matrix."""
def helmert(n: int, full: _bool = ...) -> _Array: r"""Create an Helmert matrix of order `n`."""
@_overload
def hessenberg(a: _ArrayLike, calc_q: _Literal[False] = ..., overwrite_a: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Compute Hessenberg form of a matrix."""
@_overload
def hessenberg(a: _ArrayLike, calc_q: _Literal[True], overwrite_a: _bool = ..., check_finite: _bool = ...) -> tuple[_Array, _Array]: ...
@_overload
def hessenberg(a: _ArrayLike, calc_q: _bool = ..., overwrite_a: _bool = ..., check_finite: _bool = ...) -> _Any: ...
def hilbert(n: int) -> _Array: r"""Create a Hilbert matrix of order `n`."""
def inv(a: _ArrayLike, overwrite_a: _bool = ..., check_finite: _bool = ..., *, assume_a: str | None = ..., lower: _bool = ...) -> _Array: r"""Compute the inverse of a matrix."""
def invhilbert(n: int, exact: _bool = ...) -> _Array: r"""Compute the inverse of the Hilbert matrix of order `n`."""
def invpascal(n: int, kind: str = ..., exact: _bool = ...) -> _Array: r"""Returns the inverse of the n x n Pascal matrix."""
def khatri_rao(a: _ArrayLike, b: _ArrayLike) -> _Array: r"""Khatri-Rao product of two matrices."""
def leslie(f: _ArrayLike, s: _ArrayLike) -> _Array: r"""Create a Leslie matrix."""
@_overload
def logm(A: _ArrayLike, disp: _Literal[True] = ...) -> _Array: r"""Compute matrix logarithm."""
@_overload
def logm(A: _ArrayLike, disp: _Literal[False]) -> tuple[_Array, _Any]: ...
@_overload
def logm(A: _ArrayLike, disp: _bool = ...) -> _Any: ...
def lstsq(a: _ArrayLike, b: _ArrayLike, cond: _ArrayLike | None = ..., overwrite_a: _bool = ..., overwrite_b: _bool = ..., check_finite: _bool = ..., lapack_driver: str | None = ...) -> tuple[_Array, _Array, int | _Array, _Array]: r"""Compute least-squares solution to the equation ``a @ x = b``."""
@_overload
def lu(a: _ArrayLike, permute_l: _Literal[False] = ..., overwrite_a: _bool = ..., check_finite: _bool = ..., p_indices: _bool = ...) -> tuple[_Array, _Array, _Array]: r"""Compute LU decomposition of a matrix with partial pivoting."""
@_overload
def lu(a: _ArrayLike, permute_l: _Literal[True], overwrite_a: _bool = ..., check_finite: _bool = ..., p_indices: _bool = ...) -> tuple[_Array, _Array]: ...
@_overload
def lu(a: _ArrayLike, permute_l: _bool = ..., overwrite_a: _bool = ..., check_finite: _bool = ..., p_indices: _bool = ...) -> _Any: ...
def lu_factor(a: _ArrayLike, overwrite_a: _bool = ..., check_finite: _bool = ...) -> tuple[_Array, _Array]: r"""Compute pivoted LU decomposition of a matrix."""
def lu_solve(lu_and_piv: tuple[_ArrayLike, _ArrayLike], b: _ArrayLike, trans: int | str = ..., overwrite_b: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Solve an equation system, a x = b, given the LU factorization of a"""
def matmul_toeplitz(c_or_cr: _ArrayLike | tuple[_ArrayLike, _ArrayLike], x: _ArrayLike, check_finite: _bool = ..., workers: int | None = ...) -> _Array: r"""Efficient Toeplitz Matrix-Matrix Multiplication using FFT"""
def norm(a: _ArrayLike, ord: _ArrayLike | None = ..., axis: int | _Sequence[int] | None = ..., keepdims: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Matrix or vector norm."""
def null_space(A: _ArrayLike, rcond: _ArrayLike | None = ..., *, overwrite_a: _bool = ..., check_finite: _bool = ..., lapack_driver: str = ...) -> _Array: r"""Construct an orthonormal basis for the null space of A using SVD"""
def orth(A: _ArrayLike, rcond: _ArrayLike | None = ...) -> _Array: r"""Construct an orthonormal basis for the range of A using SVD"""
def orthogonal_procrustes(A: _ArrayLike, B: _ArrayLike, check_finite: _bool = ...) -> tuple[_Array, _Array]: r"""Compute the matrix solution of the orthogonal (or unitary) Procrustes problem."""
def pascal(n: int, kind: str = ..., exact: _bool = ...) -> _Array: r"""Returns the n x n Pascal matrix."""
@_overload
def pinv(a: _ArrayLike, *, atol: _ArrayLike | None = ..., rtol: _ArrayLike | None = ..., return_rank: _Literal[False] = ..., check_finite: _bool = ...) -> _Array: r"""Compute the (Moore-Penrose) pseudo-inverse of a matrix."""
@_overload
def pinv(a: _ArrayLike, *, atol: _ArrayLike | None = ..., rtol: _ArrayLike | None = ..., return_rank: _Literal[True], check_finite: _bool = ...) -> tuple[_Array, int | _Array]: ...
@_overload
def pinv(a: _ArrayLike, *, atol: _ArrayLike | None = ..., rtol: _ArrayLike | None = ..., return_rank: _bool = ..., check_finite: _bool = ...) -> _Any: ...
@_overload
def pinvh(a: _ArrayLike, atol: _ArrayLike | None = ..., rtol: _ArrayLike | None = ..., lower: _bool = ..., return_rank: _Literal[False] = ..., check_finite: _bool = ...) -> _Array: r"""Compute the (Moore-Penrose) pseudo-inverse of a Hermitian matrix."""
@_overload
def pinvh(a: _ArrayLike, atol: _ArrayLike | None = ..., rtol: _ArrayLike | None = ..., lower: _bool = ..., *, return_rank: _Literal[True], check_finite: _bool = ...) -> tuple[_Array, int | _Array]: ...
@_overload
def pinvh(a: _ArrayLike, atol: _ArrayLike | None = ..., rtol: _ArrayLike | None = ..., lower: _bool = ..., return_rank: _bool = ..., check_finite: _bool = ...) -> _Any: ...
def polar(a: _ArrayLike, side: str = ...) -> tuple[_Array, _Array]: r"""Compute the polar decomposition."""
@_overload
def qr(a: _ArrayLike, overwrite_a: _bool = ..., lwork: int | None = ..., mode: _Literal['full','economic'] = ..., pivoting: _Literal[False] = ..., check_finite: _bool = ...) -> tuple[_Array, _Array]: r"""Compute QR decomposition of a matrix."""
@_overload
def qr(a: _ArrayLike, overwrite_a: _bool = ..., lwork: int | None = ..., *, mode: _Literal['r'], pivoting: _bool = ..., check_finite: _bool = ...) -> tuple[_Array, ...]: ...
@_overload
def qr(a: _ArrayLike, overwrite_a: _bool = ..., lwork: int | None = ..., mode: str = ..., *, pivoting: _Literal[True], check_finite: _bool = ...) -> tuple[_Array, ...]: ...
@_overload
def qr(a: _ArrayLike, overwrite_a: _bool = ..., lwork: int | None = ..., mode: str = ..., pivoting: _bool = ..., check_finite: _bool = ...) -> _Any: ...
@_overload
def rq(a: _ArrayLike, overwrite_a: _bool = ..., lwork: int | None = ..., mode: _Literal['full','economic'] = ..., check_finite: _bool = ...) -> tuple[_Array, _Array]: r"""Compute RQ decomposition of a matrix."""
@_overload
def rq(a: _ArrayLike, overwrite_a: _bool = ..., lwork: int | None = ..., *, mode: _Literal['r'], check_finite: _bool = ...) -> _Array: ...
@_overload
def rq(a: _ArrayLike, overwrite_a: _bool = ..., lwork: int | None = ..., mode: str = ..., check_finite: _bool = ...) -> _Any: ...
@_overload
def schur(a: _ArrayLike, output: str = ..., lwork: int | None = ..., overwrite_a: _bool = ..., sort: _Literal[None] = ..., check_finite: _bool = ...) -> tuple[_Array, _Array]: r"""Compute Schur decomposition of a matrix."""
@_overload
def schur(a: _ArrayLike, output: str = ..., lwork: int | None = ..., overwrite_a: _bool = ..., *, sort: _Literal['lhp','rhp','iuc','ouc'], check_finite: _bool = ...) -> tuple[_Array, _Array, int]: ...
@_overload
def schur(a: _ArrayLike, output: str = ..., lwork: int | None = ..., overwrite_a: _bool = ..., sort: _Any = ..., check_finite: _bool = ...) -> _Any: ...
@_overload
def signm(A: _ArrayLike, disp: _Literal[True] = ...) -> _Array: r"""Matrix sign function."""
@_overload
def signm(A: _ArrayLike, disp: _Literal[False]) -> tuple[_Array, _Any]: ...
@_overload
def signm(A: _ArrayLike, disp: _bool = ...) -> _Any: ...
def sinhm(A: _ArrayLike) -> _Array: r"""Compute the hyperbolic matrix sine."""
def sinm(A: _ArrayLike) -> _Array: r"""Compute the matrix sine."""
def solve(a: _ArrayLike, b: _ArrayLike, lower: _bool = ..., overwrite_a: _bool = ..., overwrite_b: _bool = ..., check_finite: _bool = ..., assume_a: str | None = ..., transposed: _bool = ...) -> _Array: r"""Solve the equation ``a @ x = b`` for ``x``, where `a` is a square matrix."""
def solve_banded(l_and_u: tuple[int, int], ab: _ArrayLike, b: _ArrayLike, overwrite_ab: _bool = ..., overwrite_b: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Solve the equation ``a @ x = b`` for ``x``, where ``a`` is the banded matrix defined by `ab`."""
def solve_circulant(c: _ArrayLike, b: _ArrayLike, singular: str = ..., tol: _ArrayLike | None = ..., caxis: int = ..., baxis: int = ..., outaxis: int = ...) -> _Array: r"""Solve the equation ``C @ x = b`` for ``x``, where ``C`` is a circulant matrix defined by `c`."""
def solve_continuous_are(a: _ArrayLike, b: _ArrayLike, q: _ArrayLike, r: _ArrayLike, e: _ArrayLike | None = ..., s: _ArrayLike | None = ..., balanced: _bool = ...) -> _Array: r"""Solves the continuous-time algebraic Riccati equation (CARE)."""
def solve_continuous_lyapunov(a: _ArrayLike, q: _ArrayLike) -> _Array: r"""Solves the continuous Lyapunov equation :math:`AX + XA^H = Q`."""
def solve_discrete_are(a: _ArrayLike, b: _ArrayLike, q: _ArrayLike, r: _ArrayLike, e: _ArrayLike | None = ..., s: _ArrayLike | None = ..., balanced: _bool = ...) -> _Array: r"""Solves the discrete-time algebraic Riccati equation (DARE)."""
def solve_discrete_lyapunov(a: _ArrayLike, q: _ArrayLike, method: str | None = ...) -> _Array: r"""Solves the discrete Lyapunov equation :math:`AXA^H - X + Q = 0`."""
def solve_lyapunov(a: _ArrayLike, q: _ArrayLike) -> _Array: r"""Solves the continuous Lyapunov equation :math:`AX + XA^H = Q`."""
def solve_sylvester(a: _ArrayLike, b: _ArrayLike, q: _ArrayLike) -> _Array: r"""Computes a solution (X) to the Sylvester equation :math:`AX + XB = Q`."""
def solve_toeplitz(c_or_cr: _ArrayLike | tuple[_ArrayLike, _ArrayLike], b: _ArrayLike, check_finite: _bool = ...) -> _Array: r"""Solve the equation ``T @ x = b`` for ``x``, where ``T`` is a Toeplitz matrix defined by `c_or_cr`."""
def solve_triangular(a: _ArrayLike, b: _ArrayLike, trans: int | str = ..., lower: _bool = ..., unit_diagonal: _bool = ..., overwrite_b: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Solve the equation ``a @ x = b`` for ``x``, where `a` is a triangular matrix."""
def solveh_banded(ab: _ArrayLike, b: _ArrayLike, overwrite_ab: _bool = ..., overwrite_b: _bool = ..., lower: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Solve the equation ``a @ x = b`` for ``x``, where ``a`` is the Hermitian positive-definite banded matrix defined by `ab`."""
@_overload
def sqrtm(A: _ArrayLike, disp: _Literal[True] = ..., blocksize: int = ...) -> _Array: r"""Compute, if exists, the matrix square root."""
@_overload
def sqrtm(A: _ArrayLike, disp: _Literal[False], blocksize: int = ...) -> tuple[_Array, _Any]: ...
@_overload
def sqrtm(A: _ArrayLike, disp: _bool = ..., blocksize: int = ...) -> _Any: ...
@_overload
def svd(a: _ArrayLike, full_matrices: _bool = ..., compute_uv: _Literal[True] = ..., overwrite_a: _bool = ..., check_finite: _bool = ..., lapack_driver: str = ...) -> tuple[_Array, _Array, _Array]: r"""Singular Value Decomposition."""
@_overload
def svd(a: _ArrayLike, full_matrices: _bool = ..., *, compute_uv: _Literal[False], overwrite_a: _bool = ..., check_finite: _bool = ..., lapack_driver: str = ...) -> _Array: ...
@_overload
def svd(a: _ArrayLike, full_matrices: _bool = ..., compute_uv: _bool = ..., overwrite_a: _bool = ..., check_finite: _bool = ..., lapack_driver: str = ...) -> _Any: ...
def svdvals(a: _ArrayLike, overwrite_a: _bool = ..., check_finite: _bool = ...) -> _Array: r"""Compute singular values of a matrix."""
def tanhm(A: _ArrayLike) -> _Array: r"""Compute the hyperbolic matrix tangent."""
def tanm(A: _ArrayLike) -> _Array: r"""Compute the matrix tangent."""
def toeplitz(c: _ArrayLike, r: _ArrayLike | None = ...) -> _Array: r"""Construct a Toeplitz matrix."""
