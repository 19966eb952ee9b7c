"""`jax.ad_checkpoint`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.ad_checkpoint", globals(), ["fungrad.ad_checkpoint"], "", "*")
