"""`jax.scipy.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.linalg", globals(), ["fungrad.scipy.linalg"], "", "")
