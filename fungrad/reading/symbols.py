"""Whether Python may have the value of something traced, or is to go on without it."""

from __future__ import annotations

from typing import Any

from fungrad.core.tracer import Tracer, resolve

__all__ = ["all_have_values", "is_symbolic"]


def is_symbolic(x: Any) -> bool:
    """Whether `x` is traced and has no value that may be asked for freely.

    That is so under `jit`, and of the mapped values of `vmap`: there an answer costs a guard, or parts the calls.
    """
    if type(x) is not Tracer:
        return False
    trace: Any = x._owner
    if trace.values is None:
        return trace.constant(x._variable) is None
    while (trace := trace.outer) is not None:
        if trace.values is None:
            return type(resolve(x)) is Tracer
    return False


def all_have_values(trace: Any) -> bool:
    """Whether all values in `trace` and the traces around it are known: none is of `jit` or `vmap`."""
    while trace is not None and trace.values is not None:
        trace = trace.outer
    return trace is None
