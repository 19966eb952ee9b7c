"""Python functions called by programs, whose errors become `JaxRuntimeError`, as under XLA."""

from __future__ import annotations

import functools
import traceback
from typing import Any

import fungrad
import fungrad.debug
import fungrad.experimental
from fungrad.compat.jax.crossing import leave_tree, receiving
from fungrad.core.errors import FungradError, hide_internals
from fungrad.core.tracer import innermost_trace


class JaxRuntimeError(FungradError, RuntimeError):
    """A program has failed while it ran: a function that it calls has raised an error, which is the cause."""


JaxRuntimeError.__module__ = "jax.errors"


def _failing(callback: Any) -> Any:
    """Return a callback whose errors are the program's, with tracebacks as text for libraries to read."""
    received = receiving(callback)
    if not callable(received):
        return received

    @functools.wraps(received)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return received(*args, **kwargs)
        except Exception as error:
            hide_internals(error)
            trail = "".join(traceback.format_exception(error))
            raise JaxRuntimeError(
                f"INTERNAL: CpuCallback error calling callback: {trail}"
            ) from error

    return called


def pure_callback(
    callback: Any,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: Any = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function when the program runs."""
    options = {**kwargs, "vmap_method": vmap_method}
    called = _failing(callback)
    return leave_tree(fungrad.pure_callback(called, result_shape_dtypes, *args, **options))


def io_callback(
    callback: Any,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function for its effect when the program runs."""
    called, options = _failing(callback), {**kwargs, "ordered": ordered}
    return leave_tree(
        fungrad.experimental.io_callback(called, result_shape_dtypes, *args, **options)
    )


def debug_callback(
    callback: Any = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function for its effect; without a compiled program its errors are its own."""
    if callback is None:
        return functools.partial(debug_callback, ordered=ordered, **kwargs)
    trace = innermost_trace()
    staged = trace is not None and trace.values is None
    called = (_failing if staged else receiving)(callback)
    return fungrad.debug.callback(called, *args, ordered=ordered, **kwargs)
