"""Which devices this process has, with JAX's names."""

from __future__ import annotations

from fungrad import Device, device_count, devices
from fungrad.distributed.world import process_count
from fungrad.distributed.world import process_index as own_index
from fungrad.extend.packages import api_boundary


@api_boundary
def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Return the devices of this process, as `fungrad.devices` lists them.

    They are the CPU, or the GPUs that CuPy finds.

    Each process knows of its own alone, so it is the same with one process and with several. Arrays go to the devices by `fungrad.device_put`.

    Parameters
    ----------
    process_index
        This process's, or None.
    backend
        "cpu" or "gpu"; left out, the platform of the default device.
    host_id
        JAX's old name of `process_index`.

    Raises
    ------
    ValueError
        If `process_index` is another process's, or `backend` is no platform.
    RuntimeError
        If the platform has no device here; the message says why.

    Examples
    --------
    >>> local_devices()
    [cpu:0]
    """
    asked = host_id if process_index is None else process_index
    if asked is not None and asked != own_index():
        raise ValueError(
            f"local_devices: process_index must be None or {own_index()}, this process's of {process_count()}; got {asked}: "
            "each process knows of its own devices alone"
        )
    return devices(backend)


@api_boundary
def local_device_count(backend: str | None = None) -> int:
    """Return how many devices this process has of a platform, as `local_devices` lists them.

    Examples
    --------
    >>> local_device_count()
    1
    """
    return device_count(backend)
