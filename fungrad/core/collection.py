"""Rewriting long programs without the garbage collector looking over our shoulder."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


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
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
