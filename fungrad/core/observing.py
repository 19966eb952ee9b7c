"""Reports to open profiles: times of tracing, rewriting, compiling, and calls of programs.

Hooks are where a trace is opened or a program compiled, which take a hundred times as long as asking whether somebody observes. Programs that
run look at nothing: while somebody observes, the setting `profiled` has jitted functions take the way by which they are observed.

Design: docs/design/36-showing-programs.md.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple, Protocol

from fungrad.core.config import process_settings, settings


class Event(NamedTuple):
    """Something that took time."""

    kind: str
    """Kind of work: "trace", "rewrite", "jit", "compile", "kernels", "call", "library" or "kernel"."""
    name: str
    start: float
    """By `time.perf_counter`, in seconds."""
    end: float
    thread: int
    about: dict[str, Any]


class Observer(Protocol):
    """Receiver of reports."""

    def see(self, event: Event) -> None:
        """Take note of an event that has ended."""

    def run(self, program: Any, xp: Any, arguments: Any) -> list[Any]:
        """Run a program on arrays of the library `xp`, and note its actions."""


observers: dict[Observer, None] = {}
"""Observers of the process, of all threads. Each change is one operation on the dict."""


def observe(observer: Observer) -> None:
    """Have an observer told, until `leave`."""
    observers[observer] = None
    _settle()


def leave(observer: Observer) -> None:
    """Have an observer told no more. It may be called any number of times."""
    observers.pop(observer, None)
    _settle()


def _settle() -> None:
    """Set whether programs are observed, for all threads outside of blocks with their own settings."""
    for chosen in {id(x): x for x in (process_settings, settings.get())}.values():
        chosen.set(
            "profiled", bool(observers)
        )  # anew if it is so: an interrupt may have come before all was set
        while chosen.profiled != bool(observers):  # another thread may have come between
            chosen.set("profiled", bool(observers))


def run_observed(program: Any, xp: Any, arguments: Any) -> list[Any]:
    """Run a program as an observer does; normally if the observer has gone since the block was entered."""
    observer = next(iter([*observers]), None)
    if observer is None:
        return program.function(xp)(*arguments)  # type: ignore[no-any-return]
    return observer.run(program, xp, arguments)


class Span:
    """Context whose duration observers are told, also when an exception ends it."""

    __slots__ = ("about", "kind", "name", "start")

    def __init__(self, kind: str, name: str, **about: Any) -> None:
        self.kind, self.name, self.about = kind, name, about

    def __enter__(self) -> Span:
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        if observers:
            tell(self.kind, self.name, self.start, **self.about)


def tell(kind: str, name: str, start: float, **about: Any) -> None:
    """Tell all observers of work that began at `start` and ends now."""
    event = Event(kind, name, start, time.perf_counter(), threading.get_ident(), about)
    for observer in [*observers]:
        observer.see(event)
