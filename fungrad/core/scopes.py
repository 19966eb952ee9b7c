"""Names that users give to parts of a program, kept with the lines of its equations."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from fungrad.core.errors import InDerivative, Source, resolve_source
from fungrad.core.tracer import innermost_trace


class Scope(NamedTuple):
    """A name, and a number that tells one use of it from another."""

    name: str
    number: int


class ScopedPlace(tuple):  # type: ignore[type-arg]
    """A place in a function of the user's, with the scopes around the equation, outermost first."""

    scopes: tuple[Scope, ...]


_numbers = itertools.count()


@contextlib.contextmanager
def scoped(name: str) -> Iterator[None]:
    """Name the equations that open traces record in the block.

    They record as ever, and their equations are told when the block ends: so names take no time where there are none.
    """
    scope = Scope(name, next(_numbers))
    begun = []
    trace = innermost_trace()
    while trace is not None:
        begun.append((trace, len(trace.sources)))
        trace = trace.outer
    try:
        yield
    finally:
        for trace, start in begun:
            sources = trace.sources
            for i in range(start, len(sources)):
                sources[i] = _within(sources[i], scope)


def _within(source: Source | None, scope: Scope) -> Source | None:
    """Return a source within one more scope; a source without a place of its own is unchanged."""
    if isinstance(source, InDerivative):
        return source._replace(source=_within(source.source, scope))  # type: ignore[arg-type]
    if not isinstance(source, tuple):
        return source
    place = ScopedPlace(source)
    place.scopes = (scope, *scopes_of(source))
    return place


def scopes_of(source: Source | None) -> tuple[Scope, ...]:
    """Return the scopes that an equation was recorded in, the outermost first."""
    resolved = resolve_source(source)
    place = resolved.source if isinstance(resolved, InDerivative) else resolved
    return place.scopes if isinstance(place, ScopedPlace) else ()
