"""`jax.extend.core`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.extend.core",
    globals(),
    [
        "fungrad.compat.jax.results",
        "fungrad.compat.jax.interpreting",
        "fungrad.compat.jax.private",
        "fungrad.extend.core",
    ],
    "primitives",
    "*",
)
