"""Requirements of the array API standard on a namespace and its arrays, beyond NumPy's functions.

`fungrad.numpy` is a namespace of the standard (https://data-apis.org/array-api) for the arrays it is given: NumPy
arrays and tracers. So libraries written against the standard, SciPy among them, find it from a
tracer and can be differentiated.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from fungrad.core.backend import on_host
from fungrad.core.cached import numpy_names
from fungrad.core.errors import api_boundary, here
from fungrad.core.tracer import Tracer
from fungrad.numpy.storing import store, writable_out
from fungrad.numpy.unruled import NotConstant, of_constants

__array_api_version__: str = np.__array_api_version__
"""Version of the standard that the functions follow: NumPy's, because they are NumPy's."""


__array_namespace_info__ = np.__array_namespace_info__
"""Capabilities of the arrays (devices, dtypes, ...): NumPy's own."""


def _namespace(self: Tracer, /, *, api_version: Any = None) -> ModuleType:
    """Return `fungrad.numpy`, whose functions take the array."""
    np.empty(0).__array_namespace__(api_version=api_version)  # raises for other versions
    return numpy_names.get()  # type: ignore[no-any-return]


def _device(self: Tracer) -> Any:
    """Where the array lives: "cpu", or the device of the CuPy arrays that the function was called with.

    A function that is traced without values, under `jit`, does not know yet and says "cpu".
    """
    trace = self._owner
    known = [] if trace.values is None else [trace.values[v] for v in trace.inputs]
    for x in known:
        device = "cpu" if type(x) is not Tracer and on_host((x,)) else x.device
        if device != "cpu":
            return device
    return "cpu"


def _to_device(self: Tracer, device: Any, /, *, stream: Any = None) -> Tracer:
    """Return the array, which must be on that device: a traced function does not move arrays."""
    if device != _device(self):
        raise ValueError(
            f"at {here()}\na traced array on {_device(self)!r} cannot be moved to {device!r}; move the "
            "arguments of the transformed function before the call"
        )
    return self


def _dlpack(self: Tracer, **kwargs: Any) -> Any:
    """Return a copy of a constant in a capsule for another library.

    Raises
    ------
    BufferError
        If the array is no constant: its derivative would be lost.
    """
    return _memory(self).__dlpack__(**kwargs)


def _dlpack_device(self: Tracer) -> tuple[int, int]:
    """Return the device of a constant, as DLPack numbers it."""
    device: tuple[int, int] = _memory(self).__dlpack_device__()
    return device


def _memory(x: Tracer) -> Any:
    try:
        value = of_constants(x)
    except NotConstant:
        raise BufferError(
            f"at {here()}\na tracer of type {x._type} has no memory that another library could be given through "
            "DLPack, and what is computed there would be lost to the transform. Compute it with fungrad.numpy, "
            "or hand over the results of the transformed function."
        ) from None
    return np.asarray(value) if isinstance(value, np.generic) else value


@api_boundary
def _in_place_matmul(self: Any, other: Any) -> Any:
    """Compute ``x @= y``."""
    return store(writable_out("an in-place operator", self), self @ other, exactly=True)


def install() -> None:
    """Give tracers the attributes of the standard that other modules do not give them."""
    methods: dict[str, Any] = {
        "__array_namespace__": _namespace,
        "__dlpack__": _dlpack,
        "__dlpack_device__": _dlpack_device,
        "__imatmul__": _in_place_matmul,
        "to_device": _to_device,
    }
    for name, method in methods.items():
        method.__name__ = method.__qualname__ = name
        setattr(Tracer, name, method)
    Tracer.device = property(_device)  # type: ignore[attr-defined]
