"""Checks of values at run time: a failure is raised, or collected by an enclosing `collecting` block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from fungrad.core.errors import FungradError
from fungrad.core.state import holding, state_variable


class CheckError(FungradError, ValueError):
    """A check of the user's has failed.

    Examples
    --------
    >>> from fungrad.experimental import checkify
    >>> try:
    ...     checkify.check(False, "x is {}", 3.0)
    ... except CheckError as error:
    ...     print(str(error).split(",")[0])
    x is 3.0 (`check` failed)
    """


class _Collector(NamedTuple):
    """Kinds of failures that are collected instead of raised, and the failures so far."""

    kinds: frozenset[str]
    failures: list[Exception]
    outer: _Collector | None


_NOBODY: _Collector | None = None
_collector = state_variable("collector", _NOBODY)


@contextlib.contextmanager
def collecting(kinds: frozenset[str]) -> Iterator[list[Exception]]:
    """Context that yields a list and collects failures of `kinds` there, while the run goes on."""
    collector = _Collector(kinds, [], _collector.get())
    with holding(_collector, collector):
        yield collector.failures


def _collector_of(kind: str) -> _Collector | None:
    collector = _collector.get()
    while collector is not None and kind not in collector.kinds:
        collector = collector.outer
    return collector


def is_collected(kind: str) -> bool:
    """Whether an enclosing block collects failures of a kind."""
    return _collector_of(kind) is not None


def report(kind: str, failure: Exception) -> None:
    """Raise `failure`, or add it to the innermost list that collects its kind."""
    collector = _collector_of(kind)
    if collector is None:
        raise failure
    collector.failures.append(failure)
