"""`jax.experimental.mesh_utils`."""

from typing import Any

import numpy as np

from fungrad.compat.jax.inert import CPU, make_mesh


def create_device_mesh(mesh_shape: Any, devices: Any = None, **_: Any) -> Any:
    """Return the devices in an array of a shape: there is one."""
    mesh = make_mesh(tuple(mesh_shape), tuple(map(str, range(len(mesh_shape)))))
    return mesh.devices if devices is None else np.full(mesh.devices.shape, CPU, dtype=object)
