"""`jax.lax`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.extend.primitives import primitives as _primitives

_SAME = "GatherDimensionNumbers ScatterDimensionNumbers ConvDimensionNumbers DotDimensionNumbers"
__getattr__ = _namespace("jax.lax", globals(), ["fungrad.lax", _primitives], "linalg", _SAME)
