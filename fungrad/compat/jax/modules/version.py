"""`jax.version`."""

from fungrad.compat.jax.names import VERSION, VERSION_INFO

__version__, __version_info__ = VERSION, VERSION_INFO
