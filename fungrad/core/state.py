"""State of a running call, and its restoration at the end of the call, errors included.

All such state is in context variables made here, so threads and tasks have their own. Blocks set them and reset them.
But an exception can arrive between any two instructions (Ctrl-C, a timer's signal), also in the blocks'
own code, so no block can promise to reset. Instead, each call from outside keeps the context it started with, and
where an exception passes, everything is put back to that: see `api_boundary` in `core/errors.py`.

Design: docs/design/07-state-survives-interrupts.md.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_variables: list[tuple[contextvars.ContextVar[Any], Any]] = []
_borrowed: list[tuple[contextvars.ContextVar[Any], Any, Callable[[], bool]]] = []
_repairs: list[Callable[[contextvars.Context], None]] = []


def state_variable(name: str, default: T) -> contextvars.ContextVar[T]:
    """Return a new context variable that `put_back` knows. For module level: it is known for good."""
    variable = contextvars.ContextVar(name, default=default)
    _variables.append((variable, default))
    return variable


def borrow(
    variable: contextvars.ContextVar[Any], default: Any, is_ours: Callable[[], bool]
) -> None:
    """Let `put_back` know a context variable of another package.

    It is put back where `is_ours` says that its value is of fungrad's making: what users set stays.
    """
    _borrowed.append((variable, default, is_ours))


def repair(
    function: Callable[[contextvars.Context], None],
) -> Callable[[contextvars.Context], None]:
    """Register a function that `put_back` calls first, with the old context, to restore other state."""
    _repairs.append(function)
    return function


class holding(Generic[T]):
    """Context in which a state variable has a value."""

    __slots__ = ("_before", "_value", "_variable")

    def __init__(self, variable: contextvars.ContextVar[T], value: T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> None:
        self._before = self._variable.get()
        self._variable.set(self._value)

    def __exit__(self, *_: object) -> None:
        self._variable.set(self._before)


class chosen(contextlib.ContextDecorator, Generic[T]):
    """Like `holding`, for blocks of users, around which there is no call that puts back.

    `value` gives the value in the block, of that at its start. Python looks for signals at the start of a function
    and after a call of one. One that comes in `__enter__`, when the variable is set, is mended there. After one that
    comes in `__exit__`, before the variable is set back, that is done as soon as the traceback lets go of this
    object.
    """

    def __init__(self, variable: contextvars.ContextVar[T], value: Callable[[T], T]) -> None:
        self._variable = variable
        self._value = value
        self._entered: list[tuple[T, T]] = []  # by each block: the value before, and that in it
        self._thread = threading.get_ident()

    def _recreate_cm(self) -> chosen[T]:
        return chosen(self._variable, self._value)

    def __enter__(self) -> None:
        before = self._variable.get()
        value = self._value(before)
        self._entered.append((before, value))
        try:
            self._variable.set(value)
        except BaseException:
            self._variable.set(before)
            raise

    def __exit__(self, *_: object) -> None:
        self._variable.set(self._entered[-1][0])
        self._entered.pop()

    def __del__(self) -> None:
        # Another thread, whose garbage collector finds this, has a value of its own.
        entered = getattr(self, "_entered", ())  # `__init__` may have been cut off, too
        if entered and threading.get_ident() == self._thread:
            (before, _), (_, value) = entered[0], entered[-1]
            if self._variable.get() is value:
                self._variable.set(before)


def put_back(before: contextvars.Context) -> None:
    """Restore the state of a context. It may be called any number of times."""
    for function in _repairs:
        function(before)
    for variable, default in _variables:
        value = before.get(variable, default)
        if variable.get() is not value:
            variable.set(value)
    for variable, default, is_ours in _borrowed:
        value = before.get(variable, default)
        if variable.get() is not value and is_ours():
            variable.set(value)
