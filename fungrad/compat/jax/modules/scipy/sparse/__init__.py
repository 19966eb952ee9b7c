"""`jax.scipy.sparse`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.sparse", globals(), [], "linalg", "")
