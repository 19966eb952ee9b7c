"""`jax.extend.backend`."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.inert import CPU


class Backend:
    """The runner of programs: NumPy on the CPU."""

    platform = "cpu"
    platform_version = "fungrad"

    def devices(self) -> list[Any]:
        """Return the one device."""
        return [CPU]

    local_devices = devices

    def device_count(self) -> int:
        """Return 1."""
        return 1

    def process_index(self) -> int:
        """Return 0."""
        return 0


_BACKEND = Backend()


def get_backend(platform: Any = None) -> Backend:
    """Return the one there is."""
    return _BACKEND


def backends() -> dict[str, Backend]:
    """Return the backends by platform."""
    return {"cpu": _BACKEND}


def get_default_device() -> Any:
    """Return the one device."""
    return CPU


__getattr__ = _namespace("jax.extend.backend", globals(), [])
