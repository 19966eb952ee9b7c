"""`jax.ad_checkpoint`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.transforms import checkpoint as checkpoint
from fungrad.compat.jax.transforms import remat as remat

__getattr__ = _namespace("jax.ad_checkpoint", globals(), ["fungrad.ad_checkpoint"], "", "*")
