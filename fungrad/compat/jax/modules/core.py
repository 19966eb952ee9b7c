"""`jax.core`."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace

Atom = Any
_SOURCES = ["fungrad.extend.core", "fungrad", "fungrad.compat.jax.private"]
__getattr__ = _namespace("jax.core", globals(), _SOURCES, "", "*")
