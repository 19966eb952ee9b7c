"""Bodies of loops and branches as functions, traced once for many rounds or for a branch not taken.

Nothing but computing may happen in them: what else is called, or written to, ends the attempt before it happens, and Python runs the
loop or branch itself.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import dataclasses
import functools
import inspect
import math
from collections.abc import Iterator
from dataclasses import MISSING
from types import BuiltinFunctionType, BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from fungrad.core.state import holding, state_variable
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import Portable
from fungrad.reading import functions
from fungrad.reading.computing import PURE, WRITING
from fungrad.reading.libraries import is_left_alone
from fungrad.reading.outside import Growing, change, open_body, root_of
from fungrad.reading.reasons import Grows, NotYet, WritesTo
from fungrad.reading.sites import NotRecorded
from fungrad.reading.slots import CONTAINERS, check_attribute, is_frozen, keeps_attributes
from fungrad.reading.special import is_users

__all__ = [
    "EXIT",
    "assigning",
    "body_level",
    "leave_to_outer",
    "of_special",
    "own",
    "strict_attribute",
    "strictly_called",
    "traced_once",
    "updated",
    "updating",
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
    """Raise a reason again that a loop or branch around can mend by handing an array on."""
    if isinstance(reason, NotYet) and bodies.get():
        raise reason


READING = frozenset(["copy", "count", "get", "index", "items", "keys", "values"])
"""Methods of lists and dicts that change nothing."""

KEEPING = frozenset(
    ["append", "appendleft", "insert", "pop", "popleft", "reverse", "rotate", "update"]
)
"""Methods that change a list or dict and nothing else, whose length must be the same afterwards."""

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
    """Return the function called in place of `x`, if it does nothing but compute.

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
        if type(owner) is Growing:
            body = open_body.get()
            if body is None or not any(owner is y for y in body.lists):
                raise Grows("it appends to a list", owner)
            return x
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
    if isinstance(x, type):
        if module.startswith(("numpy", "fungrad")) or _is_plain_record(x):
            return x
        return _class(x)
    if kind is functools.partial:
        return functools.partial(strictly_called(x.func), *x.args, **x.keywords)
    call = getattr(kind, "__call__", None)  # noqa: B004 - it is read
    if type(call) is FunctionType:
        return MethodType(_function(call), x)
    raise NotRecorded(f"it calls {name or kind.__name__}, which may do more than compute")


def _class(x: Any) -> Any:
    """Return a maker of objects of a class: a container, or one whose `__init__` only computes."""
    body, kind = open_body.get(), type(x)
    initialize: Any = x.__init__

    def note(made: Any) -> Any:
        return made if body is None else body.make(made)

    def whole(*args: Any, **kwargs: Any) -> Any:
        return note(x(*args, **kwargs))

    def make(*args: Any, **kwargs: Any) -> Any:
        made = note(object.__new__(x))
        strict(made, *args, **kwargs)
        return made

    if x in CONTAINERS or x is set:
        return whole
    plain: tuple[Any, ...] = kind, x.__new__
    if plain != (type, object.__new__) or not is_users(x):
        raise NotRecorded(f"it makes an object of {x.__name__}")
    if not keeps_attributes(x) and not is_frozen(x):
        raise NotRecorded(f"it makes an object of {x.__name__}, which has its own attributes")
    if initialize is object.__init__ or _is_generated(x):
        return whole
    strict = _function(initialize)
    return make


def _is_generated(x: Any) -> bool:
    """Whether `__init__` of a dataclass assigns the fields, and does nothing else."""
    fields = getattr(x, "__dataclass_fields__", None)
    if (
        fields is None
        or x.__init__.__code__.co_filename != "<string>"
        or hasattr(x, "__post_init__")
    ):
        return False
    factories = [each.default_factory for each in fields.values()]
    return all(each is MISSING or each in (list, dict, set) for each in factories)


def strict_attribute(x: Any, name: str) -> Any:
    """Return an attribute that is a property of some class, by a function that only computes."""
    found = inspect.getattr_static(type(x), name, None)
    if type(found) is property and type(found.fget) is FunctionType:
        return _function(found.fget)(x)
    return getattr(x, name)


