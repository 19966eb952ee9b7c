"""`jax.interpreters.batching`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.interpreters.batching", globals(), ["fungrad.extend.batching"], "", "*"
)
