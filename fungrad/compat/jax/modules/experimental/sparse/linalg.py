"""`jax.experimental.sparse.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.sparse import lobpcg_standard as lobpcg_standard
from fungrad.compat.jax.sparse import spsolve as spsolve

__getattr__ = _namespace("jax.experimental.sparse.linalg", globals(), [])
