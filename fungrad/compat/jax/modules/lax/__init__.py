"""`jax.lax`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.lax",
    globals(),
    ["fungrad.lax"],
    "linalg",
    "GatherDimensionNumbers ScatterDimensionNumbers ConvDimensionNumbers DotDimensionNumbers",
)
