"""Functions of `jax.numpy.linalg` and `jax.scipy.linalg` that differ from NumPy's and SciPy's.

Some give complex numbers, also where all are real; some take the Hermitian part of what they are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.arguments import refuse
from fungrad.compat.jax.crossing import dtype_of, enter, leave
from fungrad.compat.jax.jnp import as_complex
from fungrad.lax import linalg as laxs
from fungrad.numpy import linalg
from fungrad.numpy.linalg.decompositions import EighResult
from fungrad.scipy import linalg as scipys

_HIGHEST_NORM = {4: 3.925724783138660, 8: 5.371920351148152}
"""The norm from which on `expm` halves a matrix, by the bytes of a real number."""


def eig(a: Any) -> Any:
    """Return the eigenvalues and eigenvectors of a square matrix."""
    decomposition = linalg.eig(enter(a))
    return type(decomposition)(*map(as_complex, decomposition))


def eigvals(a: Any) -> Any:
    """Return the eigenvalues of a square matrix."""
    return as_complex(linalg.eigvals(enter(a)))


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """Return the square root of a matrix."""
    return as_complex(scipys.sqrtm(enter(A)))


def _matrix(a: Any) -> Any:
    x = fnp.asarray(enter(a))
    return x if x.dtype.kind in "fc" else x.astype(dtype_of(float))


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Return the Cholesky factor of a matrix, by default of its Hermitian part."""
    lower = laxs.cholesky(_matrix(a), symmetrize_input=symmetrize_input)
    return leave(fnp.conj(fnp.swapaxes(lower, -1, -2)) if upper else lower)


def _eigh(name: str, a: Any, UPLO: str | None, symmetrize_input: bool) -> Any:
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"{name}: UPLO is 'L' or 'U', got {UPLO!r}")
    x = _matrix(a)
    return laxs.eigh(x, lower=UPLO != "U", symmetrize_input=symmetrize_input)


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> Any:
    """Return eigenvalues and eigenvectors of a matrix, by default of its Hermitian part."""
    vectors, values = _eigh("eigh", a, UPLO, symmetrize_input)
    return leave(EighResult(values, vectors))


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Return the eigenvalues."""
    return leave(_eigh("eigvalsh", a, UPLO, symmetrize_input)[1])


def lstsq(a: Any, b: Any, rcond: Any = None, *, numpy_resid: bool = False) -> Any:
    """Return the least-squares solution, sums of squared residuals, rank and singular values."""
    a, b = enter(a), enter(b)
    x, squares, rank, values = linalg.lstsq(a, b, rcond)
    if not numpy_resid:  # NumPy leaves them out where the rank or the number of rows is low
        left = fnp.abs(b - fnp.matmul(a, x)) ** 2
        squares = fnp.sum(fnp.reshape(left, (len(left), -1)), 0)
    return tuple([leave(fnp.asarray(y)) for y in (x, squares, rank, values)])


def eigh_of_scipy(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Return eigenvalues and eigenvectors of a matrix's Hermitian part; of two matrices as SciPy."""
    if eigvals is not None:
        refuse("eigh", "eigvals")
    if b is None and type == 1:
        vectors, values = laxs.eigh(_matrix(a), lower=lower)
        solution = values if eigvals_only else (values, vectors)
    else:
        options: dict[str, Any] = {"lower": lower, "eigvals_only": eigvals_only, "type": type}
        solution = scipys.eigh(enter(a), enter(b), **options)
    return leave(solution)


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """Return the exponential of a matrix; NaN if it is so large that it would be squared too often."""
    x = _matrix(A)
    norm = fnp.linalg.norm(fnp.abs(x), 1, axis=(-2, -1))
    squarings = fnp.floor(fnp.log2(norm / _HIGHEST_NORM[fnp.finfo(x.dtype).dtype.itemsize]))
    few = fnp.reshape(squarings <= max_squarings, (*norm.shape, 1, 1))
    return leave(fnp.where(few, scipys.expm(x), np.asarray(np.nan, x.dtype)))


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """Return the solution X of ``A X + X B = C``; NaN if it is not unique, told by `tol`."""
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen', got {method!r}")
    a, b, c = map(_matrix, (A, B, C))
    sums = linalg.eigvals(a)[..., :, None] + linalg.eigvals(b)[..., None, :]
    single = fnp.all(fnp.abs(sums) >= tol, axis=(-2, -1), keepdims=True)
    x = scipys.solve_sylvester(a, b, c)
    return leave(fnp.where(single, x, np.asarray(np.nan, x.dtype)))


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """Return the matrix of the Fourier transform."""
    given = dtype_of(complex if dtype is None else dtype, "dft")
    if given.kind != "c":
        raise ValueError(f"dft: dtype is one of complex numbers, got {given}")
    return leave(fnp.asarray(scipys.dft(n, scale)).astype(given))
