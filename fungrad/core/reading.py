"""Which function a transform runs for the user's: one read from its source, where that needs reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fungrad.core.config import settings

Reader = Callable[[Any], Any]

_loads: list[Callable[[], Reader]] = []
_readers: list[Reader] = []


def provide(load: Callable[[], Reader]) -> None:
    """Say how to get the function that reads others; it is asked for when a transform first runs one."""
    _loads[:] = [load]


def as_read(function: Any) -> Any:
    """Return the function to run in place of `function`: the same object where nothing in it needs reading."""
    if not settings.get().reading:
        return function
    if not _readers:
        _readers.extend([load() for load in _loads][:1])
    return _readers[0](function) if _readers else function
