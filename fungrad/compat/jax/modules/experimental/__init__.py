"""`jax.experimental`."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.callbacks import io_callback
from fungrad.compat.jax.x64 import enable_x64

__all__ = ["disable_x64", "enable_x64", "io_callback"]


def disable_x64() -> Any:
    """Return a context without numbers of 64 bits."""
    return enable_x64(False)


__getattr__ = _namespace(
    "jax.experimental",
    globals(),
    ["fungrad.experimental", "fungrad.compat.jax.hijax"],
    """array_serialization checkify colocated_python custom_partitioning hijax jet ode multihost_utils mesh_utils layout pallas pjit shard_map sparse
    xla_metadata""",
)
