"""SciPy's functions for traced arrays. Each module mirrors the one of SciPy of that name."""

import importlib
from typing import Any

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"fungrad.scipy.{name}")
    from fungrad.numpy.elsewhere import unknown_name

    raise unknown_name("fungrad.scipy", name, __all__)
