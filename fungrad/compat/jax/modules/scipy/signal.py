"""`jax.scipy.signal`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.signal", globals(), ["fungrad.scipy.signal"], "", "")
