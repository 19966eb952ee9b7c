"""`jax.example_libraries.stax`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.example_libraries.stax", globals(), ["fungrad.example_libraries.stax"], "", "*"
)
