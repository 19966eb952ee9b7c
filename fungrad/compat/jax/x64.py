"""The option ``jax_enable_x64`` for 64-bit numbers, off by default."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from fungrad.core.config import process_settings, setting, settings

NARROW: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (("f8", "f4"), ("i8", "i4"), ("u8", "u4"), ("c16", "c8"))
}
"""Narrow counterparts of 64-bit dtypes."""


def x64_enabled() -> bool:
    """Return whether there are numbers of 64 bits here."""
    return settings.get().enable_x64


def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype, or that of 32 bits where there are none of 64."""
    return dtype if x64_enabled() else NARROW.get(dtype, dtype)


def set_x64(enabled: bool) -> None:
    """Switch them on or off in the process."""
    process_settings.set("enable_x64", bool(enabled))
    if settings.get() is not process_settings:  # in a block, of which the rest stays
        settings.get().set("enable_x64", bool(enabled))


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which there are numbers of 64 bits, or are not."""
    return setting(enable_x64=bool(new_val))
