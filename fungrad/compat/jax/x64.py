"""Whether there are numbers of 64 bits: ``jax_enable_x64``, off unless the program or its environment says otherwise."""

from __future__ import annotations

import contextvars
import os
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from fungrad.core.state import chosen, state_variable

NARROW: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (("f8", "f4"), ("i8", "i4"), ("u8", "u4"), ("c16", "c8"))
}
"""What becomes of dtypes of 64 bits."""


def in_environment() -> bool:
    """Return what JAX_ENABLE_X64 says."""
    value = os.environ.get("JAX_ENABLE_X64", "").lower()
    if value in ("y", "yes", "t", "true", "on", "1"):
        return True
    if value in ("", "n", "no", "f", "false", "off", "0"):
        return False
    raise ValueError(f"the environment variable JAX_ENABLE_X64 is {value!r}; it can be 0 or 1")


class _Process:
    """The setting of the process."""

    enabled = in_environment()


_here: contextvars.ContextVar[bool | None] = state_variable("jax_enable_x64", None)


def x64_enabled() -> bool:
    """Return whether there are numbers of 64 bits here."""
    enabled = _here.get()
    return _Process.enabled if enabled is None else enabled


def set_x64(enabled: bool) -> None:
    """Switch them on or off in the process."""
    _Process.enabled = bool(enabled)


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which there are numbers of 64 bits, or are not."""
    return chosen(_here, lambda _: bool(new_val))
