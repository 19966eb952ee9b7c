"""`jax.numpy.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.numpy.linalg", globals(), ["fungrad.numpy.linalg"])
