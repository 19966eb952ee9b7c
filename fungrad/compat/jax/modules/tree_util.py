"""`jax.tree_util`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.tree_util", globals(), ["fungrad.tree_util"], "", "*")
