"""Which array library a primitive runs on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fungrad.core.primitive import Primitive


def namespace(operands: Iterable[Any]) -> ModuleType:
    """Return `cupy` if any operand is a CuPy array, else `numpy`."""
    for x in operands:
        cls = type(x)
        if cls is not np.ndarray and cls.__module__.partition(".")[0] == "cupy":
            return sys.modules["cupy"]
    return np


def execute(primitive: Primitive, operands: Sequence[Any]) -> Any:
    """Run a primitive on arrays. 0-d NumPy results become scalars, as NumPy's functions give."""
    result = primitive.impl(namespace(operands), *operands)
    if primitive.multiple_results:
        return tuple([as_result(x) for x in result])
    return as_result(result)


def as_result(x: Any) -> Any:
    """Return a 0-d NumPy array as a NumPy scalar, anything else as it is."""
    return x[()] if type(x) is np.ndarray and x.ndim == 0 else x
