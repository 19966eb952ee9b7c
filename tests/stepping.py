"""Watching Python run, instruction by instruction."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

Trace = Callable[[FrameType, str, Any], Any]
"""A trace function, as `sys.settrace` takes it."""


def traced(trace: Trace, call: Callable[[], Any]) -> Any:
    """Make a call under a trace function; return its result."""
    before = sys.gettrace()
    # Python 3.12 has no events of instructions if nothing asked for them before a trace function is set.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)


def step_through(frame: FrameType, step: Trace) -> Trace:
    """Let `step` see the instructions of a frame that is entered, and not its lines; the trace function returns this."""
    # In this order: where no function was set before, Python 3.13 and later send no events of instructions until the
    # frame returns, or is entered again.
    frame.f_trace = step
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    return step
