"""`jax.monitoring`: listeners are taken, and nothing is reported to them."""

from typing import Any

from fungrad.compat.jax.inert import no_effect
from fungrad.compat.jax.names import names_of

_NAMES = names_of("jax.monitoring")


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return no_effect
    raise AttributeError(name)
