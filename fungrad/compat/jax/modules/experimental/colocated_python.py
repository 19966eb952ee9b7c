"""`jax.experimental.colocated_python`: Python runs where the one device is."""

from types import SimpleNamespace as _SimpleNamespace

from fungrad.compat.jax.accelerators import importable as _importable
from fungrad.compat.jax.inert import devices as _devices
from fungrad.compat.jax.inert import itself as colocated_python

colocated_python_class = colocated_python
serialization = _SimpleNamespace(DeviceList=list)


def colocated_cpu_devices(devices_or_mesh: object) -> object:
    """Return the one device."""
    return _devices()


_WHY = "there is one process, where functions are called as they are"
_NAMES = "api func func_backend obj obj_backend"
__getattr__ = _importable("jax.experimental.colocated_python", _NAMES.split(), globals(), _WHY)
