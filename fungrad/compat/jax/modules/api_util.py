"""`jax.api_util`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.api_util", globals(), ["fungrad.extend.api_util"], "", "*")
