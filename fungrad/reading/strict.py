"""Bodies of loops and branches as functions, traced once for many rounds or for a branch not taken.

Nothing but computing may happen in them: what else is called, or written to, ends the attempt before it happens, and Python runs the
loop or branch itself.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
from collections.abc import Iterator
from types import BuiltinFunctionType, BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from fungrad.core.state import holding, state_variable
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import Portable
from fungrad.reading import functions
from fungrad.reading.computing import PURE, WRITING
from fungrad.reading.libraries import is_left_alone
from fungrad.reading.sites import NotRecorded, WritesTo

__all__ = [
    "EXIT",
    "body_level",
    "leave_to_outer",
    "strictly_called",
    "traced_once",
    "updated",
    "written",
]

body_level = state_variable("body_level", 0)
"""The level of the trace of the innermost body; arrays of lower ones are not written to."""

bodies: contextvars.ContextVar[frozenset[Any]] = state_variable("bodies", frozenset())
"""Places of the loops and branches whose bodies are being traced; recursion comes to one again."""


@contextlib.contextmanager
def traced_once(place: Any) -> Iterator[None]:
    """Context in which a body is traced; raises `NotRecorded` if recursion enters it again."""
    entered = bodies.get()
    if place in entered:
        raise NotRecorded("the function calls itself")
    with holding(bodies, entered | {place}):
        yield


def leave_to_outer(reason: BaseException) -> None:
    """Raise again what a loop or branch around the one at hand can mend: it is to hand an array on."""
    if isinstance(reason, WritesTo) and bodies.get():
        raise reason


READING = frozenset(["copy", "count", "get", "index", "items", "keys", "values"])
"""Methods of lists and dicts that change nothing."""

CHANGING = frozenset(
    [
        "byteswap",
        "fill",
        "itemset",
        "partition",
        "put",
        "resize",
        "setfield",
        "setflags",
        "sort",
        "tofile",
    ]
)
"""Methods of arrays that change these, or write elsewhere."""

LIBRARIES = ("fungrad.numpy", "fungrad.lax", "fungrad.nn", "fungrad.scipy", "fungrad.primitives")


class EXIT(tuple[Any, ...]):
    """How a body ended: a kind, the value returned, and its variables."""

    __slots__ = ()

    def __new__(cls, kind: Any, value: Any, names: dict[str, Any]) -> EXIT:
        return super().__new__(cls, (kind, value, names))


def strictly_called(x: Any) -> Any:
    """Return what is called in the place of `x`, if it does nothing but compute.

    Raises
    ------
    NotRecorded
        If it may do more, or nobody knows.
    """
    kind = type(x)
    stand_in = functions.stand_in_of(x)
    if stand_in is not None:
        return stand_in
    if kind is FunctionType:
        return _function(x)
    if kind is MethodType:
        owner = x.__self__
        if type(owner) is Tracer:
            _check_method(x.__name__, owner)
            return functions.called(x)
        made = functions.called(x)
        if made.__func__ is not x.__func__ and is_left_alone(type(owner).__module__, ""):
            return made  # of SciPy's
        return MethodType(_function(x.__func__), owner)
    if id(x) in PURE or isinstance(x, np.ufunc | Portable):
        return x
    module = getattr(x, "__module__", None) or ""
    name = getattr(x, "__name__", "")
    if kind in (BuiltinFunctionType, BuiltinMethodType):
        return _compiled(x, module, name)
    if module.startswith("numpy") and "random" not in module and name not in WRITING:
        return x
    if isinstance(x, type) and (module.startswith(("numpy", "fungrad")) or _is_plain_record(x)):
        return x
    if kind is functools.partial:
        return functools.partial(strictly_called(x.func), *x.args, **x.keywords)
    call = getattr(kind, "__call__", None)  # noqa: B004 - it is read
    if type(call) is FunctionType:
        return MethodType(_function(call), x)
    raise NotRecorded(f"it calls {name or kind.__name__}, which may do more than compute")


def _is_plain_record(x: type) -> bool:
    """Whether a class makes tuples with names."""
    return issubclass(x, tuple) and hasattr(x, "_fields")


def _function(x: FunctionType) -> Any:
    module = x.__module__ or ""
    if module.startswith("numpy"):
        if "random" in module or x.__name__ in WRITING:
            raise NotRecorded(f"it calls numpy's {x.__name__}")
        return x
    if module.startswith(LIBRARIES):
        return x
    made = functions.strict(x)
    if made is None:
        raise NotRecorded(f"it calls {x.__name__}, whose source is not read")
    return made


def _compiled(x: Any, module: str, name: str) -> Any:
    owner = getattr(x, "__self__", None)
    if isinstance(owner, np.ndarray | np.generic):
        if name in CHANGING:
            raise NotRecorded(f"it calls .{name}(), which changes an array")
        return x
    if isinstance(owner, list | dict | set):
        if name not in READING:
            raise NotRecorded(f"it calls .{name}() of a {type(owner).__name__}, which changes that")
        return x
    if isinstance(owner, str | tuple | int | float | complex | frozenset | bytes):
        return x
    if owner is math or module in ("math", "cmath", "operator"):
        return x
    if module.startswith("numpy") and "random" not in module and name not in WRITING:
        return x
    raise NotRecorded(f"it calls {name}, which may do more than compute")


def _check_method(name: str, owner: Tracer) -> None:
    if name in CHANGING and owner._owner.level < body_level.get():
        raise WritesTo(f"it calls .{name}(), which changes an array from outside of it", owner)


def written(x: Any) -> Any:
    """Return an array whose elements are assigned, if the body made it or may write to it."""
    if type(x) is Tracer and x._owner.level >= body_level.get():
        return x
    kind = "an array" if isinstance(x, Tracer | np.ndarray) else f"a {type(x).__name__}"
    raise WritesTo(f"it assigns elements of {kind} that it does not own", x)


def updated(x: Any) -> Any:
    """Return the left side of ``x += y``, if that changes no object from outside."""
    if isinstance(x, int | float | complex | str | tuple | np.generic | bool):
        return x
    if type(x) is Tracer and (x._owner.level >= body_level.get() or not x._type.shape):
        return x
    raise WritesTo("it updates in place what it does not own", x)
