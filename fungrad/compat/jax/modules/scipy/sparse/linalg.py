"""`jax.scipy.sparse.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.scipy.sparse.linalg", globals(), ["fungrad.scipy.sparse.linalg"], "", ""
)
