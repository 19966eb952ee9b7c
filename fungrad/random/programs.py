"""Samplers as compiled functions of arrays: one for each function, shape and dtype."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fungrad.core.config import threefry_partitionable
from fungrad.transforms.jit import Jitted, jit

KEPT = 512
"""How many compiled samplers are remembered."""


@functools.lru_cache(KEPT)
def _compiled(function: Callable[..., Any], static: tuple[Any, ...]) -> Jitted:
    @functools.wraps(function)
    def of_arrays(*arrays: Any) -> Any:
        return function(*arrays, *static)

    compiled: Jitted = jit(of_arrays)
    return compiled


def run(function: Callable[..., Any], arrays: tuple[Any, ...], *static: Any) -> Any:
    """Return ``function(*arrays, *static, partitionable)``, compiled; the last says which layout of counters is set."""
    return _compiled(function, (*static, threefry_partitionable.get()))(*arrays)
