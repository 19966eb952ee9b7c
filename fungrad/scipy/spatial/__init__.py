"""`scipy.spatial` for traced arrays: the modules `distance` and `transform`, rotations."""

import importlib
from typing import Any

__all__ = ["distance", "transform"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"fungrad.scipy.spatial.{name}")
    from fungrad.numpy.elsewhere import unknown_name

    raise unknown_name("fungrad.scipy.spatial", name, __all__)
