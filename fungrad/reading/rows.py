"""The iterables of loops, with their parts."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.tracer import Tracer, current_trace
from fungrad.reading.registry import HOOKS
from fungrad.reading.symbols import is_symbolic

__all__ = ["Rest", "Rows", "again", "is_rest", "rows"]


class Rows:
    """What a loop goes over: `zip`, `enumerate`, `reversed` or `range`, with what they are made of."""

    __slots__ = ("kind", "options", "parts")

    def __init__(self, kind: Any, parts: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.kind = kind
        self.parts = parts
        self.options = options

    def __iter__(self) -> Iterator[Any]:
        if self.kind is range:
            numbers: Iterator[Any] = HOOKS["numbers"](self.parts)
            return numbers
        return iter(self.kind(*self.parts, **self.options))

    def __reversed__(self) -> Iterator[Any]:
        turned: Iterator[Any] = reversed(self.kind(*self.parts, **self.options))
        return turned


_KINDS = (builtins.zip, builtins.enumerate, builtins.reversed)


class Rest(NamedTuple):
    """The rows of a loop after the first one, which Python takes."""

    over: Any


def again(site: Any, over: Any) -> Any:
    """Return the rows that Python goes over; a trace is offered those after the first, if that may help."""
    if not site.peels or current_trace.get() is None:
        return over
    site.peels = False

    def offered() -> Iterator[Any]:
        each = iter(over)
        yield next(each, Rest(()))
        yield Rest(over)
        yield from each

    return offered()


def is_rest(x: Any) -> bool:
    """Whether a row is none, but offers the rest of the rows."""
    return type(x) is Rest


def rows(kind: Any, *parts: Any, **options: Any) -> Any:
    """Return the iterator of a loop: Python's own, unless a trace may take the loop."""
    if current_trace.get() is not None:
        if kind is range and any(map(is_symbolic, parts)):
            return Rows(kind, parts, options)
        if kind in _KINDS and all(type(x) in _SIZED for x in parts):
            return Rows(kind, parts, options)
    return kind(*parts, **options)


_SIZED = frozenset([range, list, tuple, np.ndarray, Tracer, Rows, int])
