"""`jax.nn.initializers`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.nn.initializers", globals(), ["fungrad.nn.initializers"], "", "")
