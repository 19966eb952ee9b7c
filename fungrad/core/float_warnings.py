"""NumPy's warnings of divisions by zero, overflows and invalid values, at the user's lines.

What is recorded runs later, when the user's line is over, and NumPy would name a line of fungrad. So NumPy is asked to call
`_warn`, which finds the running equation and its place. Warnings that are switched off, or errors, stay that.

Design: docs/design/08-lines-and-warnings.md.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
import warnings
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy as np

from fungrad.core.errors import InDerivative, Place, Source, line_of, resolve_source
from fungrad.core.frames import ARRAYS, called_in, is_internal, operator_in, outwards, package_of
from fungrad.core.state import borrow, holding

Function = TypeVar("Function")
ORIGINS = "__origins__"
"""Name of a compiled program's global that maps instructions to primitives and their places."""


def _warn(kind: str, flag: int) -> None:
    """Warn as NumPy would, but at the line that recorded the running equation. NumPy calls this."""
    name, source, silent = _running(sys._getframe(1))
    if kind in silent:
        return
    where = ""
    if isinstance(source, InDerivative):
        where = ", in the backward pass" if source.backward else ", in the derivative"
        source = source.source
    if isinstance(source, tuple):
        _warn_of(kind, name, where, source)
        return
    # It is computed at once.
    frame = next(
        (f for f in outwards() if package_of(f) not in ARRAYS and ORIGINS not in f.f_globals), None
    )
    if frame is not None and not name:
        name = operator_in(frame) or called_in(frame)[0].rpartition(".")[2]
    _warn_of(kind, name, where, None if frame is None else _place(frame))


_local = threading.local()


def warnings_given() -> int:
    """Return how many of these this thread has given."""
    return getattr(_local, "given", 0)


def _warn_of(kind: str, name: str, where: str, place: Place | None) -> None:
    _local.given = warnings_given() + 1
    message = f"{kind} encountered{f' in {name}' if name else ''}{where}"
    if place is None:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
        return
    file = place[0].co_filename
    warnings.warn_explicit(
        message, RuntimeWarning, file, line_of(place), module_of(file), registry_of(file)
    )


@functools.lru_cache(maxsize=1 << 8)
def registry_of(file: str) -> dict[Any, Any]:
    """Return the registry by which a line is warned of once."""
    return {}


@functools.lru_cache(maxsize=1 << 8)
def module_of(file: str) -> str:
    """Return the name of the module in a file of source, which filters of warnings may ask for."""
    for name, module in sys.modules.copy().items():  # others may import meanwhile
        if getattr(module, "__dict__", {}).get("__file__") == file:
            return name
    return file.removesuffix(".py")  # as `warnings` has it where no name is given


def _place(frame: FrameType) -> Place:
    return frame.f_code, frame.f_lasti


def _running(frame: FrameType | None) -> tuple[str, Source | None, set[str]]:
    """Return the primitive that runs, its place, and the errors that are ignored there.

    Where that is not known, as of what a rewriting made, it is where the program was that holds the equation. There is no name if it is a function
    of the user's that runs inside of a program.
    """
    name, known, found, silent = "", None, None, set[str]()
    while frame is not None:
        origin = None
        origins = frame.f_globals.get(ORIGINS)
        if origins is not None:
            origin = origins.at(frame.f_code, frame.f_lasti)
        elif frame.f_code in _runners:
            origin = tuple([frame.f_locals[name] for name in frame.f_code.co_varnames[:2]])
        elif not is_internal(frame) and package_of(frame) not in ("numpy", "scipy"):
            break
        if origin is not None:
            primitive, source = origin
            source = resolve_source(source)
            name = name or primitive.name
            place = source.source if isinstance(source, InDerivative) else source
            silent.update(getattr(place, "silent", ()))
            if isinstance(known, InDerivative):
                source = known._replace(source=place)
            if isinstance(place, tuple):
                found = found or source
            known = known or source
        frame = frame.f_back
    return name, found or known, silent


_runners: set[CodeType] = set()


def runs_equation(function: Function) -> Function:
    """Declare a function that runs an equation: its first two arguments are the primitive and its place."""
    _runners.add(function.__code__)  # type: ignore[attr-defined]
    return function


def _with_calls(function: Any = _warn, **modes: Any) -> contextvars.Context:
    """Return a context in which NumPy has these modes, and calls `function` where one is "call"."""
    with np.errstate(**modes, call=function):
        return contextvars.copy_context()


_CALLS = _with_calls(divide="call", over="call", invalid="call")  # it ignores underflow
float_modes: contextvars.ContextVar[Any] = next(
    (v for v in _CALLS if v.name == "numpy.ufunc.extobj"),
    contextvars.ContextVar("unknown", default=None),
)
"""NumPy's variable of floating-point error modes; an unused one where NumPy has none."""

usual_modes = contextvars.Context().run(float_modes.get)
calling_modes = _CALLS.get(float_modes)
"""The modes of NumPy when nobody has changed them, and those with calls in place of warnings."""
silent_modes = _with_calls(divide="ignore", over="ignore", invalid="ignore", under="ignore").get(
    float_modes
)
"""Modes in which NumPy says nothing; of ours, so that they are put back."""
borrow(float_modes, usual_modes, lambda: np.geterrcall() is _warn)


def modes_that_call(function: Any) -> Any:
    """Return the usual modes with calls of a function in place of warnings."""
    return _with_calls(function, divide="call", over="call", invalid="call").get(float_modes)


def at_users_lines() -> holding[Any]:
    """Return the context in which NumPy's warnings are of the user's lines."""
    return holding(float_modes, modes_with_calls())


def modes_with_calls() -> Any:
    """Return the value of `float_modes` in which NumPy calls `_warn` where it would warn."""
    now = float_modes.get()
    return calling_modes if now is usual_modes or now is calling_modes else _changed(now)


@functools.lru_cache(
    maxsize=1 << 6
)  # modes do not change: who changes them puts others in their place
def _changed(now: Any) -> Any:
    """Return unusual modes with calls in place of warnings; unchanged if there are calls in them."""
    modes = np.geterr()
    ours = {kind: "call" for kind, mode in modes.items() if mode == "warn"}
    if not ours or "call" in modes.values() or "log" in modes.values():
        return now
    return _with_calls(**ours)[float_modes]
