"""`jax.export`: programs are saved as fungrad's own, which fungrad alone reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fungrad as _fungrad
from fungrad.compat.jax.accelerators import importable as _importable
from fungrad.compat.jax.crossing import Crossed as _Crossed
from fungrad.compat.jax.transforms import Jitted as _Jitted


class Exported(_Crossed):
    """A function as its program for one type of arguments."""

    platforms = ("cpu",)
    nr_devices = 1

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result for arguments of that type."""
        return self(*args, **kwargs)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the program as bytes for `deserialize`; derivatives need not be saved."""
        return bytearray(self.inner.serialize())

    def __reduce__(self) -> Any:
        return Exported, (self.inner,)


def export(fun_jit: Any, *, platforms: Any = None, **_: Any) -> Callable[..., Exported]:
    """Return a function of arguments that returns `fun_jit` as a program for their types."""
    if not isinstance(fun_jit, _Jitted):
        raise ValueError(f"export takes a function that jax.jit made, got {fun_jit!r}")
    exported = _fungrad.export(fun_jit.inner)
    return lambda *args, **kwargs: Exported(exported(*args, **kwargs))


def deserialize(blob: Any) -> Exported:
    """Return the function that was saved as these bytes."""
    return Exported(_fungrad.load(bytes(blob)))


_NAMES = """
DisabledSafetyCheck SymbolicScope default_export_platform is_symbolic_dim maximum_supported_calling_convention_version
minimum_supported_calling_convention_version register_namedtuple_serialization register_pytree_node_serialization
symbolic_args_specs symbolic_shape
"""
_WHY = "programs are saved for one shape of each argument, and in a format of fungrad's. Export one for each shape"
__getattr__ = _importable("jax.export", _NAMES.split(), globals(), _WHY)
