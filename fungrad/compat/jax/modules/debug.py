"""`jax.debug`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.callbacks import debug_callback as callback

__all__ = ["callback"]
__getattr__ = _namespace("jax.debug", globals(), ["fungrad.debug"], "", "*")
