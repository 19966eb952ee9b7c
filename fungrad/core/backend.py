"""Which array library a primitive runs on, and the way from one to the other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np


def namespace(operands: Sequence[Any]) -> ModuleType:
    """Return `cupy` if any operand is a CuPy array, else `numpy`."""
    if not _NUMPYS.issuperset(map(type, operands)):
        for x in operands:
            if type(x).__module__.partition(".")[0] == "cupy":
                return sys.modules["cupy"]
    return np


_NUMPYS = frozenset([np.ndarray, np.float64, np.float32, np.int64, np.bool_, float, int, bool])
"""The commonest classes of arrays and numbers that are not CuPy's."""


def to_host(x: Any) -> np.ndarray[Any, Any]:
    """Return an array as one of NumPy: copied, if it is one of CuPy."""
    return np.asarray(x) if namespace((x,)) is np else x.get()


def to_device(xp: ModuleType, arrays: Sequence[Any]) -> list[Any]:
    """Return arrays, of which some may be NumPy's, as arrays of the library `xp`."""
    if xp is np:
        return list(arrays)
    return [xp.asarray(x) if type(x) is np.ndarray else x for x in arrays]


def as_result(x: Any) -> Any:
    """Return a 0-d NumPy array as a NumPy scalar, anything else as it is."""
    return x[()] if type(x) is np.ndarray and x.ndim == 0 else x
