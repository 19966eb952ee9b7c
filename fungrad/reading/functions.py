"""Reading of functions: find the source, rewrite it if needed, keep the result by code object."""

from __future__ import annotations

import functools
import inspect
import weakref
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from fungrad.core.reading import listener, replaced, replacement, tell, unchanged
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.transformed import Portable
from fungrad.reading.libraries import TABLE, is_left_alone
from fungrad.reading.raising import DECORATED, undecorated
from fungrad.reading.rewriting import rewritten, strictly_rewritten, with_constants
from fungrad.reading.sites import NotRecorded
from fungrad.reading.source import (
    Unreadable,
    compiled,
    definition_of,
    only_computes,
    pairs,
)

__all__ = ["called", "is_left_alone", "read"]

AS_WRITTEN = "__fungrad_as_written__"
"""The attribute of a function that is not to be read."""

NEEDS_NOTHING, IS_READ = "nothing in it needs it", "it has been read"
OF_LIBRARY = "it belongs to a library that takes traced arrays, or is compiled"
"""Reasons for which a function stays as it is and lacks nothing."""


class Reading:
    """The reading of a function.

    Parameters
    ----------
    code
        The code to run in its place; None if it stays as it is.
    why
        Why it was not read; "" if it was.
    """

    __slots__ = ("_original", "alive", "code", "strict", "why")

    def __init__(self, original: CodeType, code: CodeType | None, why: str = "") -> None:
        self._original = weakref.ref(original)
        self.code = code
        self.why = why
        self.strict: CodeType | NotRecorded | None = None
        self.alive: weakref.ref[CodeType]

    @property
    def original(self) -> CodeType | None:
        """The code that was read; None if nobody has the function any more."""
        return self._original()


MOST = 1 << 12
"""Most functions whose readings are kept."""


class Readings:
    """The readings of the functions met, by code object; an entry dies with its code."""

    def __init__(self) -> None:
        self._by_id: dict[int, Reading] = {}

    def of(self, function: FunctionType) -> Reading:
        """Return the reading of a function, which is read now if it has not been."""
        code = function.__code__
        if (found := self.known(code)) is not None:
            return found
        made = _made(function)
        self.keep(code, made)
        if made.code is not None:  # it is not to be read again, nor are the functions inside it
            for own, original in pairs(made.code, code):
                self.keep(own, Reading(original, None, IS_READ))
        return made

    def known(self, code: CodeType) -> Reading | None:
        """Return the reading of a function that has been met; None of others."""
        found = self._by_id.get(id(code))
        return found if found is not None and found.alive() is code else None

    def keep(self, code: CodeType, reading: Reading) -> None:
        key, by_id = id(code), self._by_id
        forget = by_id.pop, unchanged.pop  # also when Python ends, and names of modules are gone

        def gone(_: Any) -> None:
            for pop in forget:
                pop(key, None)

        reading.alive = weakref.ref(code, gone)
        if len(by_id) >= MOST:  # what is made of a function holds on to its code
            by_id.clear()
            unchanged.clear()
        by_id[key] = reading
        if reading.code is None:
            unchanged[key] = reading.alive


def _made(function: FunctionType) -> Reading:
    code = function.__code__
    if is_left_alone(function.__module__, code.co_filename):
        return Reading(code, None, OF_LIBRARY)
    if only_computes(code):
        return Reading(code, None, NEEDS_NOTHING)
    try:
        definition, imported = definition_of(code, function.__globals__)
        node, constants = rewritten(definition, function)
        if not constants:
            return Reading(code, None, NEEDS_NOTHING)
        return Reading(code, with_constants(compiled(node, code, imported), constants))
    except Unreadable as reason:
        return Reading(code, None, str(reason))
    except RecursionError:
        return Reading(code, None, "its expressions are nested too deeply")


readings = Readings()


def read(function: Any) -> Any:
    """Return the function that transforms run in the place of one: the same object if it needs no reading."""
    kind = type(function)
    if kind is FunctionType:
        if listener.get() is None and (known := replacement(function)) is not None:
            return known
        if function.__code__ is DECORATED:
            return undecorated(function, read)
        reading = readings.of(function)
        tell("function", function, reading)
        if reading.code is None or AS_WRITTEN in function.__dict__:
            return function
        made = with_code(function, reading.code)
        key = id(function)
        forget = replaced.pop  # also when Python ends, and names of modules are gone
        alive = weakref.ref(function, lambda _: forget(key, None))
        replaced[key] = alive, made, function.__code__
        return made
    if kind is MethodType:
        inner = read(function.__func__)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)
    if kind is functools.partial:
        inner = read(function.func)
        if inner is function.func:
            return function
        return functools.partial(inner, *function.args, **function.keywords)
    if kind is BuiltinFunctionType:  # math.sin itself, say
        stand_in = stand_in_of(function)
        return function if stand_in is None else stand_in
    call = getattr(kind, "__call__", None)  # noqa: B004 - it is read
    if type(call) is FunctionType and not isinstance(function, Portable):
        inner = read(call)
        return function if inner is call else MethodType(inner, function)
    return function


