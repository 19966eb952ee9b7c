"""`jax.ref`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.ref", globals(), ["fungrad.compat.jax.refs"], "", "*")
