"""`jax.extend`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.extend",
    globals(),
    [],
    "backend core ifrt_programs linear_util random sharding source_info_util",
    "*",
)
