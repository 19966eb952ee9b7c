"""`jax.nn`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.nn", globals(), ["fungrad.nn"], "initializers", "")
