"""`jax.extend.core.primitives`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.extend.core.primitives", globals(), ["fungrad.compat.jax.primitives"], "", "*")
