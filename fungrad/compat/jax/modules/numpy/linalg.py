"""`jax.numpy.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.decompositions import cholesky, eig, eigh, eigvals, eigvalsh, lstsq
from fungrad.compat.jax.weakness import keeping_weak as _keeping_weak

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "lstsq"]
cholesky, eigh = (_keeping_weak("jax.numpy.linalg", f.__name__, f) for f in (cholesky, eigh))
__getattr__ = _namespace("jax.numpy.linalg", globals(), ["fungrad.numpy.linalg"])
