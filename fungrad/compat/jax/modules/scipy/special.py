"""`jax.scipy.special`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.special import logsumexp

__all__ = ["logsumexp"]
__getattr__ = _namespace("jax.scipy.special", globals(), ["fungrad.scipy.special"])
