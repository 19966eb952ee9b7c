"""`jax.scipy.spatial`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.spatial", globals(), [], "transform", "")
