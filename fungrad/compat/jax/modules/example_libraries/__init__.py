"""`jax.example_libraries`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.example_libraries", globals(), [], "optimizers stax", "")
