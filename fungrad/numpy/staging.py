"""Arrays made or taken without tracers that still belong to the traced function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.nesting import stage
from fungrad.core.tracer import innermost_trace
from fungrad.core.types import kind_of
from fungrad.numpy.memory import like
from fungrad.numpy.views import created


def on_stage(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], numbers: tuple[type, ...] = ()
) -> tuple[Any, ...]:
    """Return arguments with the first array, or one of `numbers`, as a tracer where constants are staged.

    Within branches what is computed of constants may never run; where it is written into an array of NumPy, it must now.
    """
    trace = stage()
    if trace is None or kwargs.get("out") is not None:
        return args
    for i, x in enumerate(args):
        if type(x) is list and not any(isinstance(row, np.ndarray) for row in x):
            try:
                x = np.asarray(x)
            except ValueError:  # rows of different lengths
                continue
        array = type(x) is np.ndarray or isinstance(x, np.generic)
        if type(x) in numbers or (array and kind_of(x.dtype) in "biufc"):
            return (*args[:i], trace.lift(x), *args[i + 1 :])
    return args


def in_trace(result: Any, args: tuple[Any, ...]) -> Any:
    """Return a new array as a tracer of the function that is being traced, if one is."""
    if settings.get().narrow:
        from fungrad.numpy.narrow import narrowed  # few programs need it

        result = narrowed(result)
    trace = innermost_trace()
    if trace is None or trace.mode.rewriting:
        return result
    if type(result) is tuple:  # of linspace(retstep=True)
        return (in_trace(result[0], args), *result[1:])
    if type(result) is not np.ndarray or kind_of(result.dtype) not in "biufc":
        return result
    if args and result is args[0]:
        return result
    made = created(trace.lift(result))
    return like(made, (result,))
