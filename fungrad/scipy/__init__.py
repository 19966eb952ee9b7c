"""SciPy's functions for traced arrays. Each module mirrors the one of SciPy of that name."""

import importlib
from typing import Any

__all__ = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "special",
    "stats",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"fungrad.scipy.{name}")
    raise AttributeError(f"module 'fungrad.scipy' has no attribute {name!r}")
