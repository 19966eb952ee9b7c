"""`jax.scipy.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.decompositions import sqrtm

__all__ = ["sqrtm"]
__getattr__ = _namespace("jax.scipy.linalg", globals(), ["fungrad.scipy.linalg"])
