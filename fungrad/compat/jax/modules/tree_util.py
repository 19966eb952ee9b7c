"""`jax.tree_util`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.modules.tree import transpose as tree_transpose

__all__ = ["tree_transpose"]

__getattr__ = _namespace("jax.tree_util", globals(), ["fungrad.tree_util"], "", "*")
