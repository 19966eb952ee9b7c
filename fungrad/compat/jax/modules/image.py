"""`jax.image`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.image", globals(), ["fungrad.image"], "", "ResizeMethod")
