"""`jax.distributed`."""

from fungrad.compat.jax.adapting import namespace as _namespace


def is_initialized() -> bool:
    """Return False."""
    return False


__getattr__ = _namespace("jax.distributed", globals(), [])
