"""`jax.lax.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.inert import EighImplementation, EigImplementation, SvdAlgorithm
from fungrad.extend.primitives import primitives as _primitives

__all__ = ["EigImplementation", "EighImplementation", "SvdAlgorithm"]
__getattr__ = _namespace("jax.lax.linalg", globals(), ["fungrad.lax.linalg", _primitives])
