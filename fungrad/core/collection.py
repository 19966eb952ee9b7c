"""Rewriting long programs without the garbage collector looking over our shoulder."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from fungrad.core.state import repair

_paused = False  # by a block of this module; shared by all threads, as the collector is


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector.

    Rewriting makes many small objects that live on and no cycles; each full collection would visit all
    of them (it took half the time of differentiating 100,000 equations). Threads may overlap: the
    collector runs again, at the latest, when the one ends that paused it.
    """
    if not gc.isenabled():
        yield
        return
    global _paused
    try:
        _paused = True
        gc.disable()
        yield
    finally:
        resume()


def resume() -> None:
    """Let the collector run if it was paused here."""
    global _paused
    if _paused:
        gc.enable()
        _paused = False


repair(lambda before: resume())
