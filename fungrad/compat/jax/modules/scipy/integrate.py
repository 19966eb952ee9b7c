"""`jax.scipy.integrate`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.integrate", globals(), ["fungrad.scipy.integrate"], "", "")
