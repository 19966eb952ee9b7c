"""`jax.experimental.hijax`."""

from fungrad.compat.jax.adapting import namespace as _namespace

_SOURCES = [
    "fungrad.compat.jax.hijax",
    "fungrad.compat.jax.refs",
    "fungrad.extend.ad",
    "fungrad.extend.core",
]
__getattr__ = _namespace("jax.experimental.hijax", globals(), _SOURCES, "", "*")
