"""Which function a transform runs for the user's: one read from its source, where that needs reading."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import CodeType, FunctionType
from typing import Any

from fungrad.core.config import settings
from fungrad.core.state import state_variable

Reader = Callable[[Any], Any]

listener: ContextVar[Any] = state_variable("listener", None)
"""Listener for the fate of functions, loops and branches while they are traced, or None."""

unchanged: dict[int, weakref.ref[CodeType]] = {}
"""Code objects of functions that were read and stay as they are, by `id`, as weak references."""

replaced: dict[int, tuple[weakref.ref[FunctionType], FunctionType, CodeType]] = {}
"""Functions that were read, by the `id` of the user's, with their replacements and the code read."""

_loads: list[Callable[[], Reader]] = []
_readers: list[Reader] = []
_reasons: list[Callable[[CodeType], str]] = []


def provide(load: Callable[[], Reader]) -> None:
    """Say how to get the function that reads others; it is asked for when a transform first runs one."""
    _loads[:] = [load]


def provide_reasons(reason: Callable[[CodeType], str]) -> None:
    """Set the function that tells why a function was not read, by its code; "" if it was read."""
    _reasons[:] = [reason]


def why_not_read(code: CodeType) -> str:
    """Return the sentence of an error about a function that could not be read; "" for any other function."""
    reason = _reasons[0](code) if _reasons and settings.get().reading else ""
    return f"The function is not read, since {reason}: see fungrad.explain." if reason else ""


def tell(kind: str, *about: Any) -> None:
    """Tell who listens, if anybody does, of a thing of some `kind`: a method of the listener."""
    told = listener.get()
    if told is not None:
        getattr(told, kind)(*about)


def as_read(function: Any) -> Any:
    """Return the function to run in place of `function`: itself if nothing in it needs reading."""
    if not settings.get().reading:
        return function
    if type(function) is FunctionType and listener.get() is None:
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
    """Return the replacement of a function that was read, if its code and defaults are unchanged."""
    known = replaced.get(id(function))
    if known is None or known[0]() is not function or known[2] is not function.__code__:
        return None
    made = known[1]
    if made.__defaults__ is not function.__defaults__:
        return None
    return made if made.__kwdefaults__ is function.__kwdefaults__ else None
