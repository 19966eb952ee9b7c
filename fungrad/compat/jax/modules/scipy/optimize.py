"""`jax.scipy.optimize`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.optimize", globals(), ["fungrad.scipy.optimize"], "", "")
