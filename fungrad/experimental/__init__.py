"""Counterparts of names in `jax.experimental`."""

from fungrad.callback import io_callback as io_callback
from fungrad.experimental import checkify as checkify
from fungrad.experimental import jet as jet
from fungrad.numpy.names import tell_missing

__all__ = ["checkify", "io_callback", "jet"]
__dir__ = __all__.copy
tell_missing(globals())
