"""Interrupts where Python drops exceptions: in finalizers and callbacks, which the compiler runs."""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

_kept: list[list[BaseException]] = []
"""Interrupts dropped since each block of `keeping_interrupts` of the main thread, innermost last.

No context variable: finalizers run such blocks, also those of a collection that begins while Python sets a context variable. One
that is set then may lose others (https://github.com/python/cpython/issues/148891).
"""
_hooks: list[Callable[[Any], object]] = []
"""Hooks for dropped exceptions from before `_see`."""
SOON = 0.01
"""After how many seconds an interrupt comes again."""


def _see(dropped: Any) -> None:
    """Keep an interrupt; leave other exceptions with who was told of them before."""
    error = dropped.exc_value
    is_interrupt = error is not None and not isinstance(error, Exception)
    if _kept and is_interrupt and threading.current_thread() is threading.main_thread():
        _kept[-1].append(error)
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
        _kept.append(kept)
        yield
    finally:
        while _kept and _kept.pop() is not kept:
            pass
        if before is not _see and sys.unraisablehook is _see:
            sys.unraisablehook = before
    if kept:
        raise kept[0]


def interrupt_soon() -> None:
    """Have an interrupt that has come where it would be dropped come again."""

    def interrupt() -> None:
        time.sleep(SOON)
        main = threading.main_thread().ident
        if main is not None and callable(signal.getsignal(signal.SIGINT)):
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(main, signal.SIGINT)  # which ends a sleep, too
            else:
                _thread.interrupt_main()

    with contextlib.suppress(RuntimeError):  # Python is about to end
        _thread.start_new_thread(interrupt, ())
