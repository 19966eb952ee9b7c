"""Constants within transformed functions: plain arrays, as in JAX, which may leave the function.

fungrad makes traced arrays of constants, so that traced ones can be assigned to their elements. Arrays of JAX need not allow
that. Within `jit`, and in the bodies of loops and branches, they are traced by JAX too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.compat.jax.array import Array, Weak
from fungrad.core.lattice import WeakArray, weak_array
from fungrad.core.recorder import Recorder
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer, current_trace, innermost_trace

_PLAIN = frozenset(
    [np.ndarray, Array, Weak, WeakArray, bool, int, float, complex, str, type(None), range]
)
LIKE = frozenset(["empty_like", "full_like", "ones_like", "zeros_like"])
"""Functions that take of their first argument its type alone."""

AT_ONCE: set[type] = set()
"""Classes of traces, beside fungrad's own, in which computation on constants runs at once."""


def _passes(trace: Any) -> bool:
    """Return whether computation on constants in a trace runs at once."""
    if trace.values is not None or type(trace) in AT_ONCE:
        return True
    return not trace.mode.branch and trace.label.startswith("vmap(")


def home() -> Recorder | None:
    """Return the trace that constants made here belong to; None if they are plain arrays."""
    trace = innermost_trace()
    while trace is not None and _passes(trace):
        trace = trace.outer
    return trace


def is_constant(x: Any) -> bool:
    """Return whether an argument holds nothing that is traced, as far as that can be told."""
    cls = type(x)
    if cls is list or cls is tuple:
        return all(map(is_constant, x))
    if cls is dict:
        return all(map(is_constant, x.values()))
    if cls is slice:
        return all(map(is_constant, (x.start, x.stop, x.step)))
    return cls in _PLAIN or isinstance(x, (np.generic, np.dtype, type))


def _type_alone(x: Any) -> Any:
    """Return an array of the type of a traced one."""
    made = np.broadcast_to(np.zeros((), x.dtype), x.shape)
    return weak_array(made) if x._type.weak else made


def at_home(function: Callable[..., Any], like: bool = False) -> Callable[..., Any]:
    """Return a function that is called where constants belong, if its arguments are some.

    If its results are `like` the first argument, that may be traced.
    """

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        given = args
        if like and args and type(args[0]) is Tracer and args[0].dtype.kind != "V":
            given = (_type_alone(args[0]), *args[1:])
        trace = current_trace.get()
        if trace is None or not all(map(is_constant, (*given, *kwargs.values()))):
            return function(*args, **kwargs)
        own = home()
        if own is trace:
            return function(*args, **kwargs)
        with holding(current_trace, own):
            return function(*given, **kwargs)

    return called
