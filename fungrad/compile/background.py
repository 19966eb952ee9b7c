"""The thread that makes kernels, and its protection from forks and the end of the process."""

from __future__ import annotations

import _thread
import atexit
import collections
import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from fungrad.compile.interrupts import interrupt_soon

NICE = 10
"""Niceness of LLVM where processors are short. Python's part stays: others would wait for its lock."""

T = TypeVar("T")


class Compilable(Protocol):
    """An object whose kernels can be compiled."""

    @property
    def cost(self) -> float:
        """About how many seconds that takes."""

    def compile_in_background(self) -> None:
        """Make them."""


importing = threading.RLock()
"""Lock held during imports of the compiler. Forks wait for it, or the child has half-made modules."""


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


def _raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


class Background:
    """A thread that makes kernels, for as long as there are any to make.

    Nobody takes a lock to ask for kernels: an exception at the wrong instruction, as of Ctrl-C, would leave it locked. Each step here is
    one operation on a deque.
    """

    def __init__(self) -> None:
        self.process = object()
        """A new object in each forked process, where the parent's requests are not served."""
        self.helped = 0.0
        """Seconds of a processor that LLVM has taken on threads of its own."""
        self._worker = 0  # the thread that has kernels made now
        self._waiting: collections.deque[weakref.ref[Compilable]] = collections.deque()
        self._workers: collections.deque[object] = collections.deque()
        if hasattr(os, "register_at_fork"):
            # No thread is within LLVM when a process forks: its locks would stay locked in the child.
            os.register_at_fork(
                before=self._stop, after_in_parent=self._go_on, after_in_child=self._start_anew
            )

        atexit.register(self._end)

    def _end(self) -> None:
        """Keep everybody out of LLVM from now on: Python takes down the state that LLVM needs."""
        self._waiting.clear()
        _hold()

    def _stop(self) -> None:
        try:
            self._take_turns()
        except KeyboardInterrupt:  # Python would drop it
            interrupt_soon()
            if not _held:
                _hold()

    def _take_turns(self) -> None:
        known = hasattr(sys.modules.get("logging"), "Handler")
        importing.acquire()
        if not known and (logging := sys.modules.get("logging")) is not None:
            # Imported meanwhile: its lock is released after the fork, and nobody has been asked to take it.
            logging._lock.acquire()
        _hold()

    def _go_on(self) -> None:
        _release()
        with contextlib.suppress(RuntimeError):  # an interrupt came before it was taken
            importing.release()

    def _start_anew(self) -> None:
        self.process = object()
        self._waiting.clear()
        self._workers.clear()
        self._go_on()

    def add(self, program: Compilable) -> None:
        """Have the kernels of a program made."""
        self._waiting.append(weakref.ref(program))
        self._begin()

    def _begin(self) -> None:
        """Start the thread, unless it is there."""
        if self._workers:
            return
        try:
            _thread.start_new_thread(self._work, ())  # one of `threading` takes locks
        except RuntimeError:  # there are too many threads, or Python is about to end
            self._waiting.clear()

    def _work(self) -> None:
        this = object()
        while True:
            self._workers.append(this)
            if self._workers[0] is this:  # else another thread does it all
                self._worker = threading.get_ident()
                self._make_all()
            self._workers.remove(this)
            # Who is still among the workers has yet to look whether there is more to do.
            if not self._waiting or self._workers:
                return

    def _make_all(self) -> None:
        while self._waiting:
            program = self._waiting.popleft()()
            if program is not None:
                try:
                    program.compile_in_background()
                except Exception:  # the program stays with NumPy's functions
                    thread = threading.current_thread()
                    threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), thread]))

    @property
    def cost(self) -> float:
        """Seconds, about, of the waiting work."""
        waiting = [program() for program in tuple(self._waiting)]
        return sum(program.cost for program in waiting if program is not None)

    @property
    def busy(self) -> bool:
        """Whether kernels are being made."""
        return bool(self._workers)

    def standing_back(self, compute: Callable[[], T]) -> T:
        """Return the result of a function that rarely needs Python's lock, run at a lower priority."""
        if threading.get_ident() != self._worker or not self._workers or sys.platform != "linux":
            return compute()
        results: list[Callable[[], T]] = []
        done = _thread.allocate_lock()
        done.acquire()

        def run() -> None:
            try:
                with contextlib.suppress(OSError):
                    this = os.PRIO_PROCESS, threading.get_native_id()
                    os.setpriority(*this, min(os.getpriority(*this) + NICE, 19))
                result = compute()
                results.append(lambda: result)
            except BaseException as error:
                results.append(_raising(error))
            finally:
                self.helped += time.thread_time()
                done.release()

        try:
            _thread.start_new_thread(run, ())
        except RuntimeError:  # there are too many threads, or Python is about to end
            return compute()
        done.acquire()
        return results[0]()

    def wait(self) -> None:
        """Return when nothing is left to be made; for tests."""
        while self._waiting or self._workers:
            self._begin()  # an exception came between a request and the start of the thread
            time.sleep(0.001)


BACKGROUND = Background()
