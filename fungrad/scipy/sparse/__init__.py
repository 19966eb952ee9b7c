"""What goes with `scipy.sparse`: so far `fungrad.scipy.sparse.linalg`."""

import importlib
from typing import Any

__all__ = ["linalg"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"fungrad.scipy.sparse.{name}")
    raise AttributeError(f"module 'fungrad.scipy.sparse' has no attribute {name!r}")
