"""Linear algebra by the names of `jax.lax.linalg`: stacks of matrices, as LAPACK decomposes them.

Unlike JAX's functions these raise `numpy.linalg.LinAlgError` for matrices that have no decomposition, as NumPy's
do, and do not return NaN.
"""

from typing import Any

from fungrad.lax.linalg.decompositions import (
    cholesky,
    cholesky_update,
    eig,
    eigh,
    lu,
    lu_pivots_to_permutation,
    qr,
    schur,
    svd,
)
from fungrad.lax.linalg.reflections import (
    hessenberg,
    householder_product,
    ormqr,
    tridiagonal,
)
from fungrad.lax.linalg.systems import (
    symmetric_product,
    triangular_solve,
    tridiagonal_solve,
)
from fungrad.numpy.exclusions import unknown_name

__all__ = [
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]

_EXCLUDED = {
    "qdwh": "use fungrad.scipy.linalg.polar, which gives both factors",
    "EigImplementation": "LAPACK is what there is; leave `implementation` out",
    "EighImplementation": "LAPACK is what there is; leave `implementation` out",
    "SvdAlgorithm": "LAPACK is what there is; leave `algorithm` out",
}


def __getattr__(name: str) -> Any:
    if name in _EXCLUDED:
        raise AttributeError(f"fungrad.lax.linalg has no {name!r}: {_EXCLUDED[name]}")
    if name.endswith("_p") and not name.startswith("_"):
        raise AttributeError(
            f"fungrad.lax.linalg has no {name!r}, a primitive of JAX's own: call {name[:-2]}"
        )
    raise unknown_name("fungrad.lax.linalg", name, __all__)
