"""`jax.tree`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.tree", globals(), ["fungrad.tree"], "", "*")
