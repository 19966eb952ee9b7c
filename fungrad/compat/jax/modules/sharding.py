"""`jax.sharding`: all of it is there and has no effect, as there is one device."""

from typing import Any

import numpy as np

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.inert import (
    CPU,
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
)

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
]

PositionalSharding = GSPMDSharding = Sharding
make_single_device_sharding = SingleDeviceSharding


def get_abstract_mesh() -> Any:
    """Return a mesh of no axes."""
    return AbstractMesh((), ())


def get_mesh() -> Any:
    """Return a mesh of no axes."""
    return Mesh(np.array(CPU, dtype=object), ())


def auto_axes(f: Any = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """Return the function: there are no axes that it could be divided along."""
    return (lambda f: f) if f is None else f


def explicit_axes(f: Any = None, /, *, axes: Any = None, in_sharding: Any = None) -> Any:
    """Return the function, as `auto_axes` does."""
    return auto_axes(f)


__getattr__ = _namespace("jax.sharding", globals(), [])
