"""Search for NaN and infinities in functions that are called with arrays, outside of programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fungrad.compile.evaluated import watcher
from fungrad.core import tree
from fungrad.core.checks import report
from fungrad.core.config import settings
from fungrad.core.errors import here
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import is_array, type_of
from fungrad.core.watch import fault
from fungrad.programs.closing import NotTraced, try_to_close
from fungrad.programs.effects import quiet

_NO_KEYWORDS: Mapping[str, Any] = {}


def look_at(
    label: str,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    result: Any,
    keywords: Mapping[str, Any] = _NO_KEYWORDS,
) -> None:
    """Report the NaN, say, that a function has given of arrays, if the settings ask for it.

    It is run once more then, equation by equation, to name the operation and the line. A NaN that it was given is none of its own.
    """
    # The program of an open trace may throw the result away.
    if not settings.get().watched or innermost_trace() is not None:
        return
    faulty = _fault_in(result)
    if faulty is None:
        return
    kind, x = faulty
    given = [arguments, keywords, _run_by_equations(label, function, arguments, keywords)]
    if all(found is None or found[0] != kind for found in map(_fault_in, given)):
        message = f"{label} gave {kind} in a result of type {type_of(x)}, at {here()}"
        report(kind, FloatingPointError(message))


def _fault_in(x: Any) -> tuple[str, Any] | None:
    """Return the first fault in the arrays of a pytree, and which of them has it."""
    chosen = settings.get()
    for leaf in tree.leaves(x):
        if type(leaf) is not Tracer and is_array(leaf) and (kind := fault(leaf, chosen)):
            return kind, leaf
    return None


def _run_by_equations(
    label: str, function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> list[Any]:
    """Trace the function if possible, and run its program, which reports failures; return its captures."""
    leaves, structure = tree.flatten((arguments, keywords))
    places = [i for i, x in enumerate(leaves) if is_array(x)]

    def of_arrays(*arrays: Any) -> Any:
        given = [*leaves]
        for i, x in zip(places, arrays, strict=True):
            given[i] = x
        args, kwargs = tree.unflatten(structure, given)
        return function(*args, **kwargs)

    arrays = [leaves[i] for i in places]
    try:
        closed = try_to_close(label, of_arrays, *arrays, weak=True, branch=True)
    except Exception:  # of what it does with tracers
        return []
    if isinstance(closed, NotTraced):
        return []
    program, captured = quiet(closed.program), closed.captured
    if not (program.effect or any(type(x) is Tracer for x in (*captured, *arrays))):
        watcher(program.expr)(*captured, *arrays)
    return [*captured, *program.expr.constants.values()]