def with_code(function: FunctionType, code: CodeType) -> FunctionType:
    """Return a function with other code that shares globals, cells, defaults and attributes."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple([cells[name] for name in code.co_freevars])
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    made.__doc__ = function.__doc__
    made.__dict__ = function.__dict__
    made.__annotations__ = function.__annotations__
    return made


def strict(function: FunctionType) -> FunctionType | None:
    """Return the function to call where nothing but computing may happen; None if it cannot be read.

    Raises
    ------
    NotRecorded
        If it does more.
    """
    reading = readings.of(function)
    tell("function", function, reading)
    if AS_WRITTEN in function.__dict__:
        return None
    if reading.strict is None:
        if is_left_alone(function.__module__, function.__code__.co_filename):
            return None
        code = reading.original
        if code is None:
            return None
        try:
            node, imported = definition_of(code, function.__globals__)
        except Unreadable:
            return None
        try:
            original = function if function.__code__ is code else with_code(function, code)
            node, constants = strictly_rewritten(node, original)
            made = compiled(node, code, imported)
            reading.strict = with_constants(made, constants)
        except NotRecorded as reason:
            reading.strict = reason
    if isinstance(reading.strict, NotRecorded):
        raise NotRecorded(str(reading.strict))
    return with_code(function, reading.strict)


def stand_in_of(x: Any) -> Any:
    """Return the stand-in for a function or class of a library, or None."""
    found = TABLE.get(x)
    if found is not None and not TABLE.hands_on(x):
        tell("stand_in", x)
    return found


def called(x: Any) -> Any:
    """Return the callable for `x` where a function that was read calls it."""
    if current_trace.get() is None:
        return x
    kind = type(x)
    if kind is FunctionType:
        stand_in = stand_in_of(x)
        return read(x) if stand_in is None else stand_in
    if kind is MethodType:
        return _method(x)
    if kind is Tracer:
        return x
    stand_in = stand_in_of(x)
    if stand_in is not None:
        return stand_in
    if kind is functools.partial:
        inner = called(x.func)
        return x if inner is x.func else functools.partial(inner, *x.args, **x.keywords)
    if kind is type or isinstance(x, type):
        return _class(x)
    if isinstance(x, Portable):
        return x
    if (made := _of_library(x)) is not None:
        return made
    if kind is functools._lru_cache_wrapper:
        return _uncached(x)
    if isinstance(x, np.vectorize):
        import fungrad.numpy as fnp

        return fnp.vectorize(called(x.pyfunc), x.otypes, None, x.excluded, x.cache, x.signature)
    call = getattr(kind, "__call__", None)  # noqa: B004 - it is read
    if type(call) is FunctionType:
        inner = read(call)
        return x if inner is call else MethodType(inner, x)
    return x


def _of_library(x: Any) -> Any:
    """Return the stand-in for an object of SciPy's or for a method of one, or None."""
    owner = getattr(x, "__self__", None)
    if type(owner) is np.ufunc:
        return functools.partial(_with_arrays, x)
    kind = type(x) if owner is None or isinstance(owner, ModuleType) else None
    home = (kind or (owner if isinstance(owner, type) else type(owner))).__module__
    if not (
        isinstance(home, str) and (home.startswith("scipy.") or type(owner).__name__ == "SuperLU")
    ):
        return None
    from fungrad.reading import scipy_objects

    return scipy_objects.stand_in(x) if kind else scipy_objects.method(x, x.__name__)


def _with_arrays(method: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result of a method of a ufunc, which NumPy hands on unless its operands are lists."""
    from fungrad.numpy.promotion import as_array, has_tracer

    first, last = {"at": (2, 3), "outer": (0, 2)}.get(method.__name__, (0, 1))
    return method(
        *[
            as_array(x) if first <= k < last and type(x) in (list, tuple) and has_tracer(x) else x
            for k, x in enumerate(args)
        ],
        **kwargs,
    )


def callback(x: Any) -> Any:
    """Return the function to hand on in the place of `x`, where a library will call it."""
    return x if current_trace.get() is None or not callable(x) else read(x)


def _uncached(x: Any) -> Any:
    """Return a function that keeps what it has computed as one that keeps nothing of what is traced."""

    def function(*args: Any, **kwargs: Any) -> Any:
        traced = any(type(y) is Tracer for y in (*args, *kwargs.values()))
        return (called(x.__wrapped__) if traced else x)(*args, **kwargs)

    return function


def attribute(x: Any, name: str) -> Any:
    """Return an attribute that is a property of some class, by the function that was read."""
    if current_trace.get() is not None:
        found = inspect.getattr_static(type(x), name, None)
        if type(found) is property and type(found.fget) is FunctionType:
            return read(found.fget)(x)
    return getattr(x, name)


def _method(x: MethodType) -> Any:
    function, owner = x.__func__, x.__self__
    if type(owner) is Tracer:
        if x.__name__ in ("item", "tolist"):
            from fungrad.reading.builtin import item, tolist

            return functools.partial(item if x.__name__ == "item" else tolist, owner)
        return x
    found = TABLE.method(type(owner), x.__name__)
    if found is not None:
        return MethodType(found, owner)
    if (made := _of_library(x)) is not None:
        return made
    if type(function) is not FunctionType:
        return x
    inner = read(function)
    return x if inner is function else MethodType(inner, owner)


def _class(x: type) -> Any:
    """Return a class, or a function that makes its objects by the `__init__` that was read."""
    new: Any = x.__new__
    if type(x).__call__ is not type.__call__ or new is not object.__new__:
        return x
    initialize = x.__init__  # type: ignore[misc]
    if type(initialize) is not FunctionType:
        return x
    inner = read(initialize)
    if inner is initialize:
        return x

    def make(*args: Any, **kwargs: Any) -> Any:
        made: Any = object.__new__(x)
        inner(made, *args, **kwargs)
        return made

    return make
