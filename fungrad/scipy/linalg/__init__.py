"""SciPy's linear algebra, `scipy.linalg`, for tracers too.

On plain arrays every function is SciPy's own. Traced, functions of one matrix take stacks of them, unless
they say otherwise, and are differentiable to every order. What the documentation of `fungrad.numpy.linalg` says
of Hermitian matrices, of vectors and of repeated values holds here.

Arguments about how to compute (`overwrite_a`, `lapack_driver`, `lwork`, ...) mean nothing for traced arrays, nor
does `check_finite`: that an array is not finite shows when the program runs.

Examples
--------
How fast a rotation turns:

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy.linalg import expm
>>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
>>> value, speed = fg.jvp(lambda angle: expm(angle * turn), (0.0,), (1.0,))
>>> np.abs(speed - turn).max() < 1e-12
np.True_
"""

from typing import Any

import scipy.linalg
from scipy.linalg import (
    LinAlgError,
    LinAlgWarning,
    dft,
    hadamard,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    pascal,
)

from fungrad.scipy.linalg.banded import (
    cho_solve_banded,
    cholesky_banded,
    eig_banded,
    eigvals_banded,
    solve_banded,
    solveh_banded,
)
from fungrad.scipy.linalg.decompositions import (
    cho_factor,
    cholesky,
    hessenberg,
    lu,
    lu_factor,
    null_space,
    orth,
    orthogonal_procrustes,
    polar,
    qr,
    rq,
    schur,
    svd,
    svdvals,
)
from fungrad.scipy.linalg.eigenvalues import (
    eig,
    eigh,
    eigh_tridiagonal,
    eigvals,
    eigvalsh,
    eigvalsh_tridiagonal,
)
from fungrad.scipy.linalg.equations import (
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_sylvester,
)
from fungrad.scipy.linalg.functions import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    fractional_matrix_power,
    funm,
    logm,
    signm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from fungrad.scipy.linalg.special import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    diagsvd,
    fiedler,
    hankel,
    khatri_rao,
    leslie,
    matmul_toeplitz,
    solve_circulant,
    solve_toeplitz,
    toeplitz,
)
from fungrad.scipy.linalg.systems import (
    cho_solve,
    det,
    inv,
    lstsq,
    lu_solve,
    norm,
    pinv,
    pinvh,
    solve,
    solve_triangular,
)
from fungrad.scipy.names import missing_name

solve_lyapunov = solve_continuous_lyapunov

__all__ = [
    "LinAlgError",
    "LinAlgWarning",
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "companion",
    "convolution_matrix",
    "coshm",
    "cosm",
    "det",
    "dft",
    "diagsvd",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvals_banded",
    "eigvalsh",
    "eigvalsh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fractional_matrix_power",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "khatri_rao",
    "leslie",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul_toeplitz",
    "norm",
    "null_space",
    "orth",
    "orthogonal_procrustes",
    "pascal",
    "pinv",
    "pinvh",
    "polar",
    "qr",
    "rq",
    "schur",
    "signm",
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_circulant",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    raise missing_name(scipy.linalg, name, __all__)
