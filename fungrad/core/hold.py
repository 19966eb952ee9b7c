"""Keeping large arrays unchanged for as long as some trace may still read them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_lock = threading.Lock()
_held: dict[int, tuple[Array, int]] = {}  # id -> the array, and how many traces hold it


def hold(array: Array) -> bool:
    """Make `array` read-only until it is released as often as it is held.

    Returns False, and does nothing, if the array is read-only by itself.
    """
    with _lock:
        _, count = _held.get(id(array), (array, 0))
        if count == 0:
            if not array.flags.writeable:
                return False
            array.setflags(write=False)
        _held[id(array)] = (array, count + 1)
        return True


def release(array: Array) -> None:
    """Undo one `hold`."""
    with _lock:
        _, count = _held.pop(id(array))
        if count > 1:
            _held[id(array)] = (array, count - 1)
        else:
            array.setflags(write=True)
