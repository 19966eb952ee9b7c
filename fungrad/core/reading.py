"""Which function a transform runs for the user's: one read from its source, where that needs reading."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from fungrad.core.config import settings

Reader = Callable[[Any], Any]

unchanged: dict[int, weakref.ref[CodeType]] = {}
"""The code objects of functions that were read and stay as they are, by their `id`; each goes with its code."""

replaced: dict[int, tuple[weakref.ref[FunctionType], FunctionType, CodeType]] = {}
"""Functions that were read, by the `id` of the user's: with what runs in their places, and the code that was read."""

_loads: list[Callable[[], Reader]] = []
_readers: list[Reader] = []


def provide(load: Callable[[], Reader]) -> None:
    """Say how to get the function that reads others; it is asked for when a transform first runs one."""
    _loads[:] = [load]


def as_read(function: Any) -> Any:
    """Return the function to run in place of `function`: the same object where nothing in it needs reading."""
    if not settings.get().reading:
        return function
    if type(function) is FunctionType:
        code = function.__code__
        known = unchanged.get(id(code))
        if known is not None and known() is code:
            return function
        made = replacement(function)
        if made is not None:
            return made
    if not _readers:
        _readers.extend([load() for load in _loads][:1])
    return _readers[0](function) if _readers else function


def replacement(function: FunctionType) -> FunctionType | None:
    """Return what runs in the place of a function that was read, if neither its code nor its defaults have changed."""
    known = replaced.get(id(function))
    if known is None or known[0]() is not function or known[2] is not function.__code__:
        return None
    made = known[1]
    if made.__defaults__ is not function.__defaults__:
        return None
    return made if made.__kwdefaults__ is function.__kwdefaults__ else None
