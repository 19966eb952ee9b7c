"""`jax.core`."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.inert import nothing

max_dim, min_dim = max, min
take_current_trace = set_current_trace = nothing


class Trace:
    """The base of traces that libraries write for JAX; none is run by fungrad's."""

    def __init_subclass__(cls, **_: Any) -> None:
        pass


class TraceTag:
    """What tells such traces apart."""


Atom = Any
_SOURCES = ["fungrad.extend.core", "fungrad", "fungrad.compat.jax.private"]
__getattr__ = _namespace("jax.core", globals(), _SOURCES, "", "*")
