"""`jax.sharding`: all of it is there and has no effect, as there is one device."""

import enum
from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.inert import (
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

AbstractMesh = Mesh
PositionalSharding = GSPMDSharding = Sharding
make_single_device_sharding = SingleDeviceSharding


class AxisType(enum.Enum):
    """How an axis of a mesh is used."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()


def get_abstract_mesh() -> Any:
    """Return a mesh of no axes."""
    mesh = Mesh([], ())
    mesh.empty = True
    return mesh


get_mesh = get_abstract_mesh
__getattr__ = _namespace("jax.sharding", globals(), [])
