"""`jax.lax.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.lax.linalg", globals(), ["fungrad.lax.linalg"], "", "")
