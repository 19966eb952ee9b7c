"""Checks that one can switch on: lines that cut a derivative or mistake a tracer, results that depend on nothing.

A number made of a tracer (``float(x)``) is a constant, and a tracer is no instance of ``np.ndarray``: both are as they should be, and
both can be a mistake that no error shows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.core.errors import LostDerivativeError, StrictConversionWarning
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

if TYPE_CHECKING:
    from fungrad.core.trace import Trace
    from fungrad.core.tracer import Tracer


def _report(message: str) -> None:
    """Warn of the user's line that is running, once for each."""
    frame, _ = user_frame()
    if frame is not None:
        warnings.warn_explicit(
            message,
            StrictConversionWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
            frame.f_globals.get("__name__"),
            frame.f_globals.setdefault("__warningregistry__", {}),
        )


def report_conversion(x: Tracer, what: str) -> None:
    """Warn that a number is made of a tracer, if an argument that is differentiated by has a part in it.

    `what` is ``float(...)`` or ``.item()``, say.
    """
    asks = next(f for f in outwards() if f.f_globals.get("__name__") not in _OF_TRACERS)
    if is_internal(asks) or not x.owner.moves(x.variable):
        return
    call = what.replace("...", "{0}") if "..." in what else f"{{0}}{what}"
    _report(
        f"{call.format('x')} makes a constant of a traced array of type {x.type}: derivatives end there. Keep it an array, with "
        "functions of fungrad.numpy; where a constant is meant, write "
        f"{call.format('fungrad.stop_gradient(x)')}."
    )


_OF_TRACERS = ("fungrad.core.tracer", "fungrad.core.errors", __name__, "fungrad.core.frames")


def _parts(trace: Trace, variables: Iterable[int]) -> set[int]:
    """Return the variables of a trace that have a part in some of them, other than through what has no derivative."""
    needed = set(variables)
    for primitive, inputs, outputs in reversed(trace.equations):
        if primitive.differentiable and not needed.isdisjoint(outputs):
            needed.update(inputs)
    return needed


def check_dependence(
    trace: Trace,
    outputs: Sequence[int],
    inputs: Iterable[int],
    label: str,
    place: Callable[[int], str],
) -> None:
    """Raise unless each of the `inputs`, positions among those of the trace, has a part in an output.

    `place` tells how to speak of one.
    """
    parts = _parts(trace, outputs)
    without = [place(i) for i in inputs if trace.inputs[i] not in parts]
    if without:
        raise LostDerivativeError(
            f"{label}: the result does not depend on {', '.join(without)}, so its derivative is zero whatever the values "
            "are. Look for float(x), x.item(), x.tolist() and for branches of Python that give a constant "
            "(fungrad.strict_conversions() reports such lines), or leave out of argnums what the function does not use."
        )


# isinstance


def report_isinstance(x: Tracer, frame: FrameType) -> None:
    """Warn if ``isinstance(x, C)`` or ``np.isscalar(x)`` in `frame` would be true of the array that is traced."""
    while frame.f_code.co_name == "__instancecheck__" and frame.f_back is not None:
        frame = frame.f_back  # of an abstract class, such as numbers.Number
    if package_of(frame) == "numpy":
        if frame.f_code.co_name == "isscalar" and not x.shape:
            _report(
                f"np.isscalar(x) is False for a tracer of type {x.type}, and can be True without a transformation. Write "
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
    likes = _without_transformation(x)
    for name, kind in _classes(frame, names):
        if any(isinstance(like, kind) for like in likes):
            _report(
                f"isinstance(x, {name}) is False for a tracer of type {x.type}, and True without a transformation. Write "
                "isinstance(x, fungrad.Array), or ask for np.ndim(x), x.shape or x.dtype."
            )
            return


def _without_transformation(x: Tracer) -> list[Any]:
    """Return what `x` could be an instance of the same class as."""
    zero = np.zeros(x.shape, x.dtype) if x.size < 1 << 10 else np.zeros((), x.dtype)
    if x.shape:
        return [zero if zero.ndim else zero[None]]
    return [zero[()].item()] if x.type.weak else [zero[()], zero]


def _classes(frame: FrameType, names: Sequence[str]) -> list[tuple[str, type]]:
    """Return the classes of numbers and arrays that `names` are in a frame."""
    found = []
    for name in names:
        value = find(frame, name)
        if isinstance(value, ModuleType):
            members = [(f"{name}.{n}", getattr(value, n, None)) for n in names]
        elif isinstance(value, tuple):
            members = [(name, x) for x in value]
        else:
            members = [(name, value)]
        found += [(n, x) for n, x in members if isinstance(x, type) and x is not object]
    return found
