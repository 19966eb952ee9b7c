"""`jax.interpreters.mlir`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.interpreters.mlir", globals(), ["fungrad.extend.mlir"], "", "*")
