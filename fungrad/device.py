"""Which devices there are, and how arrays are moved between them.

Programs run where their arrays are, so nothing here is needed to use a GPU whose arrays CuPy makes. The default device is where
`device_put` takes what is on none: FUNGRAD_DEFAULT_DEVICE in the environment, ``config.update("default_device", ...)`` and
`default_device` choose it. What `fungrad.numpy` makes of nothing, such as ``zeros(3)``, is an array of NumPy's all the same.
"""

from __future__ import annotations

import dataclasses
import sys
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np

from fungrad.core import tree
from fungrad.core.backend import as_result, on_host, to_host
from fungrad.core.config import setting, settings
from fungrad.core.errors import api_boundary, here
from fungrad.core.tracer import Tracer
from fungrad.core.types import is_array

T = TypeVar("T")
"""A pytree."""

__all__ = [
    "Device",
    "default_backend",
    "default_device",
    "device_count",
    "device_put",
    "devices",
]

_PLATFORMS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu"}


@dataclasses.dataclass(frozen=True, repr=False)
class Device:
    """The CPU with the memory of the host, where NumPy's arrays are, or a GPU with arrays of CuPy's.

    Attributes
    ----------
    platform : str
        "cpu" or "gpu".
    id : int
        Which of that platform, from 0 on.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.devices("cpu")
    [cpu:0]
    """

    platform: str
    id: int = 0

    def __repr__(self) -> str:
        return f"{self.platform}:{self.id}"


_CPU = Device("cpu")


def _gpus() -> tuple[list[Device], str]:
    """Return the GPUs that CuPy can use and, where there are none, why."""
    try:
        import cupy
    except ImportError as error:
        return [], f"CuPy cannot be imported ({error}); pip install 'fungrad[cuda12]' installs it"
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:  # no driver, or one too old: CuPy's classes of errors
        return [], f"CuPy finds none ({type(error).__name__}: {error})"
    return [Device("gpu", i) for i in range(count)], "" if count else "CuPy finds none"


def _of_platform(platform: str, label: str) -> list[Device]:
    if platform == "cpu":
        return [_CPU]
    gpus, why = _gpus()
    if not gpus:
        raise RuntimeError(f"{label}: there is no GPU to use here: {why}")
    return gpus


def find_device(device: Any, label: str) -> Device:
    """Return the device that is meant: a `Device`, "cpu", "gpu", "gpu:1", or the ``device`` of an array.

    Raises
    ------
    RuntimeError
        If there is no such device here.
    ValueError
        If it is no name of a device.
    TypeError
        If it is neither of these.
    """
    name = str(device) if isinstance(device, Device) else device
    if type(device).__module__.partition(".")[0] == "cupy":
        name = f"gpu:{int(device.id)}"
    if not isinstance(name, str):
        raise TypeError(
            f"{label} takes a device, of those in fungrad.devices(), or its name, such as 'cpu' or 'gpu:1'; "
            f"got {device!r} of type {type(device).__name__}"
        )
    platform, colon, number = name.lower().partition(":")
    if platform not in _PLATFORMS or (colon and not (number.isascii() and number.isdigit())):
        raise ValueError(f"{label}: {name!r} is no device; 'cpu', 'gpu' and 'gpu:1' are names")
    known = _of_platform(_PLATFORMS[platform], label)
    if int(number or 0) >= len(known):
        raise RuntimeError(f"{label}: there is no device {name!r} here, but {known}")
    return known[int(number or 0)]


def _default() -> Device:
    chosen = settings.get().default_device
    named = isinstance(chosen, str)  # what is chosen in Python is a `Device`
    by = "the environment variable FUNGRAD_DEFAULT_DEVICE" if named else "the default device"
    return _CPU if chosen is None else find_device(chosen, by)


@api_boundary
def devices(backend: str | None = None) -> list[Device]:
    """Return the devices of a platform.

    Parameters
    ----------
    backend
        "cpu" or "gpu"; left out, the platform of the default device.

    Raises
    ------
    RuntimeError
        If there is none; the message says why.
    ValueError
        If it is no platform.

    Examples
    --------
    >>> devices()
    [cpu:0]
    """
    if backend is None:
        backend = default_backend()
    if backend not in _PLATFORMS:
        raise ValueError(f"devices: {backend!r} is no platform; 'cpu' and 'gpu' are")
    return _of_platform(_PLATFORMS[backend], "devices")


@api_boundary
def device_count(backend: str | None = None) -> int:
    """Return how many devices a platform has, as `devices` lists them.

    Examples
    --------
    >>> device_count()
    1
    """
    return len(devices(backend))


@api_boundary
def default_backend() -> str:
    """Return the platform of the default device: "cpu", unless the user chose another.

    Examples
    --------
    >>> default_backend()
    'cpu'
    """
    return _default().platform


@api_boundary
def default_device(device: Any) -> AbstractContextManager[None]:
    """Return a context with another default device, where `device_put` places values on no device.

    Parameters
    ----------
    device
        A `Device`, or its name: "cpu", "gpu", "gpu:1"; None for that of the process, the CPU.

    Raises
    ------
    RuntimeError
        If there is no such device here.

    Examples
    --------
    >>> with default_device("cpu"):
    ...     x = device_put([1.0, 2.0])
    >>> x
    [np.float64(1.0), np.float64(2.0)]
    """
    default = None if device is None else find_device(device, "default_device")
    return setting(default_device=default)


@api_boundary
def device_put(
    x: T, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> T:
    """Return a pytree with its arrays on a device: those of NumPy on the CPU, those of CuPy on a GPU.

    Parameters
    ----------
    x
        A pytree of arrays and numbers. What is there already is not copied.
    device
        A `Device`, its name ("cpu", "gpu", "gpu:1"), or the ``device`` of another array. Left out, arrays of CuPy stay where they are, and those of NumPy
        and numbers go to the default device.
    src
        Must be None or left out.
    donate, may_alias
        Accepted for JAX's sake.

    Returns
    -------
    pytree
        Of the same structure; on the CPU, numbers are scalars of NumPy.

    Raises
    ------
    RuntimeError
        If there is no such device here.
    ValueError
        If a traced array would be moved: arguments are moved before the call.

    Examples
    --------
    >>> device_put([1.0, 2], "cpu")
    [np.float64(1.0), np.int64(2)]
    """
    if src is not None:
        raise ValueError(f"device_put: src must be None, got {src!r}; arrays know where they are")
    target = _default() if device is None else find_device(device, "device_put")

    def put(leaf: Any) -> Any:
        if type(leaf) is Tracer:
            return leaf if device is None else _stays(leaf, target)
        if not (is_array(leaf) or np.isscalar(leaf)):
            return leaf
        if device is None and not on_host((leaf,)):
            return leaf
        return _moved(leaf, target)

    return tree.map(put, x)  # type: ignore[no-any-return]


def _moved(x: Any, target: Device) -> Any:
    """Return an array or number on a device."""
    if target.platform == "cpu":
        return x if isinstance(x, np.ndarray) else as_result(to_host(x))
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(target.id):
        return cupy.asarray(x)


def _stays(x: Tracer, target: Device) -> Tracer:
    """Return a traced array, which must be on the device: a program does not move arrays."""
    if not _gpus()[0]:
        return x  # there is nowhere else
    if x._owner.values is None or find_device(x.device, "device_put") != target:  # type: ignore[attr-defined]
        raise ValueError(
            f"at {here()}\ndevice_put: a traced array of type {x._type} under `{x._owner.label}` cannot be moved to {target}; move "
            "the arguments of the transformed function before the call"
        )
    return x
