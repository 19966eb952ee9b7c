"""`jax.numpy.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.decompositions import cholesky, eig, eigh, eigvals, eigvalsh, lstsq

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "lstsq"]
__getattr__ = _namespace("jax.numpy.linalg", globals(), ["fungrad.numpy.linalg"])
