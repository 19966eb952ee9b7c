"""Counterparts of `jax.example_libraries`: small libraries in pure functions."""

import importlib
from typing import Any

__all__ = ["optimizers", "stax"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    from fungrad.extend.packages import unknown_name

    if name in __all__:
        return importlib.import_module(f"fungrad.example_libraries.{name}")
    raise unknown_name(__name__, name, __all__)
