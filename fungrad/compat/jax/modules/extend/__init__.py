"""`jax.extend`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.extend",
    globals(),
    ["fungrad.extend"],
    "backend core linear_util random source_info_util",
    "*",
)
