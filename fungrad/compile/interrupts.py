"""Interrupts that come where Python drops exceptions: in finalizers and callbacks, of which the compiler runs many."""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from fungrad.core.state import holding, state_variable

_NONE: list[BaseException] | None = None
_kept = state_variable("interrupts_kept", _NONE)
"""The interrupts that have been dropped since a block of `keeping_interrupts` began, if there is one."""
_hooks: list[Callable[[Any], object]] = []
"""What was told of dropped exceptions before `_see` was."""
SOON = 0.01
"""After how many seconds an interrupt comes again."""


def _see(dropped: Any) -> None:
    """Keep an interrupt; leave other exceptions with who was told of them before."""
    kept, error = _kept.get(), dropped.exc_value
    if kept is not None and error is not None and not isinstance(error, Exception):
        kept.append(error)
    else:
        _hooks[-1](dropped)


@contextlib.contextmanager
def keeping_interrupts() -> Iterator[None]:
    """Raise at the end of the block the interrupt, if one has come, that Python has dropped in it.

    It does nothing on other threads than the main one, where interrupts come.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept: list[BaseException] = []
    before = sys.unraisablehook
    if before is not _see:
        _hooks[:] = [before]
        sys.unraisablehook = _see
    try:
        with holding(_kept, kept):
            yield
    finally:
        if before is not _see and sys.unraisablehook is _see:
            sys.unraisablehook = before
    if kept:
        raise kept[0]


def interrupt_soon() -> None:
    """Have an interrupt that has come where it would be dropped come again."""

    def interrupt() -> None:
        time.sleep(SOON)
        _thread.interrupt_main()

    with contextlib.suppress(RuntimeError):  # Python is about to end
        _thread.start_new_thread(interrupt, ())
