"""Telling those who have a profile open what takes time: tracing, rewriting, compiling, and calls of programs.

Hooks are where a trace is opened or a program compiled, which take a hundred times as long as asking whether somebody observes. Programs that
run look at nothing: while somebody observes, the setting `profiled` has jitted functions take the way by which they are observed.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple, Protocol

from fungrad.core.config import process_settings, settings


class Event(NamedTuple):
    """Something that took time."""

    kind: str
    """What has run: "trace", "rewrite", "jit", "compile", "kernels", "call", "library" or "kernel"."""
    name: str
    start: float
    """By `time.perf_counter`, in seconds."""
    end: float
    thread: int
    about: dict[str, Any]


class Observer(Protocol):
    """What is told."""

    def see(self, event: Event) -> None:
        """Take note of an event that has ended."""

    def run(self, program: Any, xp: Any, arguments: Any) -> list[Any]:
        """Run a program on arrays of the library `xp`, and take note of what it does."""


observers: dict[Observer, None] = {}
"""Who observes now, of all threads. Each change is one operation on the dict, which no exception can cut in two."""


def observe(observer: Observer) -> None:
    """Have an observer told, until `leave`."""
    observers[observer] = None
    _settle()


def leave(observer: Observer) -> None:
    """Have an observer told no more. It may be called any number of times."""
    observers.pop(observer, None)
    _settle()


def _settle() -> None:
    """Set whether programs are observed: for all threads but those in a block with other settings than the process."""
    for chosen in {id(x): x for x in (process_settings, settings.get())}.values():
        chosen.set(
            "profiled", bool(observers)
        )  # anew if it is so: an interrupt may have come before all was set
        while chosen.profiled != bool(observers):  # another thread may have come between
            chosen.set("profiled", bool(observers))


def run_observed(program: Any, xp: Any, arguments: Any) -> list[Any]:
    """Run a program as an observer does; as always if there is none, though the settings say so: those of a block that was entered before."""
    observer = next(iter([*observers]), None)
    if observer is None:
        return program.function(xp)(*arguments)  # type: ignore[no-any-return]
    return observer.run(program, xp, arguments)


class Span:
    """Context of which observers are told how long it took, also where an exception ends it."""

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
    """Tell all observers of what has begun at `start` and ends now."""
    event = Event(kind, name, start, time.perf_counter(), threading.get_ident(), about)
    for observer in [*observers]:
        observer.see(event)
