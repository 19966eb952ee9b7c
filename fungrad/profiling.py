"""Profiles: times of tracing, rewriting, compiling and running, and reasons for tracing again."""

from __future__ import annotations

import contextlib
import json
import operator
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from types import ModuleType, TracebackType
from typing import Any, NamedTuple, Self

from fungrad.compile.lower import Program
from fungrad.compile.timed import forget_twins, run_timed
from fungrad.core.observing import Event, leave, observe, observers
from fungrad.show.tables import Column, Table, duration

MOST = 1_000_000
"""Events that are kept; those after them are counted."""


class Time(NamedTuple):
    """Time of one kind of work, over all of its calls."""

    kind: str
    """Kind of work: "trace", "rewrite", "jit", "compile", "kernels", "call", "library" or "kernel".

    "jit" is everything done for a new type of arguments.
    """
    name: str
    line: str
    """Of a call of a library's function or a kernel, the line of the function that it was recorded at."""
    calls: int
    seconds: float
    own: float
    """The time without that of other rows of the table that ran within it."""
    longest: float


class Traced(NamedTuple):
    """A jitted function was traced."""

    name: str
    why: str
    seconds: float


_COLUMNS = (
    Column("kind", "kind", right=False, style="dim"),
    Column("name", "name", right=False, style="op"),
    Column("calls", "calls", "{:,}".format),
    Column("seconds", "time", duration, style="num"),
    Column("own", "own time", duration, style="num"),
    Column("longest", "longest", duration),
    Column("line", "line", right=False, style="dim"),
)


class Decision(NamedTuple):
    """Decision about the kernels of a program that has run."""

    program: str
    why: str


class _Notes:
    """The events of one profile; it is apart, so that a profile that nobody holds any more ends."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.threads: dict[int, str] = {}
        self.dropped = 0
        self.programs: weakref.WeakSet[Program] = weakref.WeakSet()

    def see(self, event: Event) -> None:
        """Take note of an event."""
        if len(self.events) >= MOST:
            self.dropped += 1
            return
        if event.thread not in self.threads:
            known = {t.ident: t.name for t in threading.enumerate()}
            self.threads[event.thread] = known.get(event.thread, "fungrad: kernels")
        self.events.append(event)

    def run(self, program: Program, xp: ModuleType, arguments: Sequence[Any]) -> list[Any]:
        """Run a program, and note its calls."""
        self.programs.add(program)
        return run_timed(program, xp, arguments)


class Profile:
    """Record of a block, made by `profile`.

    Attributes
    ----------
    events
        What took time, a list of named tuples, in the order in which it ended.
    """

    def __init__(self) -> None:
        self._notes = _Notes()
        self._start = 0.0

    @property
    def events(self) -> list[Event]:
        """Timed work, in the order in which it ended."""
        return self._notes.events

    def __enter__(self) -> Self:
        if self._notes in observers:
            raise RuntimeError("this profile is open already: make another by fungrad.profile()")
        try:
            observe(self._notes)
        except BaseException:  # an interrupt
            leave(self._notes)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take no more notes. It may be called any number of times."""
        try:
            leave(self._notes)
        finally:  # twice: an interrupt may have come before the first was done
            leave(self._notes)
        if not observers:
            forget_twins()

    def __del__(self) -> None:
        if (notes := self.__dict__.get("_notes")) is not None and notes in observers:
            leave(notes)

    @property
    def traced(self) -> list[Traced]:
        """The jitted functions that were traced, with the difference to the nearest known call."""
        return [
            Traced(e.name, e.about["why"], e.end - e.start)
            for e in self.events
            if e.kind == "jit" and e.about.get("why")
        ]

    @property
    def decisions(self) -> list[Decision]:
        """The programs that have run, with their kernels, or the gain and cost of these."""
        programs = sorted(self._notes.programs, key=operator.attrgetter("label"))
        return [Decision(program.label, why) for program in programs for why in program.decisions]

    def table(self) -> Table[Time]:
        """Return the times, the largest own time first."""
        return _table(self.events, self.traced, self._notes.dropped)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace for https://ui.perfetto.dev or chrome://tracing, with one row for each thread."""
        process = os.getpid()
        events: list[dict[str, Any]] = [
            _meta("process_name", process, 0, "fungrad"),
            *[
                _meta("thread_name", process, t, name)
                for t, name in self._notes.threads.copy().items()
            ],
        ]
        first = min([e.start for e in self.events], default=0.0)
        for e in sorted(self.events, key=operator.attrgetter("start")):
            begin, lasts = 1e6 * (e.start - first), 1e6 * (e.end - e.start)
            about = {key: value for key, value in e.about.items() if value is not None}
            events.append(
                {"name": e.name, "cat": e.kind, "ph": "X", "ts": begin, "dur": lasts}
                | {"pid": process, "tid": e.thread, "args": about}
            )
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

    def print(self) -> None:
        """Print the table: in colour where rich is installed (``pip install 'fungrad[show]'``), else as text."""
        self.table().print()

    def __rich__(self) -> Any:
        """Return the table for rich."""
        return self.table().__rich__()

    def __str__(self) -> str:
        """Show the table as text."""
        return str(self.table())

    def __repr__(self) -> str:
        """Say how much was seen."""
        return f"<Profile of {len(self.events):,} events>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _meta(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "ts": 0, "args": {"name": name}}


