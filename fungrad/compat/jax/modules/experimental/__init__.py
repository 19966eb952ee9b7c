"""`jax.experimental`."""

from typing import Any

import fungrad
from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import leave_tree, receives
from fungrad.compat.jax.x64 import enable_x64

__all__ = ["disable_x64", "enable_x64", "io_callback"]


def disable_x64() -> Any:
    """Return a context without numbers of 64 bits."""
    return enable_x64(False)


def io_callback(
    callback: Any,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function for what it does when the program runs."""
    return leave_tree(
        fungrad.experimental.io_callback(
            receives(callback), result_shape_dtypes, *args, ordered=ordered, **kwargs
        )
    )


__getattr__ = _namespace(
    "jax.experimental",
    globals(),
    ["fungrad.experimental"],
    "checkify jet ode multihost_utils mesh_utils layout pjit shard_map sparse",
)
