"""`jax.interpreters.ad`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.extend.primitives import primitives as _primitives

__getattr__ = _namespace(
    "jax.interpreters.ad", globals(), ["fungrad.extend.ad", _primitives], "", "*"
)