def _table(events: Sequence[Event], traced: Sequence[Traced], dropped: int) -> Table[Time]:
    groups: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for event, own in _with_own_time(events):
        key = event.kind, event.name, event.about.get("line", "")
        groups.setdefault(key, []).append((event.end - event.start, own))
    rows = [
        Time(*key, len(times), sum(t for t, _ in times), sum(o for _, o in times), max(times)[0])
        for key, times in groups.items()
    ]
    rows.sort(key=operator.attrgetter("own"), reverse=True)
    notes = [f"{t.why} ({duration(t.seconds)})" for t in traced]
    if dropped:
        notes.append(f"{dropped:,} events came after the first {MOST:,} and were left out")
    whole = sum(row.own for row in rows)
    return Table(f"{len(events):,} events, {duration(whole)}", _COLUMNS, rows, None, notes)


def _with_own_time(events: Sequence[Event]) -> Iterator[tuple[Event, float]]:
    """Yield each event with the time in which none that is within it was going on."""
    order = sorted(events, key=lambda e: (e.thread, e.start, -e.end))
    own = [e.end - e.start for e in order]
    around: list[int] = []
    for i, event in enumerate(order):
        while around and (
            order[around[-1]].thread != event.thread or order[around[-1]].end < event.end
        ):
            around.pop()
        if around:
            own[around[-1]] -= event.end - event.start
        around.append(i)
    return zip(order, own, strict=True)


def profile() -> contextlib.AbstractContextManager[Profile]:
    """Return a context that records times, and why jitted functions are traced.

    Returns
    -------
    Profile
        The context manager. After the block, or within it, it prints as a table: in a notebook as HTML, and by its method `print` in
        colour if rich is installed. ``table()`` returns its rows as plain data. ``trace("file.json")`` writes a file for
        https://ui.perfetto.dev and chrome://tracing. ``traced`` says why each jitted function was traced: the argument whose shape,
        dtype, structure or static value differs from the nearest known call. ``decisions`` says which programs have kernels, and
        why others have none.

    Notes
    -----
    It records traces of functions, rewritings of programs (derivatives, batches), compilations (of kernels in their own thread, too), and calls of
    programs. Within a program it records each call of a library's function or a kernel, with the line of your function that caused it. A gradient that is
    computed while it is made, the first time, is one call. What is noted is that of all threads, except of those that are in a
    block with settings of its own, such as `debug_nans`, since before. Python's operators on numbers, and assignments to
    elements, have no entry of their own. Of a GPU, calls are noted and not what they have it do.

    Noting takes about a microsecond for each call, and jitted functions are dispatched the long way, so what is small appears slower than it
    is; large arrays tell the truth. Programs are compiled once more to be observed. Outside of such blocks nothing is slower. Profiles may be nested.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> f = fg.jit(lambda x: np.sum(np.sin(x)))
    >>> with fg.profile() as p:
    ...     _ = f(np.ones(3)), f(np.ones(4))
    >>> [t.why for t in p.traced]  # doctest: +ELLIPSIS
    ['traced jit(<lambda>): this is its first call', 'retraced jit(<lambda>): argument x went from float64[3] to float64[4]']
    >>> sorted({row.kind for row in p.table() if row.kind != "kernels"})
    ['call', 'compile', 'jit', 'library', 'trace']
    """
    return Profile()
