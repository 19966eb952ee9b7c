"""`jax.experimental.multihost_utils`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.experimental.multihost_utils", globals(), [])
