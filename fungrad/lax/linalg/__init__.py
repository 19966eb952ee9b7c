"""Linear algebra by the names of `jax.lax.linalg`: stacks of matrices, as LAPACK decomposes them.

Unlike JAX's functions these raise `numpy.linalg.LinAlgError` for matrices that have no decomposition, as NumPy's
do, and do not return NaN.
"""

from fungrad.numpy.on_demand import import_on_demand as _import_on_demand

_NAMES = {
    "decompositions": "cholesky cholesky_update eig eigh lu lu_pivots_to_permutation qr schur svd",
    "reflections": "hessenberg householder_product ormqr tridiagonal",
    "systems": "symmetric_product triangular_solve tridiagonal_solve",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_EXCLUDED = {
    "qdwh": "use fungrad.scipy.linalg.polar, which gives both factors",
    "EigImplementation": "LAPACK is what there is; leave `implementation` out",
    "EighImplementation": "LAPACK is what there is; leave `implementation` out",
    "SvdAlgorithm": "LAPACK is what there is; leave `algorithm` out",
}


def _reason(name: str) -> str | None:
    if name.endswith("_p") and not name.startswith("_"):
        return f"it is a primitive of JAX's own: call {name[:-2]}"
    return _EXCLUDED.get(name)


_import_on_demand(globals(), _NAMES, reason=_reason)
