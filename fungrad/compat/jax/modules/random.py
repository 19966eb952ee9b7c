"""`jax.random`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.random", globals(), ["fungrad.random"], "", "")
