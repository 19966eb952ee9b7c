"""`jax.interpreters.xla`."""

from fungrad.compat.jax.adapting import namespace as _namespace

_SOURCES = ["fungrad.compat.jax.private", "fungrad.extend.mlir"]
__getattr__ = _namespace("jax.interpreters.xla", globals(), _SOURCES, "", "*")
