"""Linear algebra by the names of `jax.lax.linalg`: stacks of matrices, as LAPACK decomposes them.

Unlike JAX's functions these raise `numpy.linalg.LinAlgError` for matrices that have no decomposition, as NumPy's
do, and do not return NaN.
"""

import importlib as _importlib
from typing import Any as _Any

_NAMES = {
    "decompositions": "cholesky cholesky_update eig eigh lu lu_pivots_to_permutation qr schur svd",
    "reflections": "hessenberg householder_product ormqr tridiagonal",
    "systems": "symmetric_product triangular_solve tridiagonal_solve",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOME]
__dir__ = __all__.copy

_EXCLUDED = {
    "qdwh": "use fungrad.scipy.linalg.polar, which gives both factors",
    "EigImplementation": "LAPACK is what there is; leave `implementation` out",
    "EighImplementation": "LAPACK is what there is; leave `implementation` out",
    "SvdAlgorithm": "LAPACK is what there is; leave `algorithm` out",
}


def __getattr__(name: str) -> _Any:
    from fungrad.numpy.elsewhere import unknown_name

    if name in _HOME:
        attribute = getattr(_importlib.import_module(f"fungrad.lax.linalg.{_HOME[name]}"), name)
        globals()[name] = attribute
        return attribute
    if name.endswith("_p") and not name.startswith("_"):
        raise AttributeError(
            f"fungrad.lax.linalg has no {name!r}, a primitive of JAX's own: call {name[:-2]}"
        )
    raise unknown_name("fungrad.lax.linalg", name, __all__, _EXCLUDED)
