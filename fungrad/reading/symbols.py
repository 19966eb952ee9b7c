"""Whether Python may have the value of something traced, or is to go on without it."""

from __future__ import annotations

from typing import Any

from fungrad.core.tracer import Tracer

__all__ = ["is_symbolic"]


def is_symbolic(x: Any) -> bool:
    """Whether `x` is traced and has no value that may be asked for freely.

    That is so under `jit`, and of the mapped values of `vmap`: there an answer costs a guard, or parts the calls.
    """
    if type(x) is not Tracer:
        return False
    trace: Any = x._owner
    while trace is not None:
        if trace.values is None or getattr(trace, "guarded", False):
            return trace.values is not None or trace.constant(x._variable) is None
        trace = trace.outer
    return False
