"""`jax.interpreters.xla`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.interpreters.xla", globals(), ["fungrad.extend.mlir"], "", "*")
