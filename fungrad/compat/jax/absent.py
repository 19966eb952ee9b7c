"""Names of JAX that are not there, and why; a reason goes for all that is below a name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_XLA = "it is part of XLA, and programs here become NumPy's calls"
_ONE = "there is one process with one device; map with jax.vmap"

ABSENT: Mapping[str, str] = MappingProxyType(
    {
        "jax.export": _XLA,
        "jax.ffi": _XLA,
        "jax.extend.mlir": _XLA,
        "jax.experimental.pallas": "its kernels are written for GPUs and TPUs",
        "jax.experimental.mosaic": "its kernels are written for GPUs and TPUs",
        "jax.experimental.jax2tf": "there is no TensorFlow here",
        "jax.experimental.multihost_utils": _ONE,
        "jax.experimental.serialize_executable": _XLA,
    }
)
