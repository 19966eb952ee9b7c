"""`jax.interpreters.batching`."""

from fungrad.compat.jax.adapting import namespace as _namespace

_SOURCES = ["fungrad.extend.batching", "fungrad.compat.jax.private"]
__getattr__ = _namespace("jax.interpreters.batching", globals(), _SOURCES, "", "*")
