"""`scipy.cluster` for traced arrays: the module `vq`."""

import importlib
from typing import Any

__all__ = ["vq"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"fungrad.scipy.cluster.{name}")
    from fungrad.numpy.elsewhere import unknown_name

    raise unknown_name("fungrad.scipy.cluster", name, __all__)
