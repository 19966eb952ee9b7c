"""`jax.interpreters.pxla`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.interpreters.pxla", globals(), [], "", "*")
