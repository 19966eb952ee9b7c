"""What threads that record in the same trace do one after the other."""

from __future__ import annotations

import threading
import time

FREE = (True,)


class Turn:
    """Lets one thread at a time into the blocks that it encloses.

    A lock, of which taking it and giving it back are one step of a list each: ``free.pop()`` and ``free.append(True)``, which the
    hot path writes out. That takes an eighth of the time of a lock of Python's, and one that an interrupt has lost holds up
    nobody where there is one thread. Nothing that a user has written may run in such a block. Effects happen
    outside of it: the thread that has claimed one runs it, and others wait for that.
    """

    __slots__ = ("free", "performing")

    def __init__(self) -> None:
        self.free = [True]
        # An equation with an effect, and the thread that runs it.
        self.performing: tuple[int, int] | None = None

    def claim(self, number: int) -> bool:
        """Whether this thread is the one to run the equation `number`, which has an effect."""
        mine = number, threading.get_ident()
        with self:
            holder = self.performing
            if holder is None or holder[0] != number or holder == mine:
                self.performing = mine
                return True
        return all(thread.ident != holder[1] for thread in threading.enumerate())

    def release(self) -> None:
        """Give back what this thread has claimed."""
        holder = self.performing
        if holder is not None and holder[1] == threading.get_ident():
            self.performing = None

    def wait(self) -> None:
        """Take the turn after another thread's."""
        while threading.active_count() > 1:
            try:
                self.free.pop()
                return
            except IndexError:
                time.sleep(0)

    def __enter__(self) -> None:
        try:
            self.free.pop()
        except IndexError:
            self.wait()

    def __exit__(self, *_: object) -> None:
        self.free[:] = FREE
