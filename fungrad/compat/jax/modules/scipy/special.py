"""`jax.scipy.special`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.special", globals(), ["fungrad.scipy.special"], "", "")
