"""`jax.scipy.ndimage`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.ndimage", globals(), ["fungrad.scipy.ndimage"], "", "")
