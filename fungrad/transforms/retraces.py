"""Warnings about repeated tracing: ``jit`` within a loop, and arguments that change in each call.

Only traces are counted, so calls whose program is known cost nothing.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from fungrad.core.errors import RetraceWarning
from fungrad.core.frames import user_frame
from fungrad.transforms.entry import Programs
from fungrad.transforms.explain import Signature, code_of, explanation

MANY = 200
"""Traces of one function, or functions made by one line, from which on it is a mistake."""

_TRACING = frozenset(["core", "compat", "compile", "lax", "numpy", "programs", "transforms"])
"""The packages of fungrad whose frames stand between the user's call and the jitted function."""

_made: weakref.WeakKeyDictionary[CodeType, Counter[tuple[str, int]]] = weakref.WeakKeyDictionary()
"""Number of jitted functions first traced, by code object and by the user's calling line."""


def note_trace(
    jitted: Any, fun: Callable[..., Any], label: str, programs: Programs, new: Signature
) -> None:
    """Count a trace whose program is kept; warn if there have been many, once per line."""
    programs.traced += 1
    if programs.traced not in (1, MANY) or is_ours():
        return
    if programs.traced == 1:
        _note_made(fun, label)
    else:
        known = [entry.signature for entry in programs.values()]
        why = explanation(jitted, fun, label, known, new, "compiled")
        static = bool(new.static) and any(old.static != new.static for old in known)
        advice = (
            "an argument that has many values should not be static: leave it out of static_argnums and static_argnames"
            if static
            else "pad arrays to a few lengths (numpy.pad, and a mask), or call the function without jit"
        )
        _warn(f"for the {MANY}th time, {why}. Each time takes far longer than a call: {advice}.")


def _note_made(fun: Callable[..., Any], label: str) -> None:
    code, frame = code_of(fun), user_frame()[0]
    if code is None or frame is None:
        return
    line = (frame.f_code.co_filename, frame.f_lineno)
    counts = _made.setdefault(code, Counter())
    counts[line] += 1
    if counts[line] == MANY:
        _warn(
            f"{label} has been made {MANY} times and traced each time, for calls from this line: each call of jit "
            "returns a function with programs of its own. Call jit once, outside of the loop or function, and pass "
            "as arguments what differs between the calls."
        )


def is_ours() -> bool:
    """Whether fungrad itself, such as a minimizer, calls the jitted function: no fault of the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package, _, rest = str(frame.f_globals.get("__name__")).partition(".")
        if package != "fungrad":
            return False
        if rest.partition(".")[0] not in _TRACING:
            return True
        frame = frame.f_back
    return False


def _warn(message: str) -> None:
    frame, _ = user_frame()
    if frame is None:
        return
    scope = frame.f_globals
    registry = scope.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        f"Traced again and again: {message}",
        RetraceWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        scope.get("__name__"),
        registry,
    )
