"""The user's line for which rules run: recorded equations and errors are of that line."""

from __future__ import annotations

from fungrad.core.errors import Source, describe_source, here
from fungrad.core.recorder import Recorder
from fungrad.core.tracer import current_trace


def locate(source: Source | None, other: Recorder | None = None) -> None:
    """Say which line the rules run for from now on, in the innermost trace and in an `other` one."""
    for trace in (current_trace.get(), other):
        if trace is not None:
            trace.source = source


def place_of_use() -> str:
    """Describe the line that rules run for, or else the one that is running."""
    trace = current_trace.get()
    source = trace.source if trace else None
    return here() if source is None else describe_source(source)
