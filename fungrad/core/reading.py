"""Functions that transforms run for the user's: read from their source, where that needs it."""

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
"""Listener for the fate of functions, loops and branches, or None."""

unchanged: dict[int, weakref.ref[CodeType]] = {}
"""The code of functions that stay as they are, by `id`."""

replaced: dict[int, tuple[weakref.ref[FunctionType], FunctionType, CodeType]] = {}
"""Functions by `id`, with their replacements and the code that was read."""

_loads: list[Callable[[], Reader]] = []
_readers: list[Reader] = []
_reasons: list[Callable[[CodeType], str]] = []


def provide(load: Callable[[], Reader]) -> None:
    """Set the maker of the function that reads others."""
    _loads[:] = [load]


def provide_reasons(reason: Callable[[CodeType], str]) -> None:
    """Set the function that tells from its code why a function was not read, or ""."""
    _reasons[:] = [reason]


def why_not_read(code: CodeType) -> str:
    """Return the sentence of an error on a function that could not be read, else ""."""
    reason = _reasons[0](code) if _reasons and settings.get().reading else ""
    return (
        reason
        and f"The function is not read, which would make Python's branches and calls traceable, since {reason}."
    )


def tell(kind: str, *about: Any) -> None:
    """Call a method of the listener, if there is one."""
    told = listener.get()
    if told is not None:
        getattr(told, kind)(*about)


def as_read(function: Any) -> Any:
    """Return the function to run for another: itself if nothing in it needs reading."""
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
    """Return the replacement of a function, if its code and defaults are unchanged."""
    known = replaced.get(id(function))
    if known is None or known[0]() is not function or known[2] is not function.__code__:
        return None
    made = known[1]
    same = made.__defaults__ is function.__defaults__
    return made if same and made.__kwdefaults__ is function.__kwdefaults__ else None
