"""Warnings of lines that cut a derivative or mistake a tracer.

``float(x)`` of a tracer is a constant, and a tracer is no instance of ``np.ndarray``. Both are right, and both can be a mistake that no
error shows. If a derivative is zero because of such a line, the warning names it. With the setting
`strict_conversions` each such line is reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.errors import StrictConversionWarning
from fungrad.core.frames import (
    find,
    is_installed,
    is_internal,
    names_in,
    operation_at,
    outwards,
    package_of,
    user_frame,
)
from fungrad.core.recorder import Recorder
from fungrad.core.types import ArrayType


def _report(message: str) -> None:
    """Warn of the user's line that is running, once per line."""
    frame, _ = user_frame()
    if frame is not None:
        warn_of_line(message, frame.f_code, frame.f_lineno, frame.f_globals)


def warn_of_line(message: str, code: CodeType, line: int, scope: dict[str, Any]) -> None:
    """Warn of a line of a module, once."""
    registry = scope.setdefault("__warningregistry__", {})
    name = scope.get("__name__")
    warnings.warn_explicit(message, StrictConversionWarning, code.co_filename, line, name, registry)


def note_conversion(trace: Recorder, variable: int, what: str) -> None:
    """Record the line that makes a number of a variable with a tangent; warn if the setting is on.

    `what` is ``float(...)`` or ``.item()``, say.
    """
    asks = next(f for f in outwards() if f.f_globals.get("__name__") not in _OF_TRACERS)
    if is_internal(asks):
        return
    if settings.get().conversions_checked:
        type_ = trace.types[variable]
        _report(
            cut(f"makes a constant of a traced array of type {type_}: derivatives end there", what)
        )
        return
    frame, _ = user_frame()
    if frame is not None and len(trace.facts.cuts) < _MOST_CUTS:
        line = frame.f_code, frame.f_lineno
        trace.facts.cuts = {line: (variable, what, frame.f_globals), **trace.facts.cuts}


_MOST_CUTS = 100
"""Most lines that are recorded for a trace."""


def cut(happens: str, what: str) -> str:
    """Return the message for a line that makes a constant of a traced value."""
    call = what.replace("...", "{0}") if "..." in what else f"{{0}}{what}"
    return (
        f"{call.format('x')} {happens}. Keep it an array, with functions of fungrad.numpy; where a constant is meant, write "
        f"{call.format('fungrad.stop_gradient(x)')}."
    )


_OF_TRACERS = ("fungrad.core.tracer", "fungrad.core.errors", __name__, "fungrad.core.frames")


# isinstance


def report_isinstance(type_: ArrayType, frame: FrameType) -> None:
    """Warn if ``isinstance(x, C)`` or ``np.isscalar(x)`` in `frame` would be true of the traced array."""
    while frame.f_code.co_name == "__instancecheck__" and frame.f_back is not None:
        frame = frame.f_back  # of an abstract class, such as numbers.Number
    if package_of(frame) == "numpy":
        if frame.f_code.co_name == "isscalar" and not type_.shape:
            _report(
                f"np.isscalar(x) is False for a tracer of type {type_}, and can be True without a transformation. Write "
                "np.ndim(x) == 0."
            )
        return
    if is_internal(frame) or is_installed(frame.f_code.co_filename):
        return
    operation = operation_at(frame)
    if not operation.startswith(("CALL", "MATCH_CLASS")):
        return
    names = names_in(frame)
    if operation.startswith("CALL") and "isinstance" not in names:
        return
    likes = _without_transformation(type_)
    for name, kind in _classes(frame, names):
        if any(isinstance(like, kind) for like in likes):
            _report(
                f"isinstance(x, {name}) is False for a tracer of type {type_}, and True without a transformation. Write "
                "isinstance(x, fungrad.Array), or ask for np.ndim(x), x.shape or x.dtype."
            )
            return


def _without_transformation(type_: ArrayType) -> list[Any]:
    """Return sample values of the classes that an untraced value of a type could have."""
    zero = np.zeros(type_.shape, type_.dtype) if type_.size < 1 << 10 else np.zeros((), type_.dtype)
    if type_.shape:
        return [zero if zero.ndim else zero[None]]
    return [zero[()].item()] if type_.weak else [zero[()], zero]


def _classes(frame: FrameType, names: Sequence[str]) -> list[tuple[str, type]]:
    """Return the classes that `names` refer to in a frame, with their names as written."""
    classes = []
    for name in names:
        value = find(frame, name)
        if isinstance(value, ModuleType):
            members = [(f"{name}.{n}", getattr(value, n, None)) for n in names]
        elif isinstance(value, tuple):
            members = [(name, x) for x in value]
        else:
            members = [(name, value)]
        classes += [(n, x) for n, x in members if isinstance(x, type) and x is not object]
    return classes
