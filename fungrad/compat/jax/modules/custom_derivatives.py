"""`jax.custom_derivatives`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.custom_derivatives",
    globals(),
    ["fungrad.compat.jax.modules", "fungrad.custom_derivatives"],
    "",
    "*",
)
