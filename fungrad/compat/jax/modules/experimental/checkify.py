"""`jax.experimental.checkify`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.experimental.checkify", globals(), ["fungrad.experimental.checkify"], "", "*"
)
