"""`jax.interpreters`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.interpreters", globals(), [], "ad batching mlir partial_eval pxla xla", "*"
)
