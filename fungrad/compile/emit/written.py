"""Routines as LLVM's assembly, each written once: to see whether that is possible, and to be compiled."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from fungrad.compile.emit.places import Unsupported
from fungrad.compile.emit.routine import RoutineWriter
from fungrad.compile.emit.writer import KernelText, Written
from fungrad.compile.kernels.routine import Routine
from fungrad.compile.steps import Schedule

_written: weakref.WeakKeyDictionary[Schedule, Written] = weakref.WeakKeyDictionary()
"""Assembly written to see whether that is possible, until it is asked for."""


def routine_assembly(
    steps: Schedule, share: Callable[[int, bool], int] = lambda parts, copies: parts
) -> tuple[KernelText, int]:
    """Return a schedule as LLVM's assembly, as `kernel_assembly` does, and its size of working memory.

    Its outputs are followed by the addresses of what `INTERRUPTED` needs, and of that memory. `share` says how many of its parts are
    run by one call, by their number and whether they need memory.

    Raises
    ------
    Unsupported
        If a step has no form there.
    """
    written = _written.pop(steps) if steps in _written else RoutineWriter(steps).written()
    before, after, function, workspace = written
    each = share(function.parts, workspace > 0)
    text = f"{before}{each}{after}"
    return function._replace(text=text), workspace * -(-function.parts // each)


def can_be_written(routine: Routine) -> bool:
    """Whether all steps have a form in LLVM's assembly."""
    try:
        _written[routine.steps] = RoutineWriter(routine.steps).written()
    except Unsupported:
        return False
    return True
