"""`jax.custom_derivatives`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import leave_tree as _leave_tree
from fungrad.extend.primitives import primitives as _primitives

_SOURCES = ["fungrad.compat.jax.modules", "fungrad.custom_derivatives", _primitives]
__getattr__ = _namespace(
    "jax.custom_derivatives", globals(), _SOURCES, "", "*", {"linear_call": _leave_tree}
)
