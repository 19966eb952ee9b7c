"""`jax.distributed`: there is one process."""

from fungrad.compat.jax.inert import no_effect

initialize = shutdown = no_effect


def is_initialized() -> bool:
    """Return False."""
    return False
