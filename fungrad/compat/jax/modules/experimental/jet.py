"""`jax.experimental.jet`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import leave_tree as _leave_tree

_SOURCES = ["fungrad.experimental.jet"]
__getattr__ = _namespace("jax.experimental.jet", globals(), _SOURCES, finish={"jet": _leave_tree})
