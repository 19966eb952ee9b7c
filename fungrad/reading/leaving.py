"""Functions that are not read: those that their author wants so, and why others are not."""

from __future__ import annotations

from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar

from fungrad.core.reading import replaced
from fungrad.reading.functions import (
    AS_WRITTEN,
    IS_READ,
    NEEDS_NOTHING,
    OF_LIBRARY,
    Reading,
    readings,
    with_code,
)
from fungrad.reading.sites import NotRecorded

__all__ = ["as_written"]
__dir__ = __all__.copy

F = TypeVar("F")

WHY = "fungrad.as_written says so"

USUAL = frozenset(["", NEEDS_NOTHING, IS_READ, OF_LIBRARY])


def as_written(fun: F) -> F:
    """Decorate a function that is to run as it is written: transforms do not read its source.

    Under a transform, its loops are unrolled, its conditions are asked for their values, and functions such as ``math.sin``
    refuse what is traced. So it is for the functions that are defined in it, and not for those that it calls by name.

    Parameters
    ----------
    fun
        A function, a method, or what `staticmethod` or `classmethod` makes of a function.

    Returns
    -------
    The function itself, which is marked. A function that is defined in one that has been read is the one that was written.

    Raises
    ------
    TypeError
        If it is anything else: a class, or what a transform has made.

    Examples
    --------
    >>> import math
    >>> import fungrad as fg
    >>> @fg.as_written
    ... def f(x):
    ...     return math.sin(x)
    >>> try:
    ...     fg.grad(f)(0.0)
    ... except fg.LostDerivativeError:
    ...     print("math.sin takes numbers alone")
    math.sin takes numbers alone
    """
    kind = type(fun)
    if kind in (staticmethod, classmethod, MethodType):
        as_written(fun.__func__)  # type: ignore[attr-defined]
        return fun
    if kind is not FunctionType:
        raise TypeError(
            f"as_written takes a function that is defined by `def` or `lambda`, not {fun!r:.60} of type {kind.__name__}: write "
            "it right above that function, below decorators such as fungrad.jit"
        )
    function: Any = fun
    known = readings.known(function.__code__)
    original = None if known is None else known.original
    if original is not None and original is not function.__code__:
        function = with_code(function, original)
    vars(function)[AS_WRITTEN] = True
    replaced.pop(id(function), None)
    for code in _inside(function.__code__):
        reading = Reading(code, None, WHY)
        reading.strict = NotRecorded("it calls a function that is as it is written")
        readings.keep(code, reading)
    return function  # type: ignore[no-any-return]


def _inside(code: CodeType) -> list[CodeType]:
    """Return the code of the functions that are defined in one."""
    found, waiting = list[CodeType](), [code]
    while waiting:
        inner = [x for x in waiting.pop().co_consts if isinstance(x, CodeType)]
        found += inner
        waiting += inner
    return found


def why_not_read(code: CodeType) -> str:
    """Return why a function was not read though it might have been; "" if it was, or would be as it is."""
    known = readings.known(code)
    if known is None or known.code is not None or known.why in USUAL:
        return ""
    return known.why
