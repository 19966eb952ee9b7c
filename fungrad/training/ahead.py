"""A thread that makes the next items of a sequence while the last one is being used."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple


class _Item(NamedTuple):
    number: int
    value: Any
    error: BaseException | None


class _Run:
    """State shared by a thread and its user. The thread knows nothing else, so the user can go.

    The queues are the simple ones, to which can be written at any time: by a finalizer in the middle of writing, too.
    """

    def __init__(self, make: Callable[[int], Any], start: int, stop: int | None) -> None:
        self.make, self.start, self.stop = make, start, stop
        self.asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        """True for each item that is to be made; at the end, False."""
        self.made: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self.ended = False
        self.process = os.getpid()
        self.thread = threading.Thread(target=self._work, name="fungrad-minibatches", daemon=True)

    def _work(self) -> None:
        index = self.start
        while index != self.stop and self.asked.get() and not self.ended:
            try:
                item = _Item(index, self.make(index), None)
            except BaseException as error:
                self.made.put(_Item(index, None, error))
                return
            self.made.put(item)
            del item
            index += 1

    def take(self, index: int) -> _Item | None:
        """Return the item of an index; None if it will not come: it was taken, or the thread is gone."""
        if self.process != os.getpid():  # there are no threads after a fork
            return None
        self.asked.put(True)
        while True:
            alive = self.thread.is_alive()
            try:
                item = self.made.get(timeout=1.0 if alive else 0.0)
            except queue.Empty:
                if alive:
                    continue
                return None
            return item if item.number == index else None

    def end(self) -> None:
        """Have the thread end after the item that it is making; at any time, also in the middle of anything."""
        self.ended = True
        if self.process == os.getpid():
            self.asked.put(False)
        atexit.unregister(self.finish)

    def finish(self) -> None:
        """Have the thread end, and wait for it."""
        self.end()
        if self.process == os.getpid() and self.thread is not threading.current_thread():
            self.thread.join()


class Ahead:
    """Items `make(0)`, `make(1)`, ..., some of them made ahead by a thread.

    The thread starts when the first is. It ends with the last one, by `close`, when this object is gone, and with the process.
    """

    def __init__(self, make: Callable[[int], Any], stop: int | None, ahead: int) -> None:
        self._make, self._stop, self._ahead = make, stop, ahead
        self._run: _Run | None = None

    def __getitem__(self, index: int) -> Any:
        try:
            item = None if self._run is None else self._run.take(index)
            if item is None:
                item = self._start(index).take(index)
            if item is None:
                raise RuntimeError("the thread that makes minibatches has ended without an error")
            if item.error is not None:
                raise item.error
        except BaseException:
            self.close()
            raise
        return item.value

    def _start(self, index: int) -> _Run:
        self.close()
        self._run = run = _Run(self._make, index, self._stop)
        self._finalizer = weakref.finalize(self, run.end)
        self._finalizer.atexit = False
        for _ in range(self._ahead):
            run.asked.put(True)
        run.thread.start()
        atexit.register(run.finish)  # while modules are still there
        return run

    def close(self) -> None:
        """End the thread and wait for it. Items can be asked for again, and are then made anew."""
        run, self._run = self._run, None
        if run is not None:
            run.finish()
            self._finalizer.detach()
