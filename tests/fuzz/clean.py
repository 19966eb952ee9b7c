"""What has to be as it was after a call was cut off."""

from __future__ import annotations

import contextvars
import functools
import gc
import queue
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.tracer import current_trace

LOCK_SECONDS = 60
"""After what time another thread is taken to wait for ever: on a busy machine it can be kept waiting for some."""
LOCKED = "another thread waits for ever"

Dirt = tuple[str, str]
"""What is not as it should be: its kind, and more about it."""


class Surroundings:
    """What a call must leave as it is."""

    def __init__(self) -> None:
        self.context = contextvars.copy_context()
        self.errors = np.geterr()
        self.filters = len(warnings.filters)

    def changed(self) -> Dirt | None:
        """Return what is different now."""
        if current_trace.get() is not None:
            return "the innermost trace is a dead one", repr(current_trace.get())
        if type(fnp.zeros(2)) is not np.ndarray:
            return "fnp.zeros gives a tracer", ""
        if not gc.isenabled():
            gc.enable()
            return "the garbage collector is off", ""
        if np.geterr() != self.errors:
            return "NumPy's handling of errors is changed", f"{self.errors} -> {np.geterr()}"
        if len(warnings.filters) != self.filters:
            return "filters of warnings are changed", f"{self.filters} -> {len(warnings.filters)}"
        now = contextvars.copy_context()
        for variable in {*self.context, *now}:
            before, after = self.context.get(variable, _UNSET), now.get(variable, _UNSET)
            if before is after or before == after:
                continue
            default = contextvars.Context().run(variable.get, _UNSET)
            if _UNSET not in (before, after) or default not in (before, after):
                return f"{variable.name} is changed", f"{before} -> {after}"
        return None


_UNSET = object()


def spoilt(arrays: list[np.ndarray], copies: list[np.ndarray]) -> Dirt | None:
    """Return what is wrong with arrays that a call reads."""
    for x, copy in zip(arrays, copies, strict=True):
        if not x.flags.writeable:
            return "an array is left read-only", f"{x.size} elements"
        if x.tobytes() != copy.tobytes():
            return "an array is changed", f"{x.size} elements"
    return None


ROUNDED = 256
"""How many units in the last place of its largest element a result may be off that kernels compute, or functions of NumPy's."""


def same(found: Any, expected: Any, rounded: bool = False) -> bool:
    """Whether two results are the same: bit for bit, unless one may be `rounded` otherwise."""
    a, b = fg.tree.leaves(found), fg.tree.leaves(expected)
    return len(a) == len(b) and all(_same_leaf(x, y, rounded) for x, y in zip(a, b, strict=True))


def _same_leaf(x: Any, y: Any, rounded: bool) -> bool:
    if type(x) is not type(y):
        return False
    if not isinstance(x, (np.ndarray, np.generic)):
        return bool(x == y)
    inexact = x.dtype.kind in "fc"
    if x.dtype != y.dtype or np.shape(x) != np.shape(y):
        return False
    if not (inexact and rounded):
        return np.array_equal(x, y, equal_nan=inexact)
    tolerance = ROUNDED * float(np.finfo(x.dtype).eps)
    largest = np.max(np.abs(y), initial=0, where=np.isfinite(y))
    return np.allclose(x, y, rtol=tolerance, atol=tolerance * largest, equal_nan=True)


def works(call: Callable[[], Any], expected: Any, rounded: bool = False) -> Dirt | None:
    """Make a call again, here and in another thread; return what is wrong."""
    try:
        result = call()
    except BaseException as error:
        return f"the next call raises {type(error).__name__}", str(error)
    if not same(result, expected, rounded):
        return "the next call is wrong", f"{result} and not {expected}"
    try:
        result = _other_thread().run(call)
    except queue.Empty:
        return LOCKED, "a lock is held"
    except BaseException as error:
        return f"another thread raises {type(error).__name__}", str(error)
    if not same(result, expected, rounded):
        return "another thread gets something wrong", f"{result} and not {expected}"
    return None


class _OtherThread:
    """A thread that makes calls for us."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            call = self.calls.get()
            try:
                self.results.put((call(), None))
            except BaseException as error:
                self.results.put((None, error))

    def run(self, call: Callable[[], Any]) -> Any:
        """Return the result; raises queue.Empty if there is none in time."""
        self.calls.put(call)
        result, error = self.results.get(timeout=LOCK_SECONDS)
        if error is not None:
            raise error
        return result


@functools.cache
def _other_thread() -> _OtherThread:
    return _OtherThread()
