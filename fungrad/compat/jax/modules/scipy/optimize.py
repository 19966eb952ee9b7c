"""`jax.scipy.optimize`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.optimize import OptimizeResults as OptimizeResults

__all__ = ["OptimizeResults"]
__getattr__ = _namespace("jax.scipy.optimize", globals(), ["fungrad.compat.jax.optimize"])
