"""`jax.scipy.interpolate`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.interpolate", globals(), ["fungrad.compat.jax.computing"])
