"""`jax.interpreters.partial_eval`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.interpreters.partial_eval", globals(), ["fungrad.extend.partial_eval"], "", "*"
)
