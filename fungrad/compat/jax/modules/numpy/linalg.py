"""`jax.numpy.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.decompositions import eig, eigvals

__all__ = ["eig", "eigvals"]
__getattr__ = _namespace("jax.numpy.linalg", globals(), ["fungrad.numpy.linalg"])
