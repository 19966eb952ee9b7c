"""New arrays that elements will be assigned to: they become traced, so that they take traced elements."""

from __future__ import annotations

import collections
import sys
import types
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from fungrad.core.nesting import evaluated_now
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.reading.libraries import is_left_alone
from fungrad.reading.special import is_users
from fungrad.reading.symbols import all_have_values

__all__ = ["filled"]


def filled(x: Any, attributes: Collection[str] | None = None) -> Any:
    """Return a new array, or a new object that holds some, with arrays that take traced elements.

    Of an object, those in `attributes` alone, if these are given. Arrays and objects that something else holds, and integers where
    traced ones have values, stay as they are.
    """
    kind = type(x)
    if kind in _PLAIN or sys.getrefcount(x) > _NEW:
        return x
    trace = innermost_trace()
    if trace is None or trace.mode.rewriting or _is_called_back(trace):
        return x
    return _array(x, trace) if kind is np.ndarray else _inside(x, trace, attributes)


_PLAIN = frozenset([Tracer, float, int, bool, str, complex, type(None)])


def _array(x: np.ndarray, trace: Any) -> Any:
    kind = x.dtype.kind
    if kind not in "fc" and not (kind in "biu" and not all_have_values(trace)):
        return x
    base = x.base
    while type(base) is np.ndarray:
        if sys.getrefcount(base) > 3:  # that of `x`, or of the one before it; `base`; the argument
            return x
        base = base.base
    if base is not None:
        return x
    from fungrad.numpy.staging import in_trace

    return in_trace(x, ())


_DICTS = (dict, collections.OrderedDict, collections.defaultdict)


def _inside(x: Any, trace: Any, attributes: Collection[str] | None = None) -> Any:
    """Return a new list, tuple, dict or object of the user's with arrays that take traced elements."""
    kind = type(x)
    if kind is list or kind is collections.deque:
        _replace(x, range(len(x)), trace)
    elif kind in _DICTS:
        _replace(x, [*x], trace)
    elif isinstance(x, tuple):
        if kind is tuple or hasattr(kind, "_make"):
            parts = [*x]
            _replace(parts, range(len(parts)), trace, _HELD + 1)  # by the tuple, too
            x = tuple(parts) if kind is tuple else kind._make(parts)
    elif _is_read(kind) or kind is types.SimpleNamespace:
        inside = getattr(x, "__dict__", None)
        if type(inside) is dict:
            names = inside if attributes is None else [x for x in attributes if x in inside]
            _replace(inside, [*names], trace)
    return x


def _replace(container: Any, keys: Iterable[Any], trace: Any, most: int | None = None) -> None:
    """Replace the arrays in a list or dict that have at `most` so many references."""
    most = _HELD if most is None else most
    for key in keys:
        each = container[key]
        if type(each) in _PLAIN or sys.getrefcount(each) > most:
            continue
        new = _array(each, trace) if type(each) is np.ndarray else _inside(each, trace)
        if new is not each:
            container[key] = new


def _is_read(kind: type) -> bool:
    """Whether methods of a class, which may write to arrays in attributes, are read."""
    return is_users(kind) and not is_left_alone(kind.__module__, "")


def _is_called_back(trace: Any) -> bool:
    """Whether a running program has called, outside of all traces."""
    evaluated, since = evaluated_now.get()
    return evaluated < sys.maxsize and bool(trace.level < since)


def _expected() -> tuple[int, int]:
    """Count the references to an object that one call holds, and to one in a list and a variable."""

    def count(x: Any) -> int:
        return sys.getrefcount(x)

    def held(container: Any) -> int:
        each = container[0]
        return sys.getrefcount(each)

    return count(np.zeros(3)), held([np.zeros(3)])


_NEW, _HELD = _expected()
