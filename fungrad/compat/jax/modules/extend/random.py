"""`jax.extend.random`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.extend.random", globals(), ["fungrad.random"], "", "")
