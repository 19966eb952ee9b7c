"""`jax.extend.linear_util`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.extend.linear_util", globals(), ["fungrad.extend.linear_util"], "", "*"
)
