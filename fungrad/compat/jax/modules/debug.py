"""`jax.debug`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.debug", globals(), ["fungrad.debug"], "", "*")
