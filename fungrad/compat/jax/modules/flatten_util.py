"""`jax.flatten_util`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.flatten_util", globals(), ["fungrad.flatten_util"], "", "")
