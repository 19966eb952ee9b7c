"""`jax.ops`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.ops", globals(), ["fungrad.ops"], "", "")
