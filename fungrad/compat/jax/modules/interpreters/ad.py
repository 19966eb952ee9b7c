"""`jax.interpreters.ad`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.interpreters.ad", globals(), ["fungrad.extend.ad"], "", "*")