def of_special(x: Any) -> Any:
    """Return a special method as it was read; in a body, one that only computes."""
    return strictly_called(x) if open_body.get() is not None else functions.callback(x)


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
    if x is dataclasses.replace:
        return replace
    body = open_body.get()
    lists = [y.original for y in body.lists] if body is not None else []
    if lists:
        cells = [y.cell_contents for y in x.__closure__ or ()]
        named = [x.__globals__.get(name) for name in x.__code__.co_names]
        if any(y is z for y in (*cells, *named) for z in lists):
            raise NotRecorded(f"it calls {x.__name__}, which knows a list that it appends to")
    made = functions.strict(x)
    if made is None:
        name = x.__qualname__.rpartition("<locals>.")[2]
        raise NotRecorded(f"it calls {name}, whose source is not read")
    return made


def replace(x: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace` of an object whose class only computes."""
    fields = [each for each in dataclasses.fields(x) if each.init]
    values = {each.name: getattr(x, each.name) for each in fields}
    return strictly_called(type(x))(**values | changes)


def _compiled(x: Any, module: str, name: str) -> Any:
    owner = getattr(x, "__self__", None)
    if isinstance(owner, np.ndarray | np.generic):
        if name in CHANGING:
            raise NotRecorded(f"it calls .{name}(), which changes an array")
        return x
    if isinstance(owner, list | dict | set | collections.deque):
        body = open_body.get()
        if name not in READING and not (body is not None and body.is_made(owner)):
            whole = body is not None and any(owner is y for y in body.outside.whole)
            if name in ("append", "extend") and type(owner) is list and not whole:
                raise Grows("it appends to a list", owner)
            if type(owner) not in CONTAINERS or name not in KEEPING:
                raise NotRecorded(
                    f"it calls .{name}() of a {type(owner).__name__}, which changes that"
                )
            change(owner)
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
    """Return an array, list or dict whose elements are assigned, if the body may change it."""
    if type(x) is Tracer and x._owner.level >= body_level.get():
        return own(x)
    if type(x) in CONTAINERS:
        change(x)
        return _Items(x)
    kind = "an array" if isinstance(x, Tracer | np.ndarray) else f"a {type(x).__name__}"
    raise WritesTo(f"it assigns elements of {kind} that it does not own", x)


def own(x: Tracer) -> Tracer:
    """Return an array of the body, unless it stands for one of an object's in any round."""
    body = open_body.get()
    if body is not None and (given := body.stands_for(root_of(x))) is not None:
        raise WritesTo("it writes to an array from outside of it", given)
    return x


_IN_PLACE = [f"__i{x}__" for x in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")]


class _Items:
    """Stand-in for a list or dict whose elements are assigned, or updated in place."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __getitem__(self, index: Any) -> Any:
        return updated(self._items[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(index) is Tracer:
            kind = type(self._items).__name__
            raise NotRecorded(
                f"it assigns elements of a {kind} at an index that the iteration computes; fill an array"
            )
        self._items[index] = value


def assigning(owner: Any, name: str) -> Any:
    """Return an object one of whose attributes is assigned, if that does nothing else."""
    check_attribute(owner, name)
    change(owner)
    return owner


def updating(owner: Any, name: str) -> Any:
    """Return an object one of whose attributes is updated in place."""
    if hasattr(owner, name):
        updated(getattr(owner, name))
    return assigning(owner, name)


def updated(x: Any) -> Any:
    """Return the left side of ``x += y``, if that changes no object from outside."""
    if isinstance(x, int | float | complex | str | tuple | np.generic | bool):
        return x
    if type(x) is Tracer and (x._owner.level >= body_level.get() or not x._type.shape):
        return own(x) if x._type.shape else x
    body = open_body.get()
    anew = is_users(type(x)) and not any(hasattr(x, name) for name in _IN_PLACE)
    if anew or (body is not None and body.is_made(x)):
        return x
    raise WritesTo("it updates in place what it does not own", x)
