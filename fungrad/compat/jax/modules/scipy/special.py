"""`jax.scipy.special`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.legendre import lpmn_values
from fungrad.compat.jax.special import logsumexp

__all__ = ["logsumexp", "lpmn_values"]
__getattr__ = _namespace("jax.scipy.special", globals(), ["fungrad.scipy.special"])
