"""`jax.custom_batching`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.custom_batching", globals(), ["fungrad.custom_batching"], "", "*")
