"""`jax.example_libraries.optimizers`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.example_libraries.optimizers", globals(), ["fungrad.example_libraries.optimizers"], "", "*"
)
