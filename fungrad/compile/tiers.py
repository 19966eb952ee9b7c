"""Programs with kernels: made after a few calls, by a thread of their own, and put in the place of NumPy's functions.

A program runs by calls of NumPy's functions at first. Once it has been called a few times, its kernels are compiled, in the background
or at once (`core.config.compilation`). A program with kernels computes nothing but its results, so when one cannot go on (an argument is not as
it was, a floating-point error has come up), all of it is computed again by NumPy's functions.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.config import compilation
from fungrad.core.float_warnings import (
    calling_modes,
    float_modes,
    modes_that_call,
    usual_modes,
)
from fungrad.core.state import borrow

Function = Callable[..., list[Any]]

CALLS = 4
"""After how many calls kernels are made."""
GIVEN_UP = 16
"""How much more often a program may fall back than it does not, before it stays with NumPy's functions."""


NICE = 5
"""How far whoever makes kernels stands back where processors are short."""


class Rerun(BaseException):
    """A kernel cannot give the result, or its warnings: NumPy's functions are to compute it.

    No `Exception`, so that nobody notes on it where it came from.
    """


def _rerun(kind: str, flag: int) -> None:
    raise Rerun


borrow(float_modes, usual_modes, lambda: np.geterrcall() is _rerun)
RERUN_MODES = modes_that_call(_rerun)
"""How NumPy's functions between kernels behave: where they would warn, all is computed again, and then they do."""


def _ignores_underflow() -> bool:
    """Whether nothing is to be done about an underflow, which kernels do not notice."""
    return np.geterr()["under"] == "ignore"


class Tier:
    """What is called for a program: NumPy's functions, later kernels.

    `make` returns the function with kernels, or None if there are none in the program.
    """

    def __init__(self, library: Function, make: Callable[[], Function | None]) -> None:
        self.library = library
        self.make: Callable[[], Function | None] | None = make
        self.native: Function | None = None
        self.calls = 0
        self.failures = 0
        self._making = threading.Lock()

    def function(self) -> Function:
        """Return what callers keep."""
        library = self.library

        def run(*arguments: Any) -> list[Any]:
            if self.make is not None:
                self._count()
            native, before = self.native, float_modes.get()
            if native is None or not (
                before is usual_modes or before is calling_modes or _ignores_underflow()
            ):
                return library(*arguments)
            float_modes.set(RERUN_MODES)
            try:
                results = native(*arguments)
                if self.failures:
                    self.failures -= 1
                return results
            except Rerun:
                self._failed()
            finally:
                float_modes.set(before)
            # Not in the block above: its errors are not the context of others.
            return library(*arguments)

        return run

    def _count(self) -> None:
        mode = compilation.get()
        if mode == "eager":
            self.compile()
        elif mode == "background":
            self.calls = calls = self.calls + 1  # other threads may count meanwhile
            if calls == CALLS:
                BACKGROUND.add(self)

    def compile(self, wait: bool = False) -> None:
        """Make the function with kernels; if another thread does, `wait` for it or let it."""
        if not self._making.acquire(blocking=wait):
            return
        try:
            if self.make is not None:
                try:
                    self.native = self.make()
                finally:
                    self.make = None
        finally:
            self._making.release()

    def _failed(self) -> None:
        self.failures += 1
        if self.failures >= GIVEN_UP:
            self.native = None


importing = threading.RLock()
"""Held while what makes kernels is imported. Forks wait for it: in the child, modules would stay half made."""


def _lock() -> Any:
    """Return the lock that llvmlite holds within LLVM; None as long as it has not been imported."""
    lib = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    return None if lib is None else lib._lock


_held: list[Any] = []


def _hold() -> None:
    """Keep all other threads out of LLVM."""
    if (lock := _lock()) is not None:
        lock.__enter__()
        _held.append(lock)


def _release() -> None:
    """Let them in again."""
    if _held:
        _held.pop().__exit__(None, None, None)


class Background:
    """A thread that makes kernels, for as long as there are any to make."""

    def __init__(self) -> None:
        self._waiting: collections.deque[weakref.ref[Tier]] = collections.deque()
        self._lock = threading.Lock()
        self._running = False
        if hasattr(os, "register_at_fork"):
            # No thread is within LLVM or here when a process forks: its locks would stay locked in the child.
            os.register_at_fork(
                before=self._stop, after_in_parent=self._go_on, after_in_child=self._start_anew
            )

        atexit.register(self._end)

    def _end(self) -> None:
        """Keep everybody out of LLVM from now on: it would run while what it needs is taken down."""
        with self._lock:
            self._waiting.clear()
        _hold()

    def _stop(self) -> None:
        importing.acquire()
        self._lock.acquire()
        _hold()

    def _go_on(self) -> None:
        _release()
        self._lock.release()
        importing.release()

    def _start_anew(self) -> None:
        self._waiting.clear()
        self._running = False
        self._go_on()

    def add(self, tier: Tier) -> None:
        """Have the kernels of a program made."""
        with self._lock:
            self._waiting.append(weakref.ref(tier))
            if self._running:
                return
            self._running = True
        try:
            threading.Thread(target=self._work, name="fungrad kernels", daemon=True).start()
        except RuntimeError:  # there are too many threads, or Python is about to end
            with self._lock:
                self._waiting.clear()
                self._running = False

    def _work(self) -> None:
        if sys.platform == "linux":  # where a thread has a priority of its own
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        while True:
            with self._lock:
                if not self._waiting:
                    self._running = False
                    return
                tier = self._waiting.popleft()()
            if tier is not None:
                try:
                    tier.compile()
                except Exception:  # the program stays with NumPy's functions
                    thread = threading.current_thread()
                    threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), thread]))

    @property
    def busy(self) -> bool:
        """Whether kernels are being made."""
        return self._running

    def wait(self) -> None:
        """Return when nothing is left to be made; for tests."""
        while self._running:
            time.sleep(0.001)


BACKGROUND = Background()
